package profile

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"time"
)

// What callers read beside the status. The two texts of 503 tell apart what the status can't.
const (
	textPending = "a capture is pending: the engine has not picked the last request up yet; try again later"
	textRunning = "a capture is running; try again later"

	textNotPickedUp = "the engine did not pick the request up within %v: it will not take effect"
	textNoTrace     = "the capture was picked up but did not finish within %v: no trace will be delivered"

	textClosingBefore = "the engine is shutting down: the request will not take effect"
	textClosingAfter  = "the engine is shutting down: no trace will be delivered"
)

// answer is the body of every answer: a trace's path, or what went wrong.
type answer struct {
	TraceFile string `json:"trace_file,omitempty"`
	Detail    string `json:"detail,omitempty"`
}

// ServeHTTP answers POST and GET /profile, once the trace is on disk or it is clear that there will be none.
func (m *Manager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/profile":
		send(w, http.StatusNotFound, answer{Detail: "Not Found"})
	case r.Method != http.MethodPost && r.Method != http.MethodGet:
		w.Header().Set("Allow", "GET, POST")
		send(w, http.StatusMethodNotAllowed, answer{Detail: "Method Not Allowed"})
	case foreignPage(r):
		send(w, http.StatusForbidden, answer{Detail: "another site's page can't start a capture"})
	default:
		q, err := readRequest(r, m.cfg.OutputDir)
		if err != nil {
			send(w, http.StatusBadRequest, answer{Detail: err.Error()})
			return
		}
		if status, a := m.serve(r.Context(), q); status != 0 {
			send(w, status, a)
		}
	}
}

// foreignPage reports whether a browser sent r for a page of another site. GET starts a capture too, so any page that
// someone opens on this host could.
func foreignPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

// serve takes one request through its folder, pickup and completion. Status 0: the client has gone, nothing to say.
func (m *Manager) serve(client context.Context, q Request) (int, answer) {
	// The answer must name the file wherever the engine was started.
	dir, err := filepath.Abs(q.OutputDir)
	if err != nil {
		return http.StatusBadRequest, answer{Detail: fmt.Sprintf("output_dir can't be used: %v", err)}
	}
	prepared := m.io.begin(func() error { return m.cfg.Files.Prepare(dir) }, client.Done())
	if prepared == nil {
		if client.Err() != nil {
			return 0, answer{}
		}
		return http.StatusServiceUnavailable, answer{Detail: textClosingBefore}
	}
	if err := <-prepared; err != nil {
		return http.StatusBadRequest, answer{Detail: fmt.Sprintf("output_dir can't be created or written: %v", err)}
	}

	c := newCapture(q.NumSteps, dir)
	if !m.box.put(c) {
		return http.StatusConflict, answer{Detail: textPending}
	}
	if status, a, ok := m.awaitPickup(client, c); !ok {
		return status, a
	}
	return m.awaitTrace(c)
}

// awaitPickup returns ok once the engine has claimed c, or the answer of a request that was cancelled in time.
func (m *Manager) awaitPickup(client context.Context, c *capture) (status int, a answer, ok bool) {
	timer := time.NewTimer(m.cfg.PickupWait)
	defer timer.Stop()
	select {
	case <-c.picked:
		return 0, answer{}, true
	case <-timer.C:
		status, a = http.StatusServiceUnavailable, answer{Detail: fmt.Sprintf(textNotPickedUp, m.cfg.PickupWait)}
	case <-client.Done():
	case <-m.quit:
		status, a = http.StatusServiceUnavailable, answer{Detail: textClosingBefore}
	}
	// Too late to cancel means that the engine has claimed it at this very moment.
	return status, a, !c.cancel()
}

// awaitTrace waits for a claimed capture and has its file written. It doesn't look at the client: the capture runs to its
// end for whoever finds the file.
func (m *Manager) awaitTrace(c *capture) (int, answer) {
	deadline, cancel := context.WithTimeout(context.Background(), m.cfg.CompletionWait)
	defer cancel()
	late := answer{Detail: fmt.Sprintf(textNoTrace, m.cfg.CompletionWait)}

	var got reply
	select {
	case got = <-c.reply:
	case <-deadline.Done():
		return http.StatusServiceUnavailable, late
	case <-m.quit:
		return http.StatusServiceUnavailable, answer{Detail: textClosingAfter}
	}
	if got.export == nil {
		return got.status, answer{Detail: got.detail}
	}

	// Giving up here withdraws an export that still queues; one that the worker has begun ends in its own time.
	written := m.io.begin(func() error { return m.write(got.path, got.export) }, deadline.Done())
	if written == nil {
		if deadline.Err() != nil {
			return http.StatusServiceUnavailable, late
		}
		return http.StatusServiceUnavailable, answer{Detail: textClosingAfter}
	}
	select {
	case err := <-written:
		if err != nil {
			return http.StatusInternalServerError, answer{Detail: fmt.Sprintf("the trace could not be written: %v", err)}
		}
		return http.StatusOK, answer{TraceFile: got.path}
	case <-deadline.Done():
		return http.StatusServiceUnavailable, late
	}
}

// send writes one JSON answer. An error means that nobody listens any more, and there is nobody to tell.
func send(w http.ResponseWriter, status int, a answer) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(a)
}
