package trace

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzRead reads any bytes: it must not panic, not depend on chunks or cuts, and give
// figures that make sense.
func FuzzRead(f *testing.F) {
	for i, x := range examples {
		if len(x.in) < 3000 {
			f.Add([]byte(x.in), uint16(i*37), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16, chunk uint8) {
		if len(data) > 1<<16 {
			return
		}
		o := Options{}
		if chunk%4 == 0 {
			o.Rows = 1 + int(chunk/16)
		}
		want := wholeOf(data, o)
		if got := chunked(data, o, sizes(1+int(chunk)%40)); got != want {
			a, b := around(got, want)
			t.Fatalf("in chunks of %d:\n got …%s\nwant …%s", 1+chunk%40, a, b)
		}
		if sniff(data) == packPlain {
			if got := unlearned(data, o); got != want {
				a, b := around(got, want)
				t.Fatalf("without layouts:\n got …%s\nwant …%s", a, b)
			}
		}
		if len(data) > 0 {
			a, b := int64(cut)%int64(len(data)+1), int64(chunk)*7%int64(len(data)+1)
			for _, cuts := range [][]int64{{a}, {min(a, b), max(a, b)}} {
				sameSplit(t, leanSplitOf, data, cuts, o, want)
			}
		}
		if strings.HasPrefix(want, "error: ") {
			return
		}
		if !json.Valid([]byte(want)) {
			t.Fatalf("not JSON: %s", want)
		}
		p, err := Read(bytes.NewReader(data), o)
		if err != nil {
			t.Fatal(err)
		}
		s := Analyze(p, AnalyzeOptions{})
		sane(t, s)
	})
}

// sane checks what must hold for the figures of any input.
func sane(t *testing.T, s *Summary) {
	t.Helper()
	h := s.Health
	if h.Events < 0 || h.Skipped > h.Events || h.Repaired > h.Events || h.Slices > h.Events || h.Unfinished > h.Events || h.Clipped > h.Events {
		t.Errorf("counts that cannot be: %+v", h)
	}
	if s.Span.OK && s.Span.V < 0 {
		t.Errorf("span %d", s.Span.V)
	}
	n := int64(0)
	for _, c := range s.Categories {
		n += c.Count
		if c.Total < 0 {
			t.Errorf("category %q takes %d ns", c.Name, c.Total)
		}
	}
	if n != h.Slices {
		t.Errorf("categories have %d slices, the file %d", n, h.Slices)
	}
	for _, d := range s.Devices {
		// Beyond 2^63 ns sums stay where they are: no relation holds there.
		if d.Sum > 1<<61 || d.Idle.V > 1<<61 {
			continue
		}
		if d.Busy < max(d.Compute, d.Comm, d.Copy) || d.Idle.V < 0 || d.Sum < 0 || d.ExposedComm < 0 || d.ExposedComm > d.Comm+d.CustomComm || d.Busy > d.Compute+d.ExposedComm+d.Copy {
			t.Errorf("device %+v", d)
		}
	}
	for _, p := range s.Phases {
		if p.Count <= 0 || p.Total < 0 || p.Min < 0 || p.Min > p.P50 || p.P50 > p.P95 || p.P95 > p.P99 || p.P99 > p.Max || p.Self < 0 && p.Total < 1<<61 || p.Self > p.Total {
			t.Errorf("phase %+v", p)
		}
	}
	for i, x := range s.Steps {
		if x.Dur < 0 || i > 0 && x.Start < s.Steps[i-1].Start || x.Kernel < 0 {
			t.Errorf("step %d: %+v", i, x)
		}
	}
	for i, k := range s.Kernels {
		if k.Count <= 0 || k.Total < k.Max || k.Max < k.Mean || i > 0 && k.Total > s.Kernels[i-1].Total || k.Graph > k.Count {
			t.Errorf("kernel %+v", k)
		}
	}
	if l := s.Links.Latency; l != nil && (l.Min < 0 || l.Min > l.P50 || l.P50 > l.P95 || l.P95 > l.P99 || l.P99 > l.Max) {
		t.Errorf("latency %+v", l)
	}
	if h.TruncatedAt.OK && h.TruncatedAt.V > s.JSONBytes {
		t.Errorf("truncated at %d of %d bytes", h.TruncatedAt.V, s.JSONBytes)
	}
	for _, w := range h.Warnings {
		if w.Count <= 0 || w.Code == "" || w.Message == "" || w.Offset.OK && (w.Offset.V < 0 || w.Offset.V > s.JSONBytes) {
			t.Errorf("warning %+v", w)
		}
	}
}

// What is sane for any input is sane for the examples.
func TestExamplesAreSane(t *testing.T) {
	for _, x := range examples {
		p := read(t, []byte(x.in))
		sane(t, Analyze(p, AnalyzeOptions{}))
		if t.Failed() {
			t.Fatalf("%s: %.300q", x.name, x.in)
		}
	}
}
