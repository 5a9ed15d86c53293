package profile

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Listen opens the port that the config names and serves on it. When that fails, usually because two engines in
// containers with host networking both call their GPU 0, one error is logged and the engine runs on without the
// interface: false.
func (m *Manager) Listen() bool {
	addr := net.JoinHostPort(m.cfg.Host, strconv.Itoa(m.cfg.PortBase+m.cfg.GPU))
	l, err := net.Listen("tcp", addr)
	if err != nil {
		m.cfg.Log.Error("the /profile interface is off: its port could not be opened; free it or choose another port base",
			"address", addr, "gpu", m.cfg.GPU, "rank", m.cfg.Rank, "error", err)
		return false
	}
	return m.Serve(l)
}

// Serve serves on l, which it closes in the end, and returns at once. False: the Manager serves or has ended already,
// and l is closed.
func (m *Manager) Serve(l net.Listener) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.quit:
	default:
		if m.server == nil {
			m.listener = l
			// No WriteTimeout: an answer comes minutes after its request.
			m.server = &http.Server{Handler: m, ReadTimeout: requestWait, IdleTimeout: time.Minute, MaxHeaderBytes: maxBody}
			go m.run(m.server, l)
			return true
		}
	}
	l.Close()
	return false
}

func (m *Manager) run(s *http.Server, l net.Listener) {
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		m.cfg.Log.Error("the /profile interface has ended: its port failed; restart the engine to get it back",
			"address", l.Addr().String(), "error", err)
	}
}

// Addr is the address that the Manager serves on, or "" while the interface is off.
func (m *Manager) Addr() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listener == nil {
		return ""
	}
	return m.listener.Addr().String()
}

// Close ends the interface: requests that still wait are answered, a file that is being written gets its end. When ctx
// is done first, connections are cut and the error is ctx's. The engine may go on stepping.
func (m *Manager) Close(ctx context.Context) error {
	m.once.Do(func() { close(m.quit) })
	m.mu.Lock()
	s := m.server
	m.mu.Unlock()
	if s == nil {
		return nil
	}
	if err := s.Shutdown(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}
