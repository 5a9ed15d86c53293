package trace

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestSlicesBehindARow(t *testing.T) {
	const file = `{"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"p","pid":1,"tid":2,"ts":100,"dur":5},
{"ph":"X","cat":"user_annotation","name":"p","pid":1,"tid":3,"ts":110,"dur":9},
{"ph":"X","cat":"user_annotation","name":"q","pid":1,"tid":2,"ts":101,"dur":50},
{"ph":"B","cat":"user_annotation","name":"p","pid":1,"tid":2,"ts":120},
{"ph":"E","pid":1,"tid":2,"ts":127},
{"ph":"X","cat":"kernel","name":"p","pid":0,"tid":7,"ts":130,"dur":3,"args":{"device":4,"stream":7}},
{"ph":"X","cat":"kernel","name":"k\"","pid":0,"tid":7,"ts":131.5,"dur":0.25,"args":{"device":4,"stream":7}}]}`
	p := read(t, []byte(file))
	for _, c := range []struct {
		q    SliceQuery
		want string
	}{
		// 110 − 100 = 10 µs, 120 − 100 = 20 µs; the B/E pair lasts 127 − 120 = 7 µs.
		{SliceQuery{Name: "p", Limit: 10}, `{"name":"p","count":3,"longest":[` +
			`{"start_ns":10000,"dur_ns":9000,"pid":"1","tid":"3"},` +
			`{"start_ns":20000,"dur_ns":7000,"pid":"1","tid":"2"},` +
			`{"start_ns":0,"dur_ns":5000,"pid":"1","tid":"2"}]}`},
		{SliceQuery{Name: "p", Limit: 1}, `{"name":"p","count":3,"longest":[{"start_ns":10000,"dur_ns":9000,"pid":"1","tid":"3"}]}`},
		{SliceQuery{Name: "p", GPU: true, Limit: 9}, `{"name":"p","count":1,"longest":[{"start_ns":30000,"dur_ns":3000,"device":"4","stream":7}]}`},
		{SliceQuery{Name: `k"`, GPU: true, Limit: 9}, `{"name":"k\"","count":1,"longest":[{"start_ns":31500,"dur_ns":250,"device":"4","stream":7}]}`},
		{SliceQuery{Name: "none", Limit: -1}, `{"name":"none","count":0,"longest":[]}`},
	} {
		if got := string(AppendSlices(nil, p, c.q)); got != c.want {
			t.Errorf("%+v:\n%s, want\n%s", c.q, got, c.want)
		}
	}
}

// Behind each row of the summary are as many slices as it says.
func TestSlicesAgreeWithSummary(t *testing.T) {
	dir := corpus(t, "cases")
	files, err := filepath.Glob(filepath.Join(dir, "*.json*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", dir, err)
	}
	rows := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Read(bytes.NewReader(data), Options{})
		if err != nil {
			t.Fatal(err)
		}
		agree := func(name string, gpu bool, count int64) {
			rows++
			want := `{"name":` + string(appendQuoted(nil, name)) + `,"count":` + itoa(count) + `,"longest":[]}`
			if got := string(AppendSlices(nil, p, SliceQuery{Name: name, GPU: gpu})); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		s := Analyze(p, AnalyzeOptions{})
		for _, x := range s.Phases {
			agree(x.Name, false, x.Count)
		}
		for _, x := range s.Kernels {
			agree(x.Name, true, x.Count)
		}
	}
	if rows < 30 {
		t.Errorf("only %d rows in the cases", rows)
	}
}
