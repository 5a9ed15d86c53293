package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

func deploymentNames(t *testing.T, st store.Samples) (out []string) {
	t.Helper()
	list, err := st.Deployments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		out = append(out, d.Name)
	}
	return out
}

func testDeployments(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	at := time.Now()
	err := st.CreateDeployment(t.Context(), store.Deployment{Name: "b", Note: "canary\x00", Labels: map[string]string{"region": "eu"}, GPUs: 8, PeakTFLOPs: 989.5})
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, st, "node", &store.Batch{Engines: []store.EngineInfo{info("a", "x"), info("b", "y"), info("a", "w")}})
	list, err := st.Deployments(t.Context())
	if err != nil || len(list) != 2 || list[1].Created.Before(at.Add(-time.Second)) {
		t.Fatalf("%+v, %v", list, err)
	}
	want := store.Deployment{Name: "b", Note: "canary", Labels: map[string]string{"region": "eu"}, GPUs: 8, PeakTFLOPs: 989.5, Created: list[1].Created, Engines: 1}
	if list[0].Name != "a" || list[0].Engines != 2 || !reflect.DeepEqual(list[1], want) {
		t.Errorf("deployments %+v, want b as %+v", list, want)
	}
	note, gpus := "new", 16
	want.Note, want.GPUs = note, gpus
	got, err := st.UpdateDeployment(t.Context(), "b", store.DeploymentPatch{Note: &note, GPUs: &gpus})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("updated %+v, %v; want %+v", got, err, want)
	}
	peak := nan
	_, err = st.UpdateDeployment(t.Context(), "b", store.DeploymentPatch{PeakTFLOPs: &peak})
	wantErr(t, err, store.ErrInvalid)
	_, err = st.UpdateDeployment(t.Context(), "none", store.DeploymentPatch{})
	wantErr(t, err, store.ErrNotFound)
	for _, name := range []string{"", "b", " b", "line\nbreak", string(make([]byte, store.MaxLabel+1))} {
		wantErr(t, st.CreateDeployment(t.Context(), store.Deployment{Name: name}), store.ErrInvalid)
	}
}

func testEngines(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	e := info("prod", "rank3")
	e.Kind, e.Rank, e.Role = "deepinfer", 3, "decode"
	columns := []store.Column{{Metric: "sps"}}
	b := one(1, columns, store.Row{Time: t0 + 7, Values: []float64{1}}, store.Row{Time: t0 + 5, Values: []float64{1}})
	b.Engines = []store.EngineInfo{e, info("prod", "idle")}
	deliver(t, st, "node", b)
	// What is known replaces what was; what is not known leaves it.
	b = &store.Batch{Seq: 2, Engines: []store.EngineInfo{{EngineKey: e.EngineKey, Rank: -1, GPU: 0, Host: "n1", Role: "mixed"}}}
	deliver(t, st, "node", b)
	e.GPU, e.Host, e.Role = 0, "n1", "mixed"
	check := func(when string) {
		t.Helper()
		got, err := st.Engines(t.Context(), "prod")
		if err != nil || len(got) != 2 || got[0].Name != "idle" || got[0].First != 0 || got[0].Last != 0 ||
			got[1].EngineInfo != e || got[1].First != t0+5 || got[1].Last != t0+7 || got[0].ID == got[1].ID {
			t.Errorf("%s: engines %+v, %v; want %+v from %d to %d", when, got, err, e, t0+5, t0+7)
		}
	}
	check("delivered")
	maintain(t, st, t0+30*hour, store.Retention{})
	check("packed")
	if got, err := st.Engines(t.Context(), "other"); err != nil || len(got) != 0 {
		t.Errorf("an unknown deployment: %+v, %v", got, err)
	}
}

func maintain(t *testing.T, st store.Samples, now int64, r store.Retention) store.Maintained {
	t.Helper()
	m, err := st.Maintain(t.Context(), time.Unix(0, now), r)
	if err != nil {
		t.Fatalf("Maintain: %v", err)
	}
	return m
}

func testDeleteDeployment(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{Grace: time.Hour})
	columns := []store.Column{{Metric: "sps"}}
	b := one(1, columns, store.Row{Time: t0, Values: []float64{1}}, store.Row{Time: t0 + 24*hour, Values: []float64{2}})
	b.Events = []store.Event{{Kind: store.Restart, From: t0, To: t0, FromStep: -1, ToStep: -1}}
	deliver(t, st, "node", b)
	maintain(t, st, t0+20*hour, store.Retention{}) // the first row is packed, the second is not
	id := engineIDs(t, st, "prod")["rank0"]
	baseline, err := st.PutBaseline(t.Context(), store.Baseline{Deployment: "prod", Name: "good", From: t0, To: t0 + hour})
	if err != nil {
		t.Fatal(err)
	}
	all := store.Selection{Engines: []int64{id}, To: store.MaxTime}
	there := func(want bool) {
		t.Helper()
		n := 0
		if want {
			n = 1
		}
		events, err := st.Events(t.Context(), []int64{id}, 0, store.MaxTime)
		latest, err2 := st.Latest(t.Context(), []int64{id}, nil, 0)
		points, err3 := st.Points(t.Context(), store.PointsQuery{Selection: all})
		columns, err4 := st.Columns(t.Context(), all)
		baselines, err5 := st.Baselines(t.Context(), "")
		if err != nil || err2 != nil || err3 != nil || err4 != nil || err5 != nil {
			t.Fatal(err, err2, err3, err4, err5)
		}
		got := []int{len(deploymentNames(t, st)), len(engineIDs(t, st, "")), len(readAll(t, st, all)), len(events), len(latest), len(points), len(columns), len(baselines)}
		for _, k := range got {
			if k != n {
				t.Errorf("deployments, engines, series, events, latest, points, columns, baselines: %v, want all %d", got, n)
				break
			}
		}
	}
	there(true)
	wantErr(t, st.DeleteDeployment(t.Context(), "none"), store.ErrNotFound)
	wantErr(t, st.RestoreDeployment(t.Context(), "none"), store.ErrNotFound)
	remove := func() {
		t.Helper()
		if err := st.DeleteDeployment(t.Context(), "prod"); err != nil {
			t.Fatal(err)
		}
		there(false)
	}
	remove()
	if err := st.RestoreDeployment(t.Context(), "prod"); err != nil {
		t.Fatal(err)
	}
	there(true)
	// An engine that is merely named doesn't bring it back, samples do.
	remove()
	deliver(t, st, "node", &store.Batch{Seq: 2, Engines: b.Engines})
	there(false)
	deliver(t, st, "node", one(3, columns, store.Row{Time: t0 + 24*hour + 1, Values: []float64{3}}))
	there(true)
	remove()
	wantErr(t, st.CreateDeployment(t.Context(), store.Deployment{Name: "prod"}), store.ErrInvalid)
	maintain(t, st, time.Now().Add(2*time.Hour).UnixNano(), store.Retention{})
	wantErr(t, st.RestoreDeployment(t.Context(), "prod"), store.ErrNotFound)
	// The name is free again, and nothing of the past comes with it.
	deliver(t, st, "node", one(4, columns, store.Row{Time: t0, Values: []float64{1}}))
	again := engineIDs(t, st, "prod")["rank0"]
	if got := readAll(t, st, store.Selection{Engines: []int64{id, again}, To: store.MaxTime}); again == id || len(got) != 1 || len(got[0].Values) != 1 {
		t.Errorf("after the purge: engine %d (was %d) has %+v", again, id, got)
	}
	wantErr(t, st.DeleteBaseline(t.Context(), baseline.ID), store.ErrNotFound)
}

func testBaselines(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	for _, name := range []string{"a", "b"} {
		if err := st.CreateDeployment(t.Context(), store.Deployment{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	put := func(b store.Baseline) store.Baseline {
		t.Helper()
		got, err := st.PutBaseline(t.Context(), b)
		if err != nil || got.ID == 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		if b.ID = got.ID; got != b {
			t.Errorf("put %+v, want %+v", got, b)
		}
		return got
	}
	late := put(store.Baseline{Deployment: "b", Name: "release 2", Note: "n", From: 10, To: 20})
	early := put(store.Baseline{Deployment: "b", Name: "release 1", From: 1, To: 2})
	other := put(store.Baseline{Deployment: "a", Name: "release 1", From: 1, To: 2})
	late.To = 30
	put(late)
	f := func(deployment string, want ...store.Baseline) {
		t.Helper()
		if got, err := st.Baselines(t.Context(), deployment); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("baselines of %q: %+v, %v; want %+v", deployment, got, err, want)
		}
	}
	f("", other, early, late)
	f("b", early, late)
	f("none")
	for _, bad := range []store.Baseline{{Deployment: "a", From: 1, To: 2}, {Deployment: "a", Name: "x", From: 2, To: 2}, {Deployment: "a", Name: "x", From: -1, To: 2},
		{Deployment: "a", Name: "release 1", From: 1, To: 2}} {
		_, err := st.PutBaseline(t.Context(), bad)
		wantErr(t, err, store.ErrInvalid)
	}
	for _, gone := range []store.Baseline{{Deployment: "none", Name: "x", From: 1, To: 2}, {ID: 99, Deployment: "a", Name: "x", From: 1, To: 2}} {
		_, err := st.PutBaseline(t.Context(), gone)
		wantErr(t, err, store.ErrNotFound)
	}
	if err := st.DeleteBaseline(t.Context(), early.ID); err != nil {
		t.Fatal(err)
	}
	wantErr(t, st.DeleteBaseline(t.Context(), early.ID), store.ErrNotFound)
	f("b", late)
}
