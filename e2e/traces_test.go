package e2e

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// made is a generated trace: its file and what is in it.
type made struct {
	path  string
	truth kineto.Truth
}

// maker makes a trace once for all tests that want it.
func maker(name string, opt kineto.Options) func(testing.TB) made {
	var once sync.Once
	var m made
	var err error
	return func(t testing.TB) made {
		t.Helper()
		once.Do(func() {
			m.path = filepath.Join(scratch, name)
			err = create(m.path, func(w io.Writer) error {
				m.truth, err = kineto.Generate(w, opt)
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

var (
	// smallTrace reads in no time and has every kind of step.
	smallTrace = maker("small.json", kineto.Options{Seed: 3, Steps: 12, IdleSteps: 1, Layers: 4, BytesPerStep: 100_000})
	// middleTrace is large enough to be split over several workers.
	middleTrace = maker("middle.json", kineto.Options{Seed: 5, Steps: 20, IdleSteps: 2, BytesPerStep: 900_000})
	// exampleTrace is the one the page offers: 100 MB.
	exampleTrace = maker("example.json", kineto.Options{Seed: 1, Steps: 20})
	// largeTrace takes a while to read: 400 MB.
	largeTrace = maker("large.json", kineto.Options{Seed: 2, Steps: 82})
)

func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// written is a file with the given bytes in a folder of the test.
func written(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// gzipped is a packed copy of a file.
func gzipped(t testing.TB, path string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(path)+".gz")
	err := create(out, func(w io.Writer) error {
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		if _, err := io.Copy(z, in); err != nil {
			return err
		}
		return z.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// corpus is the path of a file of the corpus; without it the test is skipped.
func corpus(t testing.TB, parts ...string) string {
	t.Helper()
	root := os.Getenv("STEPSCOPE_CORPUS")
	if root == "" {
		t.Skip("STEPSCOPE_CORPUS is not set: no real traces here")
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

// realTruth is what the corpus says of one real trace, counted by other programs.
type realTruth struct {
	Events     int64            `json:"json_events"`
	Slices     int64            `json:"complete_slices"`
	Categories map[string]int64 `json:"categories"`
	Span       int64            `json:"first_to_last_ns"`
	Devices    []struct {
		ID      string `json:"id"`
		Kernels int64  `json:"kernels"`
		Sum     int64  `json:"sum_ns"`
		Busy    int64  `json:"busy_ns"`
		Idle    int64  `json:"idle_ns"`
		Copy    int64  `json:"copy_ns"`
		Comm    int64  `json:"comm_ns"`
		Streams int64  `json:"streams"`
	} `json:"devices"`
}

func realTruths(t testing.TB) map[string]realTruth {
	t.Helper()
	raw, err := os.ReadFile(corpus(t, "traces", "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]realTruth
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// summaryJSON is the part of the command line's summary that pages are compared with.
type summaryJSON struct {
	Health struct {
		Verdict  string
		Events   int64
		Slices   int64
		Warnings []struct {
			Code   string
			Count  int64
			Offset *int64
		}
	}
	SpanNs  int64 `json:"span_ns"`
	Phases  []phaseJSON
	Kernels []struct {
		Name    string
		Count   int64
		TotalNs int64 `json:"total_ns"`
		MaxNs   int64 `json:"max_ns"`
	}
	Shapes []struct {
		Name  string
		Count int64
	}
	Steps []struct {
		Name  string
		Kind  string
		DurNs int64 `json:"dur_ns"`
	}
}

type phaseJSON struct {
	Name    string
	Count   int64
	TotalNs int64 `json:"total_ns"`
	SelfNs  int64 `json:"self_ns"`
	MeanNs  int64 `json:"mean_ns"`
	P50Ns   int64 `json:"p50_ns"`
	P95Ns   int64 `json:"p95_ns"`
	P99Ns   int64 `json:"p99_ns"`
	MaxNs   int64 `json:"max_ns"`
}

// native is the summary of a file as the command line prints it, as text and parsed.
func native(t testing.TB, path string) (string, summaryJSON) {
	t.Helper()
	raw := cli(t, "trace", "summary", "--json", path)
	var s summaryJSON
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return string(raw), s
}
