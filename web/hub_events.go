package web

import (
	"context"
	"slices"
	"sync"

	"github.com/stepscope/stepscope/store"
)

// EventKind says what changed.
type EventKind string

// The kinds of events, named as the browser gets them.
const (
	SamplesCame      EventKind = "samples"
	CaptureChanged   EventKind = "capture"
	CollectorChanged EventKind = "collector"
)

// Event tells subscribers that something changed; what it is now is to be read
// from the store or the hub.
type Event struct {
	Kind        EventKind
	Deployments []string           // SamplesCame: who got samples; nil: too many to name
	Capture     int64              // CaptureChanged: its id; 0: too many to name
	State       store.CaptureState // CaptureChanged: the newest state
	Collector   string             // CollectorChanged: its name; "": too many to name
}

// maxPending is how many things of each kind are held for a slow subscriber.
// Beyond it, it is told that anything may have changed.
const maxPending = 256

// subscriber gathers what happened since its last event: a reader that is slow
// gets fewer events, and who publishes never waits for it.
type subscriber struct {
	mu          sync.Mutex
	deployments pending[string, struct{}]
	captures    pending[int64, store.CaptureState]
	collectors  pending[string, struct{}]
	wake        chan struct{} // holds one token while something is pending
}

// pending is a bounded map in order of first arrival.
type pending[K comparable, V any] struct {
	order []K
	value map[K]V
	all   bool // more than fit
}

func (p *pending[K, V]) put(k K, v V) {
	if _, ok := p.value[k]; !ok {
		if p.all || len(p.order) >= maxPending {
			*p = pending[K, V]{all: true}
			return
		}
		p.order = append(p.order, k)
	}
	if p.value == nil {
		p.value = map[K]V{}
	}
	p.value[k] = v
}

// Subscribe returns the changes from now on. The channel is closed when ctx
// ends or the hub stops. A reader may be as slow as it likes: what happens
// meanwhile is coalesced.
func (h *Hub) Subscribe(ctx context.Context) <-chan Event {
	s := &subscriber{wake: make(chan struct{}, 1)}
	out := make(chan Event)
	h.mu.Lock()
	h.subs[s] = struct{}{}
	h.mu.Unlock()
	go func() {
		defer close(out)
		defer func() {
			h.mu.Lock()
			delete(h.subs, s)
			h.mu.Unlock()
		}()
		for {
			select {
			case <-s.wake:
			case <-ctx.Done():
				return
			case <-h.stopped:
				return
			}
			for _, e := range s.take() {
				select {
				case out <- e:
				case <-ctx.Done():
					return
				case <-h.stopped:
					return
				}
			}
		}
	}()
	return out
}

// publish tells all subscribers. It never waits for one.
func (h *Hub) publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		s.put(e)
	}
}

func (s *subscriber) put(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case SamplesCame:
		for _, d := range e.Deployments {
			s.deployments.put(d, struct{}{})
		}
	case CaptureChanged:
		s.captures.put(e.Capture, e.State)
	case CollectorChanged:
		s.collectors.put(e.Collector, struct{}{})
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take empties the subscriber: one event for all deployments, one for each
// capture and collector.
func (s *subscriber) take() (list []Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.deployments; d.all {
		list = append(list, Event{Kind: SamplesCame})
	} else if len(d.order) > 0 {
		slices.Sort(d.order)
		list = append(list, Event{Kind: SamplesCame, Deployments: d.order})
	}
	if s.captures.all {
		list = append(list, Event{Kind: CaptureChanged})
	}
	for _, id := range s.captures.order {
		list = append(list, Event{Kind: CaptureChanged, Capture: id, State: s.captures.value[id]})
	}
	if s.collectors.all {
		list = append(list, Event{Kind: CollectorChanged})
	}
	for _, name := range s.collectors.order {
		list = append(list, Event{Kind: CollectorChanged, Collector: name})
	}
	s.deployments, s.captures, s.collectors = pending[string, struct{}]{}, pending[int64, store.CaptureState]{}, pending[string, struct{}]{}
	return list
}
