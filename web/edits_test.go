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
