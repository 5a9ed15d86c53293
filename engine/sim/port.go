package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/engine/profile"
)

// ProfileOptions say whether and where the engines of a fleet answer /profile.
type ProfileOptions struct {
	Host      string // empty: loopback; the interface has no authentication
	PortBase  int    // an engine's port is this plus its GPU; 0: no interface
	OutputDir string // of requests that name none; empty: [profile.DefaultOutputDir]
}

// port is an engine's /profile interface with the faults that it suffers. Its methods run on the manager's IO worker unless
// they say otherwise.
type port struct {
	profile.Disk
	engine  *Engine
	manager *profile.Manager
	log     *slog.Logger
	taken   net.Listener  // the stranger on the port
	ended   chan struct{} // closed when the fleet ends
	step    atomic.Int64  // of the engine
	crashed atomic.Bool
}

func newPort(e *Engine, opt ProfileOptions, log *slog.Logger) *port {
	p := &port{engine: e, log: log, ended: make(chan struct{})}
	p.manager = profile.NewManager(profile.Config{
		Host: opt.Host, PortBase: opt.PortBase, GPU: e.cfg.GPU, Rank: e.cfg.Rank, OutputDir: opt.OutputDir,
		Files: p, Now: e.Wall, Log: log,
	}, e.Profiler(p.export))
	e.Attach(p.manager)
	return p
}

// listen opens the engine's port. That it cannot be had is logged, not returned: the engine runs on without the interface.
func (p *port) listen(opt ProfileOptions) {
	cfg := &p.engine.cfg
	if _, ok := active(cfg.Deployment.Faults, faultPort, 0); ok {
		host := opt.Host
		if host == "" {
			host = "127.0.0.1"
		}
		// An error means that it is taken already.
		if l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(opt.PortBase+cfg.GPU))); err == nil {
			p.taken = l
			// It answers, as other servers do: a caller is not to be left hanging. Serve ends with the listener.
			go func() { _ = (&http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: closeWait}).Serve(l) }()
		}
	}
	if p.manager.Listen() {
		p.log.Info("/profile is open", "address", p.manager.Addr(), "gpu", cfg.GPU, "rank", cfg.Rank)
	}
}

// closeWait is how long the end of a fleet waits for traces that are being written.
const closeWait = 10 * time.Second

// close ends the interface. The fleet calls it.
func (p *port) close() {
	close(p.ended)
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if err := p.manager.Close(ctx); err != nil {
		p.log.Warn("/profile closed before its answers were out", "rank", p.engine.cfg.Rank, "error", err)
	}
	if p.taken != nil {
		p.taken.Close()
	}
}

func (p *port) fault(kind string) (Fault, bool) {
	return active(p.engine.cfg.Deployment.Faults, kind, p.step.Load())
}

var errRefused = errors.New("no space left on device (a fault that was asked for)")

// Prepare is the disk's, unless requests are to be refused.
func (p *port) Prepare(dir string) error {
	if _, ok := p.fault(faultRefuse); ok {
		return fmt.Errorf("%s: %w", dir, errRefused)
	}
	return p.Disk.Prepare(dir)
}

// Remove is the disk's, but the dead don't tidy up.
func (p *port) Remove(path string) error {
	if p.crashed.Load() {
		return nil
	}
	return p.Disk.Remove(path)
}

func (p *port) export(c *Capture, w io.Writer) error {
	if f, ok := p.fault(faultSlow); ok {
		select {
		case <-time.After(f.For):
		case <-p.ended:
		}
	}
	if _, ok := p.fault(faultCrash); ok {
		return p.crash(c, w)
	}
	truth, err := c.Write(w)
	if err != nil || !p.engine.cfg.Deployment.Trace.Truth {
		return err
	}
	named, ok := w.(interface{ Name() string })
	if !ok {
		return errors.New("truth: the trace is not written to a file")
	}
	f, err := p.Create(named.Name() + truthSuffix)
	if err != nil {
		return err
	}
	e := json.NewEncoder(f)
	e.SetEscapeHTML(false) // kernel names are full of <>
	e.SetIndent("", " ")
	return errors.Join(e.Encode(truth), f.Close())
}

// truthSuffix is added to a trace's name for the file that says what was put in.
const truthSuffix = ".truth"

var errCrash = errors.New("the engine crashed (a fault that was asked for)")

// crash writes half a trace and takes the engine down: it steps no more and its connections are lost.
func (p *port) crash(c *Capture, w io.Writer) error {
	truth, err := c.Write(io.Discard)
	if err != nil {
		return err
	}
	_, err = c.Write(&cutter{w, truth.Bytes / 2})
	p.crashed.Store(true)
	p.log.Error("engine crashed while it wrote a trace", "rank", p.engine.cfg.Rank, "gpu", p.engine.cfg.GPU)
	now, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Join(err, p.manager.Close(now))
}

// cutter passes on so many bytes and then fails.
type cutter struct {
	w    io.Writer
	left int64
}

func (c *cutter) Write(b []byte) (int, error) {
	if int64(len(b)) <= c.left {
		n, err := c.w.Write(b)
		c.left -= int64(n)
		return n, err
	}
	n, err := c.w.Write(b[:c.left])
	c.left -= int64(n)
	if err == nil {
		err = errCrash
	}
	return n, err
}
