package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// small makes an engine whose traces are small.
func small() Deployment {
	d := DefaultDeployment()
	d.Trace = Trace{Layers: 2, StepBytes: 60_000}
	return d
}

// answer is what a request got and when.
type answer struct {
	status int
	Trace  string `json:"trace_file"`
	Detail string `json:"detail"`
	after  time.Duration
}

// liveFleet runs a fleet of one engine in real time, on the false clock of a synctest bubble, and sends it requests without a
// network. The engine has run for ten seconds when ask is called.
func liveFleet(t *testing.T, d Deployment, ask func(f *Fleet, post func(steps int) answer)) {
	synctest.Test(t, func(t *testing.T) {
		f, err := NewFleet(scenarioOf(d), Options{Seed: 1, Speed: 1, Errors: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		m := f.members[0]
		m.port = newPort(m.Engine, ProfileOptions{}, f.opt.Errors)
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- f.Run(ctx) }()
		time.Sleep(10 * time.Second)
		ask(f, func(steps int) answer {
			t.Helper()
			began := time.Now()
			w := httptest.NewRecorder()
			m.port.manager.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/profile", strings.NewReader(fmt.Sprintf(`{"num_steps": %d, "output_dir": %q}`, steps, dir))))
			a := answer{status: w.Code, after: time.Since(began)}
			if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
				t.Fatal(err)
			}
			return a
		})
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCapture(t *testing.T) {
	d := small()
	d.Trace.Truth = true
	liveFleet(t, d, func(f *Fleet, post func(int) answer) {
		a := post(12)
		if a.status != http.StatusOK {
			t.Fatalf("status %d: %s", a.status, a.Detail)
		}
		// Twelve steps of some 30 ms, then the profiler's stop.
		if a.after < 150*time.Millisecond || a.after > 2*time.Second {
			t.Errorf("the answer came after %s", a.after)
		}
		name, err := profile.ParseFileName(filepath.Base(a.Trace), time.Local)
		if err != nil {
			t.Fatal(err)
		}
		if age := time.Since(name.Time); name.GPU != 0 || name.Rank != 0 || age < 0 || age > time.Second {
			t.Errorf("the name says %+v", name)
		}
		data, err := os.ReadFile(a.Trace)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(a.Trace + truthSuffix)
		if err != nil {
			t.Fatal(err)
		}
		var truth kineto.Truth
		if err := json.Unmarshal(text, &truth); err != nil {
			t.Fatal(err)
		}
		if truth.Bytes != int64(len(data)) || truth.StepCount != 12 {
			t.Errorf("the truth has %d bytes and %d steps, the file %d bytes", truth.Bytes, truth.StepCount, len(data))
		}
		sameAsTruth(t, data, truth, d.Scheduler.NextN)

		if b := post(3); b.status != http.StatusOK || b.Trace == a.Trace {
			t.Errorf("a second capture: %+v", b)
		}
	})
}

func TestProfileFaults(t *testing.T) {
	with := func(texts ...string) Deployment {
		d := small()
		for _, text := range texts {
			var f Fault
			if err := f.UnmarshalText([]byte(text)); err != nil {
				t.Fatal(err)
			}
			d.Faults = append(d.Faults, f)
		}
		return d
	}
	t.Run("refuse", func(t *testing.T) {
		liveFleet(t, with("refuse"), func(_ *Fleet, post func(int) answer) {
			if a := post(3); a.status != http.StatusBadRequest || !strings.Contains(a.Detail, "no space left") {
				t.Errorf("%+v, want 400", a)
			}
		})
	})
	t.Run("slow export", func(t *testing.T) {
		liveFleet(t, with("slow-export=20s"), func(_ *Fleet, post func(int) answer) {
			if a := post(3); a.status != http.StatusOK || a.after < 20*time.Second || a.after > 21*time.Second {
				t.Errorf("%+v, want 200 after 20 s", a)
			}
		})
	})
	t.Run("hang", func(t *testing.T) {
		// About 34 steps a second: the 250th comes within the first ten, and it hangs for a minute.
		liveFleet(t, with("hang@250=1m"), func(_ *Fleet, post func(int) answer) {
			if a := post(3); a.status != http.StatusServiceUnavailable || !strings.Contains(a.Detail, "will not take effect") || a.after != profile.DefaultPickupWait {
				t.Errorf("%+v, want 503 after 30 s", a)
			}
			if a := post(3); a.status != http.StatusConflict || a.after != 0 {
				t.Errorf("%+v, want 409 at once: the engine still hangs", a)
			}
			time.Sleep(30 * time.Second)
			if a := post(3); a.status != http.StatusOK {
				t.Errorf("%+v, want 200 once it runs again", a)
			}
		})
	})
	t.Run("from a step on", func(t *testing.T) {
		liveFleet(t, with("refuse@1000"), func(f *Fleet, post func(int) answer) {
			if a := post(3); a.status != http.StatusOK {
				t.Errorf("%+v, want 200 before step 1000", a)
			}
			time.Sleep(time.Minute)
			if a := post(3); a.status != http.StatusBadRequest {
				t.Errorf("%+v, want 400 at step %d", a, f.Engines()[0].step)
			}
		})
	})
	t.Run("clock jump", func(t *testing.T) {
		liveFleet(t, with("clock-jump@100=-2h"), func(_ *Fleet, post func(int) answer) {
			a := post(3)
			name, err := profile.ParseFileName(filepath.Base(a.Trace), time.Local)
			if err != nil {
				t.Fatal(err)
			}
			if age := time.Since(name.Time); age < 2*time.Hour || age > 2*time.Hour+time.Second {
				t.Errorf("the name says %s ago, want 2 hours", age)
			}
		})
	})
}

// lockedBuffer takes a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// freePort returns a port that is likely to be free.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// A crash in mid-capture leaves half a file and a lost connection; the fleet's other engines run on.
func TestCrash(t *testing.T) {
	d := small()
	d.Engines = 2
	dir := t.TempDir()
	port := freePort(t)
	var errs lockedBuffer
	f, err := NewFleet(scenarioOf(d), Options{Seed: 1, Errors: slog.New(slog.NewTextHandler(&errs, nil)),
		Profile: ProfileOptions{PortBase: port, OutputDir: dir}, Faults: []Fault{{Kind: faultCrash}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()

	client := &profile.Client{Addr: fmt.Sprintf("127.0.0.1:%d", port)}
	_, err = client.Capture(ctx, profile.Request{NumSteps: 4})
	var e *profile.Error
	if !errors.As(err, &e) || e.Outcome != profile.NoResult || e.Cause != profile.Lost {
		t.Errorf("the client got %v, want a lost connection", err)
	}
	if _, err := client.Capture(ctx, profile.Request{NumSteps: 4}); !errors.As(err, &e) || e.Outcome != profile.Unreachable {
		t.Errorf("afterwards the client got %v, want nobody there", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "profile-127.0.0.1-gpu0-rank0-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, error %v; want one", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	s := read(t, data, 5)
	if !s.Health.TruncatedAt.OK || s.Health.TruncatedAt.V != int64(len(data)) || s.Health.Slices == 0 {
		t.Errorf("%d bytes read with %+v, want them cut at the end", len(data), s.Health)
	}
	if text := errs.String(); !strings.Contains(text, "engine crashed") || !strings.Contains(text, "rank=0") {
		t.Errorf("the operator sees %s", text)
	}
}

// An engine whose port is taken says so once and runs without the interface.
func TestPortTaken(t *testing.T) {
	port := freePort(t)
	var errs lockedBuffer
	f, err := NewFleet(scenarioOf(several(1)), Options{Seed: 1, Steps: 5, Errors: slog.New(slog.NewTextHandler(&errs, nil)),
		Profile: ProfileOptions{PortBase: port}, Faults: []Fault{{Kind: faultPort}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := f.Engines()[0].Totals().Steps; n != 5 {
		t.Errorf("%d steps, want 5", n)
	}
	res, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/profile", port))
	if err != nil {
		t.Fatalf("nobody has the port, or who has it does not answer: %v", err)
	}
	if res.Body.Close(); res.StatusCode != http.StatusNotFound {
		t.Errorf("the stranger on the port answers %s", res.Status)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if text := errs.String(); strings.Count(text, "level=ERROR") != 1 || !strings.Contains(text, "port could not be opened") {
		t.Errorf("the operator sees %s", text)
	}
}
