package profile

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The client goes away at each point of a request's way.
func TestClientGone(t *testing.T) {
	inBubble(t, "while the folder waits for the worker", func(t *testing.T) {
		r := newRig(t)
		gate := make(chan struct{})
		r.p.nextExport = slowExport("first", gate)
		a := r.post(`{"num_steps":1}`)
		r.step(2)
		b := r.post(`{"num_steps":1,"output_dir":"/never"}`)
		b.gone()
		synctest.Wait()
		b.silent()
		close(gate)
		synctest.Wait()
		a.answered(http.StatusOK, "trace_file")
		r.step(2)
		r.p.counts(1, 1)
		if got := r.files.prepared; len(got) != 1 || got[0] != "/tmp" {
			t.Errorf("prepared %q, want /tmp only", got)
		}
	})
	inBubble(t, "while its folder is made", func(t *testing.T) {
		r := newRig(t)
		hold := make(chan struct{})
		r.files.holdNext = hold
		c := r.post(`{"num_steps":1}`)
		c.gone()
		close(hold)
		synctest.Wait()
		c.silent()
		r.step(2)
		r.p.counts(0, 0)
	})
	inBubble(t, "in the slot", func(t *testing.T) {
		r := newRig(t)
		c := r.post(`{"num_steps":1}`)
		c.gone()
		synctest.Wait()
		c.silent()
		// It lies there until the engine looks.
		r.post(`{"num_steps":1}`).answered(http.StatusConflict, textPending)
		r.step(2)
		r.p.counts(0, 0)
		r.files.want()
		d := r.post(`{"num_steps":1}`)
		r.step(2)
		d.answered(http.StatusOK, "trace_file")
	})
	inBubble(t, "in the slot while a capture runs", func(t *testing.T) {
		r := newRig(t)
		a := r.post(`{"num_steps":3}`)
		r.step(1)
		b := r.post(`{"num_steps":1}`)
		b.gone()
		synctest.Wait()
		b.silent()
		r.step(3)
		a.answered(http.StatusOK, "trace_file")
		r.p.counts(1, 1)
	})
	inBubble(t, "during the capture", func(t *testing.T) {
		r := newRig(t)
		c := r.post(`{"num_steps":2}`)
		r.step(1)
		c.gone()
		synctest.Wait()
		r.step(2)
		r.p.counts(1, 1)
		r.files.want(nameAt(stampAtStart), "2 steps")
	})
	inBubble(t, "during the export", func(t *testing.T) {
		r := newRig(t)
		gate := make(chan struct{})
		r.p.nextExport = slowExport("whole", gate)
		c := r.post(`{"num_steps":1}`)
		r.step(2)
		c.gone()
		time.Sleep(time.Minute)
		close(gate)
		synctest.Wait()
		r.files.want(nameAt(stampAtStart), "whole")
	})
	inBubble(t, "while the export queues", func(t *testing.T) {
		r := newRig(t)
		gate := make(chan struct{})
		_, b := twoCaptures(r, gate)
		b.gone()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		r.files.want(nameAt(stampAtStart), "first", nameAt("20000101-000001-000"), "2 steps")
	})
}

func TestExportFails(t *testing.T) {
	inBubble(t, "in the middle", func(t *testing.T) {
		r := newRig(t)
		r.p.nextExport = func(w io.Writer) error {
			if _, err := io.WriteString(w, "half"); err != nil {
				return err
			}
			return errDisk
		}
		c := r.post(`{"num_steps":1}`)
		r.step(2)
		c.answered(http.StatusInternalServerError, "the trace could not be written: no space left on device")
		r.files.want()
		if want := "/tmp/" + nameAt(stampAtStart); len(r.files.removed) != 1 || r.files.removed[0] != want {
			t.Errorf("removed %q, want %s", r.files.removed, want)
		}
	})
	inBubble(t, "file can't be created", func(t *testing.T) {
		r := newRig(t)
		c := r.post(`{"num_steps":1}`)
		r.files.mu.Lock()
		r.files.createErr = errDisk
		r.files.mu.Unlock()
		r.step(2)
		c.answered(http.StatusInternalServerError, "no space left on device")
		if len(r.files.removed) != 0 {
			t.Errorf("removed %q, which it had not created", r.files.removed)
		}
	})
	inBubble(t, "name is taken", func(t *testing.T) {
		fixed := time.Date(2026, 3, 2, 9, 5, 7, 41e6, time.UTC)
		r := newRig(t, func(c *Config) { c.Now = func() time.Time { return fixed } })
		a := r.post(`{"num_steps":1}`)
		r.step(2)
		b := r.post(`{"num_steps":2}`)
		r.step(3)
		a.answered(http.StatusOK, nameAt("20260302-090507-041"))
		b.answered(http.StatusInternalServerError, "file already exists")
		r.files.want(nameAt("20260302-090507-041"), "1 steps")
	})
}

func TestClose(t *testing.T) {
	inBubble(t, "before pickup", func(t *testing.T) {
		r := newRig(t)
		c := r.post(`{"num_steps":1}`)
		r.close()
		synctest.Wait()
		c.answered(http.StatusServiceUnavailable, "shutting down: the request will not take effect")
		r.step(2)
		r.p.counts(0, 0)
		r.post(`{"num_steps":1}`).answered(http.StatusServiceUnavailable, "will not take effect")
	})
	inBubble(t, "during the capture", func(t *testing.T) {
		r := newRig(t)
		c := r.post(`{"num_steps":5}`)
		r.step(2)
		r.close()
		synctest.Wait()
		c.answered(http.StatusServiceUnavailable, "shutting down: no trace will be delivered")
		r.step(5) // the engine may go on; nobody writes its capture
		r.p.counts(1, 1)
		r.files.want()
	})
	inBubble(t, "during an export, with another queued", func(t *testing.T) {
		r := newRig(t)
		gate := make(chan struct{})
		a, b := twoCaptures(r, gate)
		r.close()
		synctest.Wait()
		b.answered(http.StatusServiceUnavailable, "shutting down: no trace will be delivered")
		a.pending()
		close(gate)
		synctest.Wait()
		a.answered(http.StatusOK, "trace_file")
		r.files.want(nameAt(stampAtStart), "first")
	})
}

// Many clients of little patience and one engine, in parallel for real: every request ends in exactly one way, every
// capture has one file.
func TestManyClients(t *testing.T) {
	var seq atomic.Int64
	r := newRig(t, func(c *Config) {
		c.Now = func() time.Time { return time.UnixMilli(seq.Add(1)).UTC() }
	})
	stop := make(chan struct{})
	engine := make(chan struct{})
	go func() {
		defer close(engine)
		for {
			select {
			case <-stop:
				if r.p.running {
					r.rawStep()
					continue
				}
				return
			default:
				r.rawStep()
			}
		}
	}()

	const clients, each = 8, 100
	var ok, busy, gone atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for j := range each {
				c := r.start(http.MethodPost, "/profile", `{"num_steps":2}`)
				if (i+j)%3 == 0 {
					c.gone()
				}
				select {
				case <-c.done:
				case <-time.After(25 * time.Second):
					t.Error("a request was lost")
					return
				}
				switch {
				case c.rec.Body.Len() == 0:
					gone.Add(1)
				case c.rec.Code == http.StatusOK:
					ok.Add(1)
				case c.rec.Code == http.StatusConflict:
					busy.Add(1)
				default:
					t.Errorf("answered %d %s", c.rec.Code, c.rec.Body)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	<-engine
	if sum := ok.Load() + busy.Load() + gone.Load(); sum != clients*each {
		t.Errorf("%d ended, want %d", sum, clients*each)
	}
	if ok.Load() == 0 || busy.Load() == 0 || gone.Load() == 0 {
		t.Errorf("ok %d, busy %d, gone %d: a way was never taken", ok.Load(), busy.Load(), gone.Load())
	}
	// Whoever was claimed got an answer, client or not.
	r.p.counts(int(ok.Load()), int(ok.Load()))
	if len(r.files.data) != int(ok.Load()) {
		t.Errorf("%d files, want %d", len(r.files.data), ok.Load())
	}
	for path, data := range r.files.data {
		if data.String() != "2 steps" {
			t.Errorf("%s: %q", path, data)
		}
	}
}

func TestWorkerRunsNothingAfterGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorker()
		gate := make(chan struct{})
		first := w.begin(func() error { <-gate; return errors.New("first") }, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if w.begin(func() error { t.Error("ran"); return nil }, ctx.Done()) != nil {
			t.Error("a job was begun beside another one")
		}
		close(gate)
		if err := <-first; err == nil || err.Error() != "first" {
			t.Errorf("got %v, want the first job's error", err)
		}
		close(w.quit)
		synctest.Wait()
		if w.begin(func() error { t.Error("ran"); return nil }, nil) != nil {
			t.Error("a job was begun after the end")
		}
	})
}
