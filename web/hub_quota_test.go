package web

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views/i18n"
)

// So many captures within a day and no more, also over a restart of the server. What reached no engine does not count.
func TestCaptureQuota(t *testing.T) {
	r := newRig(t, store.Options{})
	_, err := r.hello("c", "node1", 0)
	r.must(err)
	r.engines("c", 1, 8, "rank0", "rank1")
	r.opt.Quota, r.opt.Cooldown = 3, -1
	seq := uint64(1)
	pass := func(d time.Duration) {
		t.Helper()
		r.pass(d)
		seq++
		r.engines("c", seq, 8, "rank0", "rank1")
	}
	ask := func(engines ...string) []store.Capture {
		t.Helper()
		made, err := r.ask(wire.CaptureRequest{Engines: engines, Force: true})
		r.must(err)
		return made
	}
	end := func(c store.Capture, reached bool) {
		t.Helper()
		if reached {
			r.must(r.update("c", store.Capture{ID: c.ID, State: store.Asked}))
		}
		r.must(r.update("c", store.Capture{ID: c.ID, State: store.Failed, Error: "e"}))
	}
	refused := func(want string, engines ...string) {
		t.Helper()
		_, err := r.ask(wire.CaptureRequest{Engines: engines, Force: true})
		var he *HTTPError
		if !errors.As(err, &he) || he.Status != http.StatusTooManyRequests || !errors.Is(err, store.ErrInvalid) {
			t.Fatalf("error %v", err)
		}
		message, hint := he.In(i18n.English)
		if text := message + "; " + hint; !strings.HasPrefix(text, want) || !strings.HasSuffix(text, "--capture-quota") {
			t.Errorf("%q, want %q", text, want)
		}
	}
	end(ask("rank0")[0], true) // at 0:00
	pass(time.Hour)
	end(ask("rank0")[0], true) // at 1:00
	end(ask("rank0")[0], false)
	refused("2 captures were asked for within 24 hours, of 3 that are allowed; 2 more would be too many; ask again in 23h0m0s, name fewer", "rank0", "rank1")
	end(ask("rank0")[0], true)
	r.restart()
	r.opt.Quota, r.opt.Cooldown = 3, -1
	pass(0)
	refused("3 captures were asked for within 24 hours, of 3 that are allowed; 1 more", "rank0")
	pass(23 * time.Hour)
	end(ask("rank1")[0], true) // in the place of the first
	r.opt.Quota = 1
	refused("2 engines at once, and 1 captures are allowed within 24 hours", "rank0", "rank1")
}

// Without a quota, what was asked for is forgotten after a day, too.
func TestNoCaptureQuota(t *testing.T) {
	r := newRig(t, store.Options{})
	_, err := r.hello("c", "node1", 0)
	r.must(err)
	r.opt.Cooldown = -1
	for day := range 3 {
		r.engines("c", uint64(day+1), 8, "rank0")
		made, err := r.ask(wire.CaptureRequest{Engines: []string{"rank0"}, Force: true})
		r.must(err)
		r.must(r.update("c", store.Capture{ID: made[0].ID, State: store.Asked}))
		r.must(r.update("c", store.Capture{ID: made[0].ID, State: store.Failed, Error: "e"}))
		if n := len(r.captures.asked); n != 1 {
			t.Errorf("day %d: %d captures are remembered, want that day's one", day, n)
		}
		r.pass(quotaTime)
	}
}
