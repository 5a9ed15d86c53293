package kineto

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// small makes a step of about 150 KB.
func small(o Options) Options {
	o.Layers, o.BytesPerStep = 3, 150_000
	if o.Steps == 0 {
		o.Steps = 12
	}
	return o
}

func generate(t testing.TB, o Options) ([]byte, Truth) {
	t.Helper()
	var b bytes.Buffer
	truth, err := Generate(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), truth
}

var captures = []struct {
	about string
	opt   Options
}{
	{"default mix", Options{Seed: 1}},
	{"zero-overhead scheduling", Options{Seed: 2, ZOS: true}},
	{"idle steps", Options{Seed: 3, IdleSteps: 5}},
	{"idle steps, zero-overhead scheduling", Options{Seed: 4, IdleSteps: 5, ZOS: true}},
	{"nothing but idle steps", Options{Seed: 5, IdleSteps: 12}},
	{"one step", Options{Seed: 6, Steps: 1}},
	{"one step without its GPU work", Options{Seed: 7, Steps: 1, ZOS: true}},
	{"one rank", Options{Seed: 8, WorldSize: 1}},
	{"a rank of many", Options{Seed: 9, WorldSize: 64, Rank: 37, GPU: 5}},
	{"graphs only", Options{Seed: 10, PrefillEvery: -1, MissEvery: -1}},
	{"no graphs", Options{Seed: 11, PrefillEvery: 2, MissEvery: 1}},
	{"no room for frames", Options{Seed: 12, Steps: 3, BytesPerStep: 1}},
}

func TestTruth(t *testing.T) {
	for _, tt := range captures {
		t.Run(tt.about, func(t *testing.T) {
			b, truth := generate(t, small(tt.opt))
			if !json.Valid(b) {
				t.Fatal("not valid JSON")
			}
			want := recount(t, b)
			for i := range reflect.TypeFor[Truth]().NumField() {
				g, w := reflect.ValueOf(truth).Field(i), reflect.ValueOf(want).Field(i)
				if !reflect.DeepEqual(g.Interface(), w.Interface()) {
					t.Errorf("%s:\n got %+v\nfile %+v", reflect.TypeFor[Truth]().Field(i).Name, g, w)
				}
			}
			if n := int64(small(tt.opt).Steps); truth.StepCount != n {
				t.Errorf("%d steps, want %d", truth.StepCount, n)
			}
		})
	}
}

// Every slice of the engine's threads lies wholly inside or wholly outside of every other; on a stream nothing overlaps.
func TestNesting(t *testing.T) {
	for _, tt := range captures {
		b, _ := generate(t, small(tt.opt))
		rows := map[string][]*event{}
		doc := parse(t, b)
		for i := range doc.Events {
			e := &doc.Events[i]
			row := fmt.Sprint(e.PID, "/", e.TID)
			switch e.Cat {
			case "cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver":
			case "kernel", "gpu_memcpy", "gpu_memset":
				row = "gpu " + row
			default:
				continue
			}
			if e.Ph == "X" {
				rows[row] = append(rows[row], e)
			}
		}
		for row, list := range rows {
			slices.SortFunc(list, func(a, b *event) int {
				if a.start != b.start {
					return int(a.start - b.start)
				}
				return int(b.end - a.end)
			})
			var stack []*event
			for _, e := range list {
				for len(stack) > 0 && stack[len(stack)-1].end <= e.start {
					stack = stack[:len(stack)-1]
				}
				if e.end <= e.start {
					t.Fatalf("%s: %s lasts %d ns", tt.about, e.Name, e.end-e.start)
				}
				if len(stack) > 0 && (strings.HasPrefix(row, "gpu") || e.end > stack[len(stack)-1].end) {
					t.Fatalf("%s: row %s: %s overlaps %s", tt.about, row, e.Name, stack[len(stack)-1].Name)
				}
				stack = append(stack, e)
			}
		}
	}
}

func TestShapesOfMix(t *testing.T) {
	_, truth := generate(t, Options{Seed: 1, Layers: 1, BytesPerStep: 1})
	kinds := map[string]int{}
	for _, s := range truth.Steps {
		kinds[s.Kind+" "+s.Graph]++
	}
	// Steps 3, 10 and 17 prefill, 5 and 15 have a batch without bucket.
	if want := (map[string]int{"decode replay": 15, "decode miss": 2, "prefill miss": 3}); !reflect.DeepEqual(kinds, want) {
		t.Errorf("kinds of steps: %v, want %v", kinds, want)
	}
	for _, s := range truth.Shapes {
		if s.B <= s.N*6 && (s.N < 60 || s.N > 71 || s.B < s.N) {
			t.Errorf("decode shape N%d B%d is out of place", s.N, s.B)
		}
	}
}

// Under zero-overhead scheduling the results of a step are looked at in the next one, and the GPU hardly waits.
func TestZOS(t *testing.T) {
	opt := Options{Seed: 1, PrefillEvery: -1, MissEvery: -1, BytesPerStep: 1}
	_, plain := generate(t, opt)
	opt.ZOS = true
	_, zos := generate(t, opt)
	count := func(truth Truth, name string) int64 {
		for _, p := range truth.Phases {
			if p.Name == name {
				return p.Count
			}
		}
		return 0
	}
	if a, b := count(plain, "deepinfer:process_model_outputs"), count(zos, "deepinfer:process_model_outputs"); a != 20 || b != 19 {
		t.Errorf("post-processed steps: %d, with zero-overhead scheduling %d; want 20 and 19", a, b)
	}
	if k := zos.Steps[19].Kernels; k != 0 {
		t.Errorf("the last step has %d kernels, want none", k)
	}
	// What a step launches: 4 copies, a fill, a graph, 8 sampling kernels, a copy back.
	if plain.Unresolved != 0 || zos.Unresolved != 15 {
		t.Errorf("launches without GPU work: %d and %d, want 0 and 15", plain.Unresolved, zos.Unresolved)
	}
	share := func(d DeviceTruth) int64 { return 100 * d.Idle / (d.Idle + d.Busy) }
	if a, b := share(plain.Devices[0]), share(zos.Devices[0]); b >= a/2 {
		t.Errorf("idle: %d %%, with zero-overhead scheduling %d %%", a, b)
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	sum := func(o Options) string {
		h := sha256.New()
		if _, err := Generate(h, small(o)); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", h.Sum(nil))
	}
	seen := map[string]string{}
	for _, tt := range captures {
		a, b := sum(tt.opt), sum(tt.opt)
		if a != b {
			t.Errorf("%s: two runs differ", tt.about)
		}
		if other := seen[a]; other != "" {
			t.Errorf("%s: the same as %s", tt.about, other)
		}
		seen[a] = tt.about
		other := tt.opt
		other.Seed += 100
		if sum(other) == a {
			t.Errorf("%s: another seed gives the same bytes", tt.about)
		}
	}
}

func TestBytesPerStep(t *testing.T) {
	tests := []struct {
		opt  Options
		want int64 // bytes per step with work
		work int64
	}{
		{Options{Seed: 1}, 4_900_000, 20},
		{Options{Seed: 2, ZOS: true}, 4_900_000, 20},
		{Options{Seed: 3, PrefillEvery: -1, MissEvery: -1}, 4_900_000, 20},
		{Options{Seed: 4, PrefillEvery: 1}, 4_900_000, 20},
		{Options{Seed: 5, WorldSize: 1}, 4_900_000, 20},
		{Options{Seed: 6, IdleSteps: 10}, 4_900_000, 10},
		{Options{Seed: 7, Steps: 1}, 4_900_000, 1},
		{Options{Seed: 8, BytesPerStep: 3_000_000}, 3_000_000, 20},
		{Options{Seed: 9, BytesPerStep: 8_000_000}, 8_000_000, 20},
		{Options{Seed: 10, Steps: 100, Layers: 4, BytesPerStep: 500_000}, 500_000, 100},
	}
	for _, tt := range tests {
		truth, err := Generate(io.Discard, tt.opt)
		if err != nil {
			t.Fatal(err)
		}
		got := truth.Bytes / tt.work
		if off := 100 * (got - tt.want) / tt.want; off < -5 || off > 5 {
			t.Errorf("%+v: %d bytes a step, want %d ± 5 %%", tt.opt, got, tt.want)
		}
	}
}

// peak is a writer that knows the largest write it got: what the Writer buffers at most.
type peak struct{ most int }

func (p *peak) Write(b []byte) (int, error) {
	p.most = max(p.most, len(b))
	return len(b), nil
}

func TestManyStepsStream(t *testing.T) {
	var p peak
	truth, err := Generate(&p, Options{Seed: 1, Steps: 20_000, IdleSteps: 19_000, Layers: 1, BytesPerStep: 1})
	if err != nil {
		t.Fatal(err)
	}
	if truth.StepCount != 20_000 || p.most > 2*flushAt {
		t.Errorf("%d steps, writes of up to %d bytes; want 20000 and at most %d", truth.StepCount, p.most, 2*flushAt)
	}
	// What is kept from step to step must not grow with the steps: most of all the intervals of a union.
	c := newCounter(0, 5)
	pl := newPlanner(mustNormal(t, Options{Seed: 1, Steps: 1}))
	for k := range 200 {
		c.add(pl.next(k, Step{N: 64, B: 384, Replay: true}), false)
		if n := len(c.busy.open); n > 2000 {
			t.Fatalf("step %d: %d intervals kept", k, n)
		}
	}
}

func mustNormal(t *testing.T, o Options) Options {
	t.Helper()
	o, err := o.normal()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// An engine that knows its steps has them written as they were.
func TestWriteGivenSteps(t *testing.T) {
	steps := []Step{
		{N: 2, B: 4096, Requests: 2, Forward: 90e6},
		{N: 8, B: 48, Replay: true, Forward: 10e6, Pause: 5e6},
		{},
		{N: 9, B: 54, Forward: 20e6},
	}
	var b bytes.Buffer
	start := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	truth, err := Write(&b, Options{Seed: 1, Layers: 20, BytesPerStep: 1, Start: start}, slices.Values(steps))
	if err != nil {
		t.Fatal(err)
	}
	if truth.Start != start.UnixNano() {
		t.Errorf("starts at %d, want %d", truth.Start, start.UnixNano())
	}
	want := []string{"prefill miss 2 4096", "decode replay 8 48", "idle none 0 0", "decode miss 9 54"}
	for i, s := range truth.Steps {
		if got := fmt.Sprintf("%s %s %d %d", s.Kind, s.Graph, s.N, s.B); got != want[i] {
			t.Errorf("step %d: %s, want %s", i, got, want[i])
		}
	}
	// The replayed forward's GPU work takes the time it was given, within a fiftieth.
	doc := parse(t, b.Bytes())
	found := false
	for _, e := range doc.Events {
		if e.Cat == "gpu_user_annotation" && e.Name == "deepinfer:launch_forward_N8_B48" && fmt.Sprint(e.TID) == "7" {
			found = true
			if d := e.end - e.start; d < 9_800_000 || d > 10_200_000 {
				t.Errorf("the forward took %d ns, want 10 ms", d)
			}
		}
	}
	if !found {
		t.Error("the forward has no image on the GPU")
	}
	if n := strings.Count(b.String(), `"name": "deepinfer:add_request"`); n != 2 {
		t.Errorf("%d requests added, want 2", n)
	}
}

func TestRefusals(t *testing.T) {
	once := func() iter.Seq[Step] {
		left := 1
		return func(yield func(Step) bool) {
			if left > 0 {
				left--
				yield(Step{})
			}
		}
	}
	steps := func(s ...Step) iter.Seq[Step] { return slices.Values(s) }
	tests := []struct {
		opt   Options
		steps iter.Seq[Step]
		want  string
	}{
		{Options{Steps: -1}, nil, "steps: "},
		{Options{IdleSteps: 21}, nil, "idle steps: 21 of 20"},
		{Options{Rank: 8}, nil, "rank: 8 is not a rank of 8"},
		{Options{GPU: 16}, nil, "gpu: "},
		{Options{NextN: 65}, nil, "nextn: "},
		{Options{Layers: -1}, nil, "layers: "},
		{Options{WorldSize: -2}, nil, "world size: "},
		{Options{BytesPerStep: -1}, nil, "bytes per step: "},
		{Options{Start: time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)}, nil, "start: "},
		{Options{}, steps(), "none given"},
		{Options{}, once(), "must repeat"},
		{Options{}, steps(Step{N: 1}), "step 0: 1 sequences with 0"},
		{Options{}, steps(Step{}, Step{N: 1, B: 1, Pause: -1}), "step 1: "},
	}
	for _, tt := range tests {
		var err error
		if tt.steps == nil {
			_, err = Generate(io.Discard, tt.opt)
		} else {
			_, err = Write(io.Discard, tt.opt, tt.steps)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want %q", tt.opt, err, tt.want)
		}
	}
	if _, err := Generate(&broken{}, Options{}); err == nil || !strings.Contains(err.Error(), errDisk.Error()) {
		t.Errorf("error %v, want %v", err, errDisk)
	}
}

func TestFileName(t *testing.T) {
	o := Options{Rank: 3, GPU: 1, Start: time.Date(2026, 3, 2, 9, 5, 7, 41e6, time.UTC)}
	if got, want := o.FileName(), "profile-127.0.0.1-gpu1-rank3-20260302-090507-041.json"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func BenchmarkGenerate(b *testing.B) {
	truth, err := Generate(io.Discard, Options{Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(truth.Bytes)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Generate(io.Discard, Options{Seed: 1}); err != nil {
			b.Fatal(err)
		}
	}
}
