package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sides"
	"github.com/stepscope/stepscope/store/sqlite"
)

// compareDB keeps an hour of two deployments: slow generates 90 tokens/s where fast
// generates 100, both between −3 and +3, and few has six lines.
func compareDB(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.db")
	st, err := sqlite.Open(t.Context(), name, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b := store.Batch{Layouts: []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "completion_TPS"}, {Metric: "prompt_TPS"}}}}}
	now := time.Now()
	for i, d := range []struct {
		name  string
		tps   float64
		lines int
	}{{"fast", 100, 300}, {"slow", 90, 300}, {"few", 90, 6}} {
		b.Engines = append(b.Engines, store.EngineInfo{EngineKey: store.EngineKey{Deployment: d.name, Name: "rank0"}, Kind: "deepinfer", Rank: 0, GPU: 0})
		for k := range d.lines {
			noise := float64(k*k%7 - 3)
			b.Rows = append(b.Rows, store.Row{Engine: i, Time: now.Add(time.Duration(k-d.lines) * 10 * time.Second).UnixNano(), Step: int64(k), Flags: store.DecodeStep,
				Values: []float64{d.tps + noise, 500 + noise}})
		}
	}
	if _, err := st.Deliver(t.Context(), "test", &b); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestCompare(t *testing.T) {
	db := compareDB(t)
	f := func(code int, out, says string, args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		got := run(t.Context(), append([]string{"compare"}, args...), &IO{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		if got != code || !strings.Contains(stdout.String(), out) || !strings.Contains(stderr.String(), says) || (says == "") != (stderr.Len() == 0) {
			t.Errorf("compare %v: exit %d, want %d\nout  %.3000s want %q\nerr  %s want %q", args, got, code, stdout.String(), out, stderr.String(), says)
		}
		return stdout.String()
	}
	f(2, "", `--since: "foo" is not a length of time such as 90s, 15m, 1h or 7d`, "fast", "slow", "--db", db, "--since", "foo")
	f(2, "", "--per: \"card\" is none of gpu, engine and token", "fast", "slow", "--db", db, "--per", "card")
	f(0, "B generates 10.1 % fewer tokens per second than A", "", "fast", "slow", "--db", db, "--since", "7d")
	f(0, "B generates 10.1 % fewer tokens per second than A", "", "fast", "slow", "--db", db)
	f(0, "B 每秒生成的 token 比 A 少 10.1 %", "", "fast", "slow", "--db", db, "--lang", "zh")
	f(0, "kept", "", "fast", "slow", "--db", db, "--fail-on", "completion_TPS<-20%", "--fail-on", "prompt_TPS<-1%")
	f(4, "crossed", "regression: beyond the threshold in B: completion_TPS<-3%", "fast", "slow", "--db", db, "--fail-on", "completion_TPS<-3%")
	f(5, "needs", "not enough evidence to decide B: completion_TPS<-3%", "fast", "few", "--db", db, "--fail-on", "completion_TPS<-3%")
	f(0, "needs", "", "fast", "few", "--db", db, "--fail-on", "completion_TPS<-3%", "--pass-undecided")
	f(4, "", "C: completion_TPS<-3%", "fast", "fast@-40m", "slow", "--db", db, "--fail-on", "completion_TPS<-3%")
	f(0, "group,metric,", "", "fast", "slow", "--db", db, "--csv")
	f(0, "| metric | A |", "", "fast", "slow", "--db", db, "--markdown")
	if text := f(0, `"verdict": "worse"`, "", "fast", "slow", "--db", db, "--json", "--metric", "completion_TPS"); !json.Valid([]byte(text)) {
		t.Error("--json prints no JSON")
	}
	f(2, "", "2 to 6", "fast", "--db", db)
	f(2, "", "NAME@baseline:LABEL", "fast", "slow@yesterday", "--db", db)
	f(2, "", "there is no metric", "fast", "slow", "--db", db, "--fail-on", "speed<-3%")
	f(2, "", "the nearest are completion_TPS,", "fast", "slow", "--db", db, "--metric", "completion_TSP")
	f(2, "", "one of them", "fast", "slow", "--db", db, "--server", "http://x")
	f(1, "", `there are "fast", "few", "slow"`, "fast", "fsat", "--db", db)
	f(1, "", "name the server's database", "fast", "slow", "--db", filepath.Join(t.TempDir(), "none.db"))
}

// TestCompareAsksServer lets a server answer that has the same database.
func TestCompareAsksServer(t *testing.T) {
	st, err := sqlite.Open(t.Context(), compareDB(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/compare" || r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "go away", http.StatusForbidden)
			return
		}
		columns, err := compare.ParseColumns(r.URL.Query()["c"])
		if err != nil {
			t.Error(err)
		}
		all, err := sides.Load(r.Context(), st, columns, sides.Options{})
		if err != nil {
			t.Error(err)
		}
		table, err := compare.Compare(all, compare.Options{Per: compare.Per(r.URL.Query().Get("per"))})
		if err != nil {
			t.Error(err)
		}
		if err := table.Write(w, r.URL.Query().Get("format"), "en"); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	var stdout, stderr bytes.Buffer
	streams := &IO{In: strings.NewReader(""), Out: &stdout, Err: &stderr}
	if got := run(t.Context(), []string{"compare", "fast", "slow", "--server", server.URL, "--token", "secret", "--per", "engine", "--fail-on", "completion_TPS<-3%"}, streams); got != exitRegression {
		t.Errorf("exit %d, want %d: %s", got, exitRegression, stderr.String())
	}
	if !strings.Contains(stdout.String(), "tokens/s/engine") {
		t.Errorf("the server's table:\n%s", stdout.String())
	}
	stderr.Reset()
	if got := run(t.Context(), []string{"compare", "fast", "slow", "--server", server.URL}, streams); got != exitFailure || !strings.Contains(stderr.String(), "go away") {
		t.Errorf("without a token: exit %d, %s", got, stderr.String())
	}
}

// TestCompareTellsTheServersRefusal: in words and in the language asked for, not as JSON.
func TestCompareTellsTheServersRefusal(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query()["metric"]; len(got) != 2 || got[1] != "avg_SPS" {
			t.Errorf("metrics %v, want the two that were asked for", got)
		}
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`{"error":"a column is not there","hint":"see the fleet","zh":{"error":"有一列不存在","hint":"见集群页面"}}`))
	}))
	defer server.Close()
	for lang, want := range map[string]string{"en": "stepscope: a column is not there; see the fleet\n", "zh": "stepscope: 有一列不存在; 见集群页面\n"} {
		var stdout, stderr bytes.Buffer
		got := run(t.Context(), []string{"compare", "fast", "gone", "--server", server.URL, "--lang", lang, "--metric", "completion_TPS,avg_SPS"},
			&IO{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
		if got != exitFailure || stderr.String() != want {
			t.Errorf("%s: exit %d, %q, want %q", lang, got, stderr.String(), want)
		}
	}
}
