package ledger

import "time"

// entry is one sample of a window.
type entry[T any] struct {
	at   time.Time
	step int64
	load T
}

// window is a queue of samples in the order of their steps, in a ring that grows to the
// window's age and then stays: appending and trimming are O(1) amortised and free of
// allocation in the steady state. Sums are taken when a line is due, not kept running,
// so that rounding never accumulates.
type window[T any] struct {
	ring    []entry[T]
	head, n int
}

// add drops the entries older than age steps, then appends one.
func (w *window[T]) add(at time.Time, step, age int64, load T) {
	w.trim(step, age)
	if w.n == len(w.ring) {
		w.grow()
	}
	w.ring[(w.head+w.n)%len(w.ring)] = entry[T]{at, step, load}
	w.n++
}

// trim keeps the entries with step − entry.step ≤ age.
func (w *window[T]) trim(step, age int64) {
	for w.n > 0 && step-w.ring[w.head].step > age {
		w.head = (w.head + 1) % len(w.ring)
		w.n--
	}
}

func (w *window[T]) grow() {
	ring := make([]entry[T], max(16, 2*len(w.ring)))
	for i := range w.n {
		ring[i] = *w.at(i)
	}
	w.ring, w.head = ring, 0
}

// at is the i-th entry, the oldest first.
func (w *window[T]) at(i int) *entry[T] { return &w.ring[(w.head+i)%len(w.ring)] }

// sum adds up f over the entries from the i-th on.
func (w *window[T]) sum(i int, f func(*T) float64) float64 {
	total := 0.0
	for ; i < w.n; i++ {
		total += f(&w.at(i).load)
	}
	return total
}

// throughput is the amount per second of all entries but the first, over the time from
// the first entry up to now: it falls while the window is not fed. 0 with ≤ 1 entry.
func (w *window[T]) throughput(now time.Time, amount func(*T) float64) float64 {
	if w.n <= 1 {
		return 0
	}
	return perSecond(w.sum(1, amount), now.Sub(w.at(0).at))
}

// rate is like throughput, but over the time between the first and the last entry: it
// does not change while the window is not fed.
func (w *window[T]) rate(amount func(*T) float64) float64 {
	if w.n <= 1 {
		return 0
	}
	return perSecond(w.sum(1, amount), w.at(w.n-1).at.Sub(w.at(0).at))
}

// perSecond divides by a time; no time, or a clock that went back, gives 0.
func perSecond(amount float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return amount / d.Seconds()
}
