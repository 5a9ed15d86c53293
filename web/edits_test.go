package web

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

// Two people who edit at once change what each meant to; where both changed the same, the second is told.
func TestEditsAtOnceDontUndoEachOther(t *testing.T) {
	s := newSite(t, nil)
	seedFleet(s)
	began := func() url.Values { // what both pages showed
		return url.Values{"name": {"fine"}, "gpus": {""}, "was_gpus": {""}, "peak": {""}, "was_peak": {""}, "labels": {""}, "was_labels": {""}, "note": {""}, "was_note": {""}}
	}
	edit := func(set url.Values) (int, string) {
		form := began()
		for k, v := range set {
			form[k] = v
		}
		res, body := s.form("/deployments/edit", form)
		return res.StatusCode, text(body)
	}
	if status, body := edit(url.Values{"note": {"one\r\ntwo"}}); status != 303 {
		t.Fatalf("first: %d %s", status, body)
	}
	if status, body := edit(url.Values{"labels": {"team=search"}, "gpus": {"8"}}); status != 303 {
		t.Fatalf("second, of other fields: %d %s", status, body)
	}
	if status, body := edit(url.Values{"note": {"mine"}}); status != 409 || !strings.Contains(body, "changed the note meanwhile, to “one two”") {
		t.Errorf("third, of the same field: %d %s", status, body)
	}
	if status, body := edit(url.Values{"gpus": {"8"}}); status != 303 { // both meant the same
		t.Errorf("fourth: %d %s", status, body)
	}
	all, err := s.st.Deployments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if d.Name == "fine" && (d.Note != "one\ntwo" || d.Labels["team"] != "search" || d.GPUs != 8) {
			t.Errorf("stored: %+v", d)
		}
	}
	form := began()
	form.Set("name", "nobody")
	if res, _ := s.form("/deployments/edit", form); res.StatusCode != 404 {
		t.Errorf("of no deployment: %d", res.StatusCode)
	}
}

// Of many who send the same field at the same moment, one is taken and the others are told.
func TestEditsAtTheSameMoment(t *testing.T) {
	s := newSite(t, nil)
	seedFleet(s)
	const people = 24
	answers := make(chan int, people)
	for i := range people {
		go func() {
			form := url.Values{"name": {"fine"}, "gpus": {""}, "was_gpus": {""}, "peak": {""}, "was_peak": {""}, "labels": {""}, "was_labels": {""},
				"note": {"of " + strconv.Itoa(i)}, "was_note": {""}}
			res, _ := s.form("/deployments/edit", form)
			answers <- res.StatusCode
		}()
	}
	got := map[int]int{}
	for range people {
		got[<-answers]++
	}
	if got[303] != 1 || got[409] != people-1 {
		t.Errorf("answers %v, want one 303 and %d of 409", got, people-1)
	}
}

// The same for a kept trace, whose form says what it was filled with.
func TestTraceEditsAtOnceDontUndoEachOther(t *testing.T) {
	s := newSite(t, nil)
	tr, _, err := s.st.KeepTrace(t.Context(), store.Meta{Name: "a.json", Note: "n"}, strings.NewReader(`{"traceEvents":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	edit := func(lang string, set url.Values) (int, string) {
		form := url.Values{"name": {"a.json"}, "was_name": {"a.json"}, "label": {""}, "was_label": {""}, "note": {"n"}, "was_note": {"n"}}
		for k, v := range set {
			form[k] = v
		}
		res, body := s.form("/traces/"+tr.ID+"/edit?lang="+lang, form)
		return res.StatusCode, text(body)
	}
	for _, step := range [...]struct {
		lang   string
		set    url.Values
		status int
		says   string
	}{
		{"en", url.Values{"note": {"one\r\ntwo"}, "label": {"old"}}, 303, ""},
		{"en", url.Values{"name": {"b.json"}}, 303, ""}, // of another field
		{"en", url.Values{"note": {"mine"}}, 409, "changed the note meanwhile, to “one two”"},
		{"en", url.Values{"label": {"new"}}, 409, "changed the deployment meanwhile, to “old”"},
		{"zh", url.Values{"name": {"c.json"}}, 409, "期间有人已将名称改为“b.json”"},
		{"en", url.Values{"label": {"old"}}, 303, ""}, // both meant the same
	} {
		if status, body := edit(step.lang, step.set); status != step.status || !strings.Contains(body, step.says) {
			t.Errorf("%v: %d %s; want %d, %q", step.set, status, body, step.status, step.says)
		}
	}
	got, err := s.st.Trace(t.Context(), tr.ID)
	if want := (store.Meta{Name: "b.json", Label: "old", Note: "one\ntwo"}); err != nil || got.Meta != want {
		t.Errorf("stored %+v, %v; want %+v", got.Meta, err, want)
	}
	// The form carries what it was filled with.
	_, page := s.do("GET", "/traces", nil, "Accept", "text/html")
	for _, field := range []string{`name="was_name" value="b.json"`, `name="was_label" value="old"`, "name=\"was_note\" value=\"one\ntwo\""} {
		if !strings.Contains(page, field) {
			t.Errorf("the form lacks %s", field)
		}
	}
}

// What would be cut is refused, where it is said by a form, an edit or an upload.
func TestTooLongMetaIsRefused(t *testing.T) {
	s := newSite(t, nil)
	long := strings.Repeat("x", store.MaxLabel+1)
	res, body := s.do("PUT", "/api/traces?name=a.json&label="+long, strings.NewReader(`{"traceEvents":[]}`))
	if res.StatusCode != 400 || !strings.Contains(body, `"code":"long_label"`) || !strings.Contains(body, "121 bytes of UTF-8, more than 120") {
		t.Errorf("PUT: %d %s", res.StatusCode, body)
	}
	res, body = s.do("PUT", "/api/traces?name=a.json&label="+long[1:], strings.NewReader(`{"traceEvents":[]}`))
	if res.StatusCode != 201 {
		t.Fatalf("PUT of 120 bytes: %d %s", res.StatusCode, body)
	}
	list, err := s.st.ListTraces(t.Context(), store.Query{})
	if err != nil || len(list.Traces) != 1 || list.Traces[0].Label != long[1:] {
		t.Fatalf("%+v, %v", list, err)
	}
	id := list.Traces[0].ID
	if res, body := s.do("PATCH", "/api/traces/"+id, strings.NewReader(`{"note":"`+strings.Repeat("n", store.MaxNote+1)+`"}`)); res.StatusCode != 400 || !strings.Contains(body, `"code":"long_note"`) {
		t.Errorf("PATCH: %d %s", res.StatusCode, body)
	}
	if res, body := s.form("/traces/"+id+"/edit", url.Values{"name": {strings.Repeat("n", store.MaxName+1)}}); res.StatusCode != 400 || !strings.Contains(text(body), "name has 256 bytes") {
		t.Errorf("form: %d %s", res.StatusCode, text(body))
	}
}

func TestBaselinesAreEdited(t *testing.T) {
	s := newSite(t, nil)
	seedFleet(s)
	from := seedNow.Add(-time.Hour - 250*time.Millisecond)
	b, err := s.st.PutBaseline(t.Context(), store.Baseline{Deployment: "fine", Name: "before", From: from.UnixNano(), To: seedNow.UnixNano()})
	if err != nil {
		t.Fatal(err)
	}
	id := strconv.FormatInt(b.ID, 10)
	// The form shows the start to the second, as 10:59:59, and Chromium leaves out seconds of 0.
	form := url.Values{"name": {"fine"}, "id": {id}, "label": {"old <build>"}, "note": {"n"}, "from": {"2026-03-01T10:59:59"}, "to": {"2026-03-01T11:30"}}
	if res, body := s.form("/baselines/put", form); res.StatusCode != 303 {
		t.Fatalf("%d %s", res.StatusCode, text(body))
	}
	all, err := s.st.Baselines(t.Context(), "fine")
	want := store.Baseline{ID: b.ID, Deployment: "fine", Name: "old <build>", Note: "n", From: from.UnixNano(), To: seedNow.Add(-30 * time.Minute).UnixNano()}
	if err != nil || len(all) != 1 || all[0] != want {
		t.Errorf("%+v, %v; want %+v", all, err, want)
	}
	form.Set("name", "worse") // it is none of that deployment's
	if res, _ := s.form("/baselines/put", form); res.StatusCode != 404 {
		t.Errorf("another deployment's: %d", res.StatusCode)
	}
}
