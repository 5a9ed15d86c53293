package profile

import (
	"errors"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// The clock of a bubble starts at this second.
const stampAtStart = "20000101-000000-000"

func nameAt(stamp string) string { return "profile-127.0.0.1-gpu2-rank9-" + stamp + ".json" }

// inBubble runs f as a subtest on a fake clock.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func TestCapture(t *testing.T) {
	inBubble(t, "counts engine steps and answers with the file", func(t *testing.T) {
		r := newRig(t)
		r.step(5) // nothing asked
		c := r.post(`{"num_steps": 3, "output_dir": "/traces"}`)
		c.pending()
		r.p.counts(0, 0)
		time.Sleep(1500 * time.Millisecond)
		r.step(3)
		r.p.counts(1, 0)
		c.pending()
		r.files.want()
		time.Sleep(250 * time.Millisecond)
		r.step(1)
		r.p.counts(1, 1)
		name := nameAt("20000101-000001-750")
		c.answered(http.StatusOK, `{"trace_file":"/traces/`+name+`"}`)
		r.files.want(name, "3 steps")
		r.step(10)
		r.p.counts(1, 1)
	})
	inBubble(t, "defaults", func(t *testing.T) {
		r := newRig(t)
		c := r.post("")
		r.step(20)
		c.pending()
		r.step(1)
		c.answered(http.StatusOK, `{"trace_file":"/tmp/`+nameAt(stampAtStart)+`"}`)
		r.files.want(nameAt(stampAtStart), "20 steps")
	})
	inBubble(t, "one step", func(t *testing.T) {
		r := newRig(t)
		c := r.post(`{"num_steps":1}`)
		r.step(1)
		r.p.counts(1, 0)
		r.step(1)
		r.p.counts(1, 1)
		c.answered(http.StatusOK, "trace_file")
	})
	inBubble(t, "answers only when the file is whole", func(t *testing.T) {
		r := newRig(t)
		gate := make(chan struct{})
		r.p.nextExport = slowExport("late", gate)
		c := r.post(`{"num_steps":1}`)
		r.step(2)
		time.Sleep(9 * time.Minute)
		c.pending()
		close(gate)
		synctest.Wait()
		c.answered(http.StatusOK, "trace_file")
		r.files.want(nameAt(stampAtStart), "late")
	})
	inBubble(t, "relative folders are named in full", func(t *testing.T) {
		r := newRig(t)
		abs, err := filepath.Abs("here")
		if err != nil {
			t.Fatal(err)
		}
		c := r.post(`{"num_steps":1,"output_dir":"here"}`)
		r.step(2)
		c.answered(http.StatusOK, `{"trace_file":"`+filepath.Join(abs, nameAt(stampAtStart))+`"}`)
	})
}

func TestConflict(t *testing.T) {
	inBubble(t, "pending", func(t *testing.T) {
		r := newRig(t)
		a := r.post(`{"num_steps":1}`)
		b := r.post(`{"num_steps":2}`)
		b.answered(http.StatusConflict, textPending)
		a.pending()
		r.step(2)
		a.answered(http.StatusOK, "trace_file")
		r.p.counts(1, 1)
		r.files.want(nameAt(stampAtStart), "1 steps")
	})
	inBubble(t, "running", func(t *testing.T) {
		r := newRig(t)
		a := r.post(`{"num_steps":5}`)
		r.step(1)
		b := r.post(`{"num_steps":2}`)
		b.pending() // the slot is free; only the engine knows of the capture
		r.step(1)
		b.answered(http.StatusConflict, textRunning)
		r.p.counts(1, 0)
		r.step(4)
		a.answered(http.StatusOK, "trace_file")
		r.p.counts(1, 1)
		r.files.want(nameAt(stampAtStart), "5 steps")
	})
	// The slot is looked at before the profiler stops.
	inBubble(t, "taken by the step that ends a capture", func(t *testing.T) {
		r := newRig(t)
		a := r.post(`{"num_steps":1}`)
		r.step(1)
		b := r.post(`{"num_steps":1}`)
		r.step(1)
		a.answered(http.StatusOK, "trace_file")
		b.answered(http.StatusConflict, textRunning)
		r.p.counts(1, 1)
	})
	inBubble(t, "free again after the stop", func(t *testing.T) {
		r := newRig(t)
		a := r.post(`{"num_steps":1}`)
		r.step(2)
		a.answered(http.StatusOK, "trace_file")
		time.Sleep(time.Second)
		b := r.post(`{"num_steps":2}`)
		r.step(3)
		b.answered(http.StatusOK, "trace_file")
		r.p.counts(2, 2)
		r.files.want(nameAt(stampAtStart), "1 steps", nameAt("20000101-000001-000"), "2 steps")
	})
}

func TestPickupTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		start := time.Now()
		a := r.post(`{"num_steps":1}`)
		time.Sleep(30*time.Second - time.Nanosecond)
		synctest.Wait()
		a.pending()
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		a.answered(http.StatusServiceUnavailable, "the engine did not pick the request up within 30s: it will not take effect")
		if d := a.at.Sub(start); d != 30*time.Second {
			t.Errorf("answered after %v, want 30s", d)
		}

		// The event stays set for as long as the engine hangs.
		time.Sleep(time.Hour)
		r.post(`{"num_steps":1}`).answered(http.StatusConflict, textPending)

		r.step(1) // drops the cancelled request
		r.p.counts(0, 0)
		b := r.post(`{"num_steps":1}`)
		r.step(2)
		b.answered(http.StatusOK, "trace_file")
		r.p.counts(1, 1)
	})
}

// A claim and the timer in the same instant: one of them wins and both sides agree on which.
func TestPickupAtTheLastInstant(t *testing.T) {
	outcomes := map[int]int{}
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			c := r.post(`{"num_steps":1}`)
			time.Sleep(30 * time.Second)
			r.rawStep() // without letting the timer's goroutine go first
			synctest.Wait()
			r.step(1)
			select {
			case <-c.done:
			default:
				t.Fatal("no answer")
			}
			outcomes[c.rec.Code]++
			want := 0
			if c.rec.Code == http.StatusOK {
				want = 1
			}
			r.p.counts(want, want)
		})
	}
	if outcomes[http.StatusOK]+outcomes[http.StatusServiceUnavailable] != 200 {
		t.Errorf("answers %v, want 200 or 503 only", outcomes)
	}
}

func TestCompletionTimeout(t *testing.T) {
	const text = "did not finish within 10m0s: no trace will be delivered"
	inBubble(t, "engine hangs in the capture", func(t *testing.T) {
		r := newRig(t)
		c := r.post(`{"num_steps":5}`)
		time.Sleep(29 * time.Second)
		r.step(3)
		picked := time.Now()
		time.Sleep(600 * time.Second)
		synctest.Wait()
		c.answered(http.StatusServiceUnavailable, text)
		if d := c.at.Sub(picked); d != 600*time.Second {
			t.Errorf("answered %v after pickup, want 600s", d)
		}
		// The HTTP side starts the export, and it has gone: the capture ends without a file.
		r.step(3)
		r.p.counts(1, 1)
		r.files.want()
		d := r.post(`{"num_steps":1}`)
		r.step(2)
		d.answered(http.StatusOK, "trace_file")
		r.p.counts(2, 2)
	})
	inBubble(t, "export under way ends", func(t *testing.T) {
		r := newRig(t)
		gate := make(chan struct{})
		r.p.nextExport = slowExport("whole", gate)
		c := r.post(`{"num_steps":1}`)
		r.step(2)
		time.Sleep(600 * time.Second)
		synctest.Wait()
		c.answered(http.StatusServiceUnavailable, text)
		r.files.want(nameAt(stampAtStart), "")
		close(gate)
		synctest.Wait()
		r.files.want(nameAt(stampAtStart), "whole")
	})
	inBubble(t, "export still queued is withdrawn", func(t *testing.T) {
		r := newRig(t)
		gate := make(chan struct{})
		a, b := twoCaptures(r, gate)
		time.Sleep(599 * time.Second) // a second has passed since the first pickup
		synctest.Wait()
		a.answered(http.StatusServiceUnavailable, text)
		b.pending()
		time.Sleep(time.Second)
		synctest.Wait()
		b.answered(http.StatusServiceUnavailable, text)
		close(gate)
		synctest.Wait()
		r.files.want(nameAt(stampAtStart), "first")
	})
}

// twoCaptures ends two captures of which the first one's export waits for gate and the second one's queues behind it.
func twoCaptures(r *rig, gate chan struct{}) (a, b *call) {
	r.p.nextExport = slowExport("first", gate)
	a = r.post(`{"num_steps":2}`)
	r.step(2)
	// Its folder is ready before the first export takes the worker, its turn in the slot comes after.
	hold := make(chan struct{})
	r.files.mu.Lock()
	r.files.holdNext = hold
	r.files.mu.Unlock()
	b = r.post(`{"num_steps":2}`)
	r.step(1) // the first capture ends; its export queues behind the folder
	close(hold)
	synctest.Wait()
	time.Sleep(time.Second)
	r.step(3)
	r.p.counts(2, 2)
	return a, b
}

func TestExportsQueue(t *testing.T) {
	inBubble(t, "one after the other", func(t *testing.T) {
		r := newRig(t)
		gate := make(chan struct{})
		a, b := twoCaptures(r, gate)
		a.pending()
		b.pending()
		r.files.want(nameAt(stampAtStart), "")
		close(gate)
		synctest.Wait()
		a.answered(http.StatusOK, nameAt(stampAtStart))
		b.answered(http.StatusOK, nameAt("20000101-000001-000"))
		r.files.want(nameAt(stampAtStart), "first", nameAt("20000101-000001-000"), "2 steps")
	})
	inBubble(t, "a request during an export is accepted", func(t *testing.T) {
		r := newRig(t)
		gate := make(chan struct{})
		r.p.nextExport = slowExport("first", gate)
		a := r.post(`{"num_steps":1}`)
		r.step(2)
		time.Sleep(time.Second)
		b := r.post(`{"num_steps":1}`) // its folder waits for the worker
		r.step(2)
		time.Sleep(time.Minute) // longer than the pickup wait, which has not begun
		b.pending()
		r.p.counts(1, 1)
		close(gate)
		synctest.Wait()
		a.answered(http.StatusOK, "trace_file")
		r.step(2)
		b.answered(http.StatusOK, "trace_file")
		r.files.want(nameAt(stampAtStart), "first", nameAt("20000101-000101-000"), "1 steps")
	})
}

func TestProfilerFails(t *testing.T) {
	inBubble(t, "start", func(t *testing.T) {
		r := newRig(t)
		r.p.startErr = errors.New("CUPTI is taken")
		c := r.post(`{"num_steps":1}`)
		r.step(1)
		c.answered(http.StatusInternalServerError, "the profiler did not start: CUPTI is taken")
		r.p.startErr = nil
		d := r.post(`{"num_steps":1}`)
		r.step(2)
		d.answered(http.StatusOK, "trace_file")
		r.p.counts(1, 1)
	})
	inBubble(t, "stop", func(t *testing.T) {
		r := newRig(t)
		r.p.stopErr = errors.New("buffer lost")
		c := r.post(`{"num_steps":1}`)
		r.step(2)
		c.answered(http.StatusInternalServerError, "the profiler did not stop: buffer lost")
		r.files.want()
		r.p.stopErr = nil
		d := r.post(`{"num_steps":1}`)
		r.step(2)
		d.answered(http.StatusOK, "trace_file")
		r.p.counts(2, 2)
	})
}
