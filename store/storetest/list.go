package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/store"
)

func names(t *testing.T, st store.Traces, q store.Query) (out []string, next string) {
	t.Helper()
	p, err := st.ListTraces(t.Context(), q)
	if err != nil {
		t.Fatalf("ListTraces(%+v): %v", q, err)
	}
	for _, tr := range p.Traces {
		out = append(out, tr.Name)
	}
	return out, p.Next
}

func testList(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	if got, next := names(t, st, store.Query{}); len(got) != 0 || next != "" {
		t.Errorf("an empty store lists %v, %q", got, next)
	}
	var want []string // newest first
	for i := range 7 {
		tr := keep(t, st, store.Meta{Name: fmt.Sprint("t", i)}, Content(uint64(i), 100+i))
		want = slices.Insert(want, 0, tr.Name)
	}
	got, next := names(t, st, store.Query{})
	if !slices.Equal(got, want) || next != "" {
		t.Errorf("got %v, %q; want %v", got, next, want)
	}
	got, next = names(t, st, store.Query{Limit: 7})
	if !slices.Equal(got, want) || next != "" {
		t.Errorf("a page of just all: %v, %q", got, next)
	}

	// Pages of three. What comes and goes in between shifts nothing.
	var paged []string
	got, next = names(t, st, store.Query{Limit: 3})
	paged = append(paged, got...)
	keep(t, st, store.Meta{Name: "late"}, Content(99, 200))
	if err := st.DeleteTrace(t.Context(), ID(Content(5, 105))); err != nil { // t5, on the first page
		t.Fatal(err)
	}
	for pages := 1; next != ""; pages++ {
		if pages > 3 {
			t.Fatal("the pages do not end")
		}
		got, next = names(t, st, store.Query{Limit: 3, After: next})
		paged = append(paged, got...)
	}
	if !slices.Equal(paged, want) {
		t.Errorf("paged: %v, want %v", paged, want)
	}

	for _, bad := range []string{"x", "1-", "-1", "1;DROP TABLE trace", "9999999999999999999-" + strings.Repeat("a", 64)} {
		if _, err := st.ListTraces(t.Context(), store.Query{After: bad}); err == nil {
			t.Errorf("cursor %q was accepted", bad)
		}
	}
	if got, _ := names(t, st, store.Query{Limit: -5}); len(got) != 7 {
		t.Errorf("a negative limit lists %v", got)
	}
}

func testSearch(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	for i, m := range []store.Meta{
		{Name: "decode_50%.json", Label: "prod-eu", Note: "after the fix"},
		{Name: "decodeX50x.json", Label: "prod-us", Note: "before the FIX"},
		{Name: "Prefill.json", Label: "staging", Note: `it's "quoted" \ back`},
		{Name: "追踪.json", Label: "Ärger"},
	} {
		keep(t, st, m, Content(uint64(i), 50+i))
	}
	f := func(q string, want ...string) {
		t.Helper()
		got, _ := names(t, st, store.Query{Text: q})
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", q, got, want)
		}
	}
	f("fix", "decode_50%.json", "decodeX50x.json")
	f("  FIX   prod-EU ", "decode_50%.json")
	f("fix staging")
	f("50%", "decode_50%.json")
	f("decode_", "decode_50%.json")
	f("%", "decode_50%.json")
	f("_", "decode_50%.json")
	f(`\`, "Prefill.json")
	f(`it's`, "Prefill.json")
	f(`"quoted"`, "Prefill.json")
	f("追踪", "追踪.json")
	f("ärger", "追踪.json")
	f("' OR 1=1 --")
	f("eu fix prefill") // all words must occur
	if _, err := st.ListTraces(t.Context(), store.Query{Text: strings.Repeat("a", 100_000)}); err == nil {
		t.Error("a search of 100 kB was accepted")
	}

	// What is edited is found by its new text only.
	label := "canary"
	if _, err := st.UpdateTrace(t.Context(), ID(Content(2, 52)), store.Patch{Label: &label}); err != nil {
		t.Fatal(err)
	}
	f("canary", "Prefill.json")
	f("staging")
}

func testUpdate(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	tr := keep(t, st, store.Meta{Name: "a.json", Label: "x", Note: "n"}, Content(1, 100))
	s := func(v string) *string { return &v }
	got, err := st.UpdateTrace(t.Context(), tr.ID, store.Patch{Name: s("dir/b\x00.json"), Note: s("")})
	want := tr
	want.Name, want.Note = "b.json", ""
	if err != nil || got != want {
		t.Fatalf("updated: %+v, %v; want %+v", got, err, want)
	}
	if got, err = st.Trace(t.Context(), tr.ID); err != nil || got != want {
		t.Fatalf("read back: %+v, %v; want %+v", got, err, want)
	}
	_, err = st.UpdateTrace(t.Context(), tr.ID, store.Patch{Name: s("  ")})
	wantErr(t, err, store.ErrInvalid)
	_, err = st.UpdateTrace(t.Context(), ID(nil), store.Patch{Name: s("x")})
	wantErr(t, err, store.ErrNotFound)
	if err := st.DeleteTrace(t.Context(), tr.ID); err != nil {
		t.Fatal(err)
	}
	_, err = st.UpdateTrace(t.Context(), tr.ID, store.Patch{Name: s("x")})
	wantErr(t, err, store.ErrNotFound)
}
