package storetest

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

func testCaptures(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	at := time.Unix(0, t0).UTC()
	create := func(deployment, engine, group string) store.Capture {
		t.Helper()
		c, err := st.CreateCapture(t.Context(), store.Capture{Group: group, Engine: store.EngineKey{Deployment: deployment, Name: engine}, By: "cli", Steps: 20,
			Times: map[store.CaptureState]time.Time{store.Queued: at}})
		if err != nil || c.State != store.Queued || !c.Times[store.Queued].Equal(at) {
			t.Fatalf("created %+v, %v", c, err)
		}
		return c
	}
	a, b, c := create("prod", "rank0", "g1"), create("prod", "rank1", "g1"), create("test", "rank0", "g2")

	// Who asked for what stays; times once set stay; the rest is replaced.
	u := a
	u.By, u.Steps, u.Collector, u.State, u.Path, u.Bytes = "another", 7, "node1", store.Found, "/tmp/x.json", 5
	u.More, u.Note = []string{"t1", "t2"}, "slow since noon"
	u.Told = store.Told{
		Warnings: []store.Said{{Code: "busy", Text: "busy 7", Args: []store.Said{{Code: "n", Text: "7", Args: []store.Said{{Text: "\"<七>\""}}}}}, {Text: "plain"}},
		Error:    store.Said{Code: "e", Text: "failed"}, Hint: store.Said{Code: "h", Text: "try again"},
	}
	u.Times = map[store.CaptureState]time.Time{store.Queued: at.Add(time.Hour), store.Found: at.Add(time.Second)}
	if err := st.UpdateCapture(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	want := a
	want.Collector, want.State, want.Path, want.Bytes = "node1", store.Found, "/tmp/x.json", 5
	want.More, want.Note, want.Told = u.More, u.Note, u.Told
	want.Times = map[store.CaptureState]time.Time{store.Queued: at, store.Found: at.Add(time.Second)}
	if got, err := st.Capture(t.Context(), a.ID); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("updated\n%+v, %v; want\n%+v", got, err, want)
	}
	for _, state := range []store.CaptureState{store.Stored, store.Failed, store.Cancelled} {
		d := create("done", "e", "g3")
		d.State = state
		if err := st.UpdateCapture(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		got, err := st.Capture(t.Context(), d.ID)
		if err != nil || got.State != state || got.Times[state].IsZero() {
			t.Errorf("ended: %+v, %v", got, err)
		}
		wantErr(t, st.UpdateCapture(t.Context(), d), store.ErrInvalid)
	}
	b.State = "lost"
	wantErr(t, st.UpdateCapture(t.Context(), b), store.ErrInvalid)
	b.ID, b.State = 999, store.Asked
	wantErr(t, st.UpdateCapture(t.Context(), b), store.ErrNotFound)
	_, err := st.Capture(t.Context(), 999)
	wantErr(t, err, store.ErrNotFound)
	_, err = st.CreateCapture(t.Context(), store.Capture{})
	wantErr(t, err, store.ErrInvalid)

	f := func(q store.CaptureQuery, want ...int64) {
		t.Helper()
		list, err := st.ListCaptures(t.Context(), q)
		var got []int64
		for _, c := range list {
			got = append(got, c.ID)
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v lists %v, %v; want %v", q, got, err, want)
		}
	}
	one, two, three := a.ID, a.ID+1, c.ID
	f(store.CaptureQuery{}, c.ID+3, c.ID+2, c.ID+1, three, two, one)
	f(store.CaptureQuery{Active: true}, three, two, one)
	f(store.CaptureQuery{Group: "g1"}, two, one)
	f(store.CaptureQuery{Deployment: "prod", Limit: 1}, two)
	f(store.CaptureQuery{Deployment: "prod", Before: two}, one)
	f(store.CaptureQuery{Deployment: "done", Active: true})
}

func testSummaries(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	var ids []string
	for i := range 3 {
		ids = append(ids, keep(t, st, store.Meta{Name: fmt.Sprint(i)}, Content(uint64(i), 100)).ID)
	}
	f := func(limit int, want ...string) {
		t.Helper()
		if got, err := st.Unsummarised(t.Context(), limit); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("without summary: %v, %v; want %v", got, err, want)
		}
	}
	f(10, ids...)
	f(2, ids[:2]...)
	_, err := st.Summary(t.Context(), ids[1])
	wantErr(t, err, store.ErrNotFound)
	for _, text := range []string{`{"steps":1}`, `{"steps":2}`} { // the second replaces the first
		if err := st.PutSummary(t.Context(), ids[1], []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := st.Summary(t.Context(), ids[1]); err != nil || !bytes.Equal(got, []byte(text)) {
			t.Errorf("summary %q, %v; want %q", got, err, text)
		}
	}
	f(10, ids[0], ids[2])
	wantErr(t, st.PutSummary(t.Context(), ID(nil), []byte(`{}`)), store.ErrNotFound)
	wantErr(t, st.PutSummary(t.Context(), ids[0], nil), store.ErrInvalid)
	for _, id := range ids[:2] {
		if err := st.DeleteTrace(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	f(10, ids[2])
	if _, err := st.Purge(t.Context(), time.Now().Add(48*time.Hour)); err != nil { // the default grace is a day
		t.Fatal(err)
	}
	_, err = st.Summary(t.Context(), ids[1]) // goes with its trace
	wantErr(t, err, store.ErrNotFound)
}
