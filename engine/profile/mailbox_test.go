package profile

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Wrong orders on either side lose a request, or let a second one overwrite the first: both leave a producer waiting for
// a pickup that never comes.
func TestMailboxLosesNothing(t *testing.T) {
	const producers, each = 4, 2000
	var box mailbox
	var put, taken, refused atomic.Int64
	stop := make(chan struct{})
	engine := make(chan struct{})
	go func() {
		defer close(engine)
		for {
			if c := box.take(); c != nil {
				taken.Add(1)
				if !c.claim() {
					t.Error("a request was taken twice, or cancelled by nobody")
				}
			}
			select {
			case <-stop:
				return
			default:
				runtime.Gosched()
			}
		}
	}()
	var wg sync.WaitGroup
	for range producers {
		wg.Go(func() {
			for range each {
				c := newCapture(1, "")
				for !box.put(c) {
					refused.Add(1)
					runtime.Gosched()
				}
				put.Add(1)
				select {
				case <-c.picked:
				case <-time.After(20 * time.Second):
					t.Error("a request was lost between slot and event")
					return
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	<-engine
	if put.Load() != producers*each || taken.Load() != put.Load() {
		t.Errorf("put %d, taken %d, want both %d", put.Load(), taken.Load(), producers*each)
	}
	if refused.Load() == 0 {
		t.Error("no producer ever met a full slot: the test tested nothing")
	}
}

// The orders, one by one: the other side moves exactly between the two writes.
func TestMailboxOrders(t *testing.T) {
	type moves struct{ put, taken []*capture }
	check := func(name string, m moves) {
		t.Helper()
		if len(m.put) != len(m.taken) {
			t.Fatalf("%s: %d requests accepted, %d taken", name, len(m.put), len(m.taken))
		}
		for i := range m.put {
			if m.put[i] != m.taken[i] {
				t.Errorf("%s: request %d was taken as another one", name, i)
			}
		}
	}
	play := func(name string, f func(put func(), take func(), between func(func()))) {
		t.Helper()
		var m moves
		var box mailbox
		put := func() {
			if c := newCapture(1, ""); box.put(c) {
				m.put = append(m.put, c)
			}
		}
		take := func() {
			if c := box.take(); c != nil {
				m.taken = append(m.taken, c)
			}
		}
		f(put, take, func(g func()) {
			box.between = func() {
				box.between = nil
				g()
			}
		})
		take()
		take()
		check(name, m)
	}
	play("engine looks while a request is written", func(put, take func(), between func(func())) {
		between(take)
		put()
		put()
	})
	play("request comes while the engine takes", func(put, take func(), between func(func())) {
		put()
		between(put)
		take()
		put()
	})
	play("request comes while the engine finds nothing", func(put, take func(), between func(func())) {
		between(put)
		take()
		between(func() {})
		put()
	})
}

func TestMailboxKeepsOne(t *testing.T) {
	var box mailbox
	a, b := newCapture(1, "a"), newCapture(1, "b")
	if box.take() != nil {
		t.Error("an empty mailbox gave something")
	}
	if !box.put(a) || box.put(b) {
		t.Error("the first request must fit and the second must not")
	}
	if got := box.take(); got != a {
		t.Errorf("took %v, want the first request", got)
	}
	if box.take() != nil {
		t.Error("a request was taken twice")
	}
	if !box.put(b) || box.take() != b {
		t.Error("an emptied mailbox must work again")
	}
}

// Whoever switches first decides, and exactly one does.
func TestClaimOrCancel(t *testing.T) {
	claimed, dropped := 0, 0
	for range 2000 {
		c := newCapture(1, "")
		var cancel bool
		var wg sync.WaitGroup
		wg.Go(func() { cancel = c.cancel() })
		claim := c.claim()
		wg.Wait()
		if claim == cancel {
			t.Fatalf("claimed %v and cancelled %v", claim, cancel)
		}
		select {
		case <-c.picked:
			if !claim {
				t.Fatal("a cancelled request counts as picked up")
			}
			claimed++
		default:
			dropped++
		}
		if c.claim() || c.cancel() {
			t.Fatal("the switch turned twice")
		}
	}
	if claimed+dropped != 2000 || claimed == 0 {
		t.Errorf("claimed %d, dropped %d", claimed, dropped)
	}
}
