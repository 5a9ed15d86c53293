package capture

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/engine/sim"
	"github.com/stepscope/stepscope/store"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A healthy engine: all states in order, the bytes of its file, the window of the recording.
func TestDeepInferHealthy(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	g := newRig(t, e.target())
	start := time.Now()
	g.r.Do(g.capture(7))
	c := g.done(7)
	if got, want := passed(c), "queued asked captured found stored"; got != want {
		t.Fatalf("states %q, want %q (%s; %s)", got, want, c.Error, c.Hint)
	}
	inOrder(t, c)
	names := files(t, e.dir)
	if len(names) != 1 {
		t.Fatalf("files %q", names)
	}
	text := read(t, e.dir, names[0])
	if c.Path != filepath.Join(e.dir, names[0]) || c.Bytes != int64(len(text)) {
		t.Errorf("path %q with %d bytes, want %q with %d", c.Path, c.Bytes, names[0], len(text))
	}
	if g.content(c.TraceID) != text {
		t.Error("the stored trace is not the engine's")
	}
	m := g.metas[c.TraceID]
	if m.Name != names[0]+".gz" || m.Label != "chat" {
		t.Errorf("meta %+v", m)
	}
	for _, part := range []string{"capture #7, group g1, engine rank3, rank 3", e.dir, "why is it slow"} {
		if !strings.Contains(m.Note, part) {
			t.Errorf("note %q has no %q", m.Note, part)
		}
	}
	keys, spans := g.waitEvents(1)
	if keys[0] != "chat/rank3" || spans[0][0].Before(start) || !spans[0][0].Before(spans[0][1]) ||
		spans[0][1].After(c.Times[store.Captured].Add(time.Second)) || spans[0][1].Before(c.Times[store.Captured].Add(-time.Second)) {
		t.Errorf("windows %v %v, asked %s, captured %s", keys, spans, c.Times[store.Asked], c.Times[store.Captured])
	}
}

// waitEvents waits for n windows.
func (s *server) waitEvents(n int) ([]string, [][2]time.Time) {
	s.t.Helper()
	for range 400 {
		if keys, spans := s.events(); len(keys) >= n {
			return keys, spans
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Fatalf("%d windows did not come", n)
	return nil, nil
}

// The server may be away for any number of calls; and a command may come twice.
func TestServerAwayAndCommandAgain(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	g := newRig(t, e.target())
	g.away = 12
	cmd := g.capture(1)
	g.r.Do(cmd, cmd)
	g.r.Do(cmd)
	c := g.done(1)
	if c.State != store.Stored {
		t.Fatalf("%s: %s", c.State, c.Error)
	}
	g.mu.Lock()
	delete(g.captures, 1) // the server has lost the last word
	g.mu.Unlock()
	g.r.Do(cmd)
	if again := g.done(1); again.TraceID != c.TraceID {
		t.Errorf("told %+v, before %+v", again, c)
	}
	if names := files(t, e.dir); len(names) != 1 {
		t.Errorf("the engine recorded %d times", len(names))
	}
	g.mu.Lock()
	delete(g.captures, 1) // the server has a new database, and another capture of this number
	g.mu.Unlock()
	g.r.Do(g.capture(1, func(c *store.Capture) { c.Group = "g2" }))
	if other := g.done(1); other.State != store.Stored || other.TraceID == c.TraceID {
		t.Errorf("told %+v, before %+v", other, c)
	}
}

// Two captures of one engine go one after the other.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	g := newRig(t, e.target())
	g.r.Do(g.capture(1), g.capture(2))
	a, b := g.done(1), g.done(2)
	if a.State != store.Stored || b.State != store.Stored || a.TraceID == b.TraceID {
		t.Fatalf("%s %s, %s %s", a.State, a.Error, b.State, b.Error)
	}
	if b.Times[store.Asked].Before(a.Times[store.Captured]) == a.Times[store.Asked].Before(b.Times[store.Captured]) {
		t.Errorf("they overlap: %v, %v", a.Times, b.Times)
	}
}

// Somebody else captures: the Runner backs off and gets its own later.
func TestDeepInferBusy(t *testing.T) {
	t.Parallel()
	slow := make(chan struct{})
	e := newEngine(t, nil)
	g := newRig(t, e.target(), hastily)
	e.hang.Lock() // the other's request stays in the slot
	other := &profile.Client{Addr: e.m.Addr()}
	go func() { other.Capture(t.Context(), profile.Request{NumSteps: 3}); close(slow) }()
	time.Sleep(50 * time.Millisecond)
	g.r.Do(g.capture(1))
	c := g.wait(1, func(c store.Capture) bool { return c.Warning != "" })
	if !strings.Contains(c.Warning, "busy") || !strings.Contains(c.Warning, "try 2 of 6") {
		t.Errorf("warning %q", c.Warning)
	}
	e.hang.Unlock()
	if c = g.done(1); c.State != store.Stored {
		t.Errorf("%s: %s", c.State, c.Error)
	}
	<-slow
}

// An engine that hangs first takes no request within its pickup wait, and refuses all that come later.
func TestDeepInferHangs(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil, hasty)
	last := time.Now().Add(-time.Hour)
	g := newRig(t, e.target(), hastily, func(c *Config) { c.LastStep = func(store.EngineKey) time.Time { return last } })
	e.hang.Lock()
	defer e.hang.Unlock()
	g.r.Do(g.capture(1))
	c := g.failed(1, "not picked up", "nothing will happen at the engine")
	if _, ok := c.Times[store.Captured]; ok {
		t.Error("it counts as captured")
	}
	g.r.Do(g.capture(2))
	g.failed(2, "no step since "+last.Format(time.RFC3339), "hangs")
	if keys, _ := g.events(); len(keys) != 0 {
		t.Errorf("%d windows are marked although nothing was recorded", len(keys))
	}
}

// The engine refuses the folder.
func TestDeepInferBadFolder(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	g := newRig(t, e.target())
	write(t, "a file", e.dir, "taken")
	g.r.Do(g.capture(1, func(c *store.Capture) { c.OutputDir = filepath.Join(e.dir, "taken") }))
	g.failed(1, "", "") // listing a file fails before the engine is asked
	g.r.Do(g.capture(2, func(c *store.Capture) { c.Steps = 51 }))
	g.failed(2, "num_steps is 51", "1 to 50 steps")
}

// A folder that the collector may not read is refused before the engine is asked.
func TestFolderOutside(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	g := newRig(t, e.target())
	for id, dir := range []string{"/", "/etc", e.dir + "/../x", "relative", e.dir + "\x00", "/" + strings.Repeat("x", 5000), e.dir + "x"} {
		g.r.Do(g.capture(int64(id+1), func(c *store.Capture) { c.OutputDir = dir }))
		c := g.failed(int64(id+1), "output folder", "")
		if dir == "/etc" && !strings.Contains(c.Error, e.dir) {
			t.Errorf("the reason %q doesn't name the folder that may be read", c.Error)
		}
		if _, asked := c.Times[store.Asked]; asked {
			t.Errorf("%.40q: the engine was asked", dir)
		}
	}
	if names := files(t, e.dir); len(names) != 0 {
		t.Errorf("files %q", names)
	}
}

// The answer is lost, the file comes: it is adopted, and nobody else's.
func TestDeepInferAdopts(t *testing.T) {
	t.Parallel()
	var e *engine
	e = newEngine(t, func(c *sim.Capture, w io.Writer) error {
		e.m.Close(canceled()) // cuts the connections
		time.Sleep(100 * time.Millisecond)
		_, err := c.Write(w)
		return err
	})
	g := newRig(t, e.target())
	name := func(gpu, rank int, at time.Time) string {
		return fmt.Sprintf("profile-10.0.0.9-gpu%d-rank%d-%s-000.json", gpu, rank, at.Format("20060102-150405"))
	}
	old := name(2, 3, time.Now().Add(-time.Hour))
	write(t, `{"traceEvents":[]}`, e.dir, old)
	g.r.Do(g.capture(1))
	g.wait(1, func(c store.Capture) bool { return strings.Contains(c.Warning, "watching") })
	write(t, `{"traceEvents":[1]}`, e.dir, name(2, 4, time.Now()))
	write(t, `{"traceEvents":[2]}`, e.dir, name(3, 3, time.Now()))
	c := g.done(1)
	if c.State != store.Stored {
		t.Fatalf("%s: %s; %s", c.State, c.Error, c.Hint)
	}
	if !strings.Contains(c.Path, "-gpu2-rank3-") || strings.HasSuffix(c.Path, old) {
		t.Errorf("adopted %q", c.Path)
	}
	if g.content(c.TraceID) != read(t, c.Path) {
		t.Error("the trace is not the file's")
	}
	if got, want := passed(c), "queued asked captured found stored"; got != want {
		t.Errorf("states %q, want %q", got, want)
	}
}

// The engine dies while it writes: what lies there is no trace.
func TestDeepInferCrashes(t *testing.T) {
	t.Parallel()
	var e *engine
	e = newEngine(t, func(c *sim.Capture, w io.Writer) error {
		io.WriteString(w, `{"traceEvents":[{"name":"a","args":{}},`)
		e.m.Close(canceled())
		select {} // as a dead process: the file stays as it is
	})
	g := newRig(t, e.target())
	g.r.Do(g.capture(1))
	c := g.failed(1, "it ends in the middle", "stopped in the middle of writing")
	if !strings.Contains(c.Error, "no result") || c.TraceID != "" {
		t.Errorf("error %q, trace %q", c.Error, c.TraceID)
	}
	if keys, _ := g.waitEvents(1); keys[0] != "chat/rank3" {
		t.Errorf("windows %q", keys)
	}
}

// The engine gives up after its completion wait: it says that no trace comes.
func TestDeepInferSlowExport(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	e := newEngine(t, func(c *sim.Capture, w io.Writer) error {
		<-release
		_, err := c.Write(w)
		return err
	}, hasty)
	g := newRig(t, e.target(), hastily)
	g.r.Do(g.capture(1))
	c := g.state(1, store.PickedUp) // it was not refused within the pickup wait
	if d := c.Times[store.PickedUp].Sub(c.Times[store.Asked]); d < hasty {
		t.Errorf("picked up after %s", d)
	}
	g.wait(1, func(c store.Capture) bool { return strings.Contains(c.Warning, "watching") })
	close(release) // an export that runs already ends
	if c = g.done(1); c.State != store.Stored {
		t.Errorf("%s: %s", c.State, c.Error)
	}
}

// An engine's profiler fails.
func TestDeepInferFails(t *testing.T) {
	t.Parallel()
	e := newEngine(t, func(*sim.Capture, io.Writer) error { return fmt.Errorf("no space left on device") })
	g := newRig(t, e.target())
	g.r.Do(g.capture(1))
	g.failed(1, "no trace appeared", "")
}

func TestDeepInferNotThere(t *testing.T) {
	t.Parallel()
	l := listen(t)
	addr := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	g := newRig(t, Engine{Kind: DeepInfer, Addr: addr, GPU: 2, Rank: 3, Part: -1, OutputDir: dir})
	g.r.Do(g.capture(1))
	g.failed(1, "DEEPINFER_PROFILE_HTTP_ENABLE=1", "nothing was recorded")
	g.eng.Addr, g.eng.Paths = "203.0.113.9:6070", nil
	g.r.Do(g.capture(2))
	g.failed(2, "not on this host", "map the folders")
	g.r.Do(g.capture(3, func(c *store.Capture) { c.Engine.Name = "rank9" }))
	g.failed(3, "has no engine chat/rank9", "configuration")
}

// Cancelled before the engine has taken it, the request is dropped there; after, its file is nobody's.
func TestDeepInferCancel(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	g := newRig(t, e.target())
	e.hang.Lock()
	g.r.Do(g.capture(1))
	g.state(1, store.Asked)
	g.r.Do(cancel(1))
	if c := g.done(1); c.State != store.Cancelled || c.Error != "" || !strings.Contains(c.Warning, "may still record") {
		t.Errorf("%s: %s; warning %q", c.State, c.Error, c.Warning)
	}
	e.hang.Unlock()
	g.r.Do(cancel(2), g.capture(2)) // the cancel may overtake
	if c := g.done(2); c.State != store.Cancelled {
		t.Errorf("%s: %s", c.State, c.Error)
	}
	time.Sleep(50 * time.Millisecond)
	if names := files(t, e.dir); len(names) != 0 {
		t.Errorf("files %q", names)
	}
	g.r.Do(cancel(1)) // comes again: the last state is told again
	if c := g.done(1); c.State != store.Cancelled {
		t.Errorf("%s", c.State)
	}
}

// A collector that was restarted looks for what became of a capture.
func TestDeepInferResumes(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	g := newRig(t, e.target())
	asked := time.Now().Add(-3 * time.Second).Truncate(time.Millisecond)
	for i, at := range []time.Time{asked.Add(-time.Minute), asked.Add(2500 * time.Millisecond)} {
		name := profile.FileName{IP: ip("10.0.0.9"), GPU: 2, Rank: 3, Time: at}.String()
		write(t, fmt.Sprintf(`{"traceEvents":[%d]}`, i), e.dir, name)
	}
	g.r.Do(g.capture(1, func(c *store.Capture) {
		c.State = store.PickedUp
		c.Times[store.Asked], c.Times[store.PickedUp] = asked, asked
	}))
	c := g.done(1)
	if c.State != store.Stored || g.content(c.TraceID) != `{"traceEvents":[1]}` {
		t.Fatalf("%s: %s", c.State, c.Error)
	}
	if !c.Times[store.Asked].Equal(asked) {
		t.Errorf("asked at %s, was %s", c.Times[store.Asked], asked)
	}
	keys, spans := g.waitEvents(1)
	if keys[0] != "chat/rank3" || !spans[0][0].Equal(asked) {
		t.Errorf("windows %v %v", keys, spans)
	}
	if _, err := os.Stat(c.Path); err != nil {
		t.Errorf("the source went: %v", err)
	}
}
