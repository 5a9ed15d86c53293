package profile

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync"
	"time"
)

// Profiler records what the engine does. It is bound to the thread that runs it: only [Manager.Step] calls it, between
// steps, never twice at once.
type Profiler interface {
	// Start begins to record; Stop will come after that many steps. After an error there is no Stop.
	Start(steps int) error
	// Stop ends the recording and returns what writes it. The engine waits meanwhile, so writing is left to the Export.
	Stop() (Export, error)
}

// Export writes a finished recording. It is called at most once, on the IO worker, while the engine goes on; never when
// nobody waits for the file any more.
type Export func(w io.Writer) error

// Config is what a [Manager] needs to know. Zero values mean the defaults named in brackets.
type Config struct {
	Host     string     // address to listen on [127.0.0.1]; the interface has no authentication
	PortBase int        // the port is this plus GPU [DefaultPortBase]
	GPU      int        // driver GPU's id
	Rank     int        // global rank
	IP       netip.Addr // the node's address in file names [127.0.0.1]

	OutputDir string // folder of requests that name none [DefaultOutputDir]

	PickupWait     time.Duration // [DefaultPickupWait]
	CompletionWait time.Duration // [DefaultCompletionWait]

	Files Files            // [Disk]
	Now   func() time.Time // clock of file names [time.Now]
	Log   *slog.Logger     // [slog.Default]
}

// normal returns the config with defaults filled in.
func (c Config) normal() Config {
	if c.Host == "" {
		c.Host = "127.0.0.1"
	}
	if c.PortBase == 0 {
		c.PortBase = DefaultPortBase
	}
	if !c.IP.IsValid() {
		c.IP = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	if c.OutputDir == "" {
		c.OutputDir = DefaultOutputDir
	}
	if c.PickupWait == 0 {
		c.PickupWait = DefaultPickupWait
	}
	if c.CompletionWait == 0 {
		c.CompletionWait = DefaultCompletionWait
	}
	if c.Files == nil {
		c.Files = Disk{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Manager is the engine's side of /profile. It is an [http.Handler]; [Manager.Listen] gives it a port of its own.
type Manager struct {
	cfg      Config
	profiler Profiler
	box      mailbox
	io       *worker
	quit     chan struct{}
	once     sync.Once

	// The engine's own, touched by Step only.
	active *capture
	left   int // steps that active has yet to see the end of

	mu       sync.Mutex
	server   *http.Server // nil while the interface is off
	listener net.Listener
}

// NewManager returns a Manager without an open port. Close it after use.
func NewManager(cfg Config, p Profiler) *Manager {
	w := newWorker()
	return &Manager{cfg: cfg.normal(), profiler: p, io: w, quit: w.quit}
}

// Step is the engine's share. Call it at the very start of every engine step, idle ones too, always from the goroutine
// that runs the engine. Without a request it costs one atomic load and it never waits: not for a request, a listener or
// a disk.
func (m *Manager) Step() {
	if c := m.box.take(); c != nil {
		m.begin(c)
	}
	if m.active == nil {
		return
	}
	// The capture of n steps that began with this call ends at the start of the nth call after it.
	if m.left == 0 {
		m.finish()
		return
	}
	m.left--
}

// begin starts a capture, unless its client has gone or another one runs.
func (m *Manager) begin(c *capture) {
	if !c.claim() {
		return
	}
	if m.active != nil {
		c.reply <- reply{status: http.StatusConflict, detail: textRunning}
		return
	}
	if err := m.profiler.Start(c.steps); err != nil {
		c.reply <- reply{status: http.StatusInternalServerError, detail: fmt.Sprintf("the profiler did not start: %v", err)}
		return
	}
	m.active, m.left = c, c.steps
}

// finish stops the profiler and hands what it recorded to the HTTP side, whether or not that still listens.
func (m *Manager) finish() {
	c := m.active
	m.active = nil
	export, err := m.profiler.Stop()
	if err != nil {
		c.reply <- reply{status: http.StatusInternalServerError, detail: fmt.Sprintf("the profiler did not stop: %v", err)}
		return
	}
	name := FileName{IP: m.cfg.IP, GPU: m.cfg.GPU, Rank: m.cfg.Rank, Time: m.cfg.Now()}
	c.reply <- reply{export: export, path: filepath.Join(c.dir, name.String())}
}

// write is the IO worker's job: the whole file, or none.
func (m *Manager) write(path string, export Export) error {
	f, err := m.cfg.Files.Create(path)
	if err != nil {
		return err
	}
	if err = errors.Join(export(f), f.Close()); err != nil {
		// A cut trace under a whole one's name would mislead whoever looks for it.
		return errors.Join(err, m.cfg.Files.Remove(path))
	}
	return nil
}
