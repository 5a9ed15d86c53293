package trace

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSpansPacked adds intervals in and out of order and compares with the plain union of all.
func TestSpansPacked(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var u spans
		var all []span
		at := int64(rnd.IntN(3)-1) * (math.MaxInt64 / 3)
		for range 3*spansListed + rnd.IntN(9*spansListed) {
			s := at
			if seed%3 > 0 && rnd.IntN(5) == 0 { // now and then far back
				s -= rnd.Int64N(100_000)
			}
			x := span{s, s + rnd.Int64N(60) - 3}
			at += rnd.Int64N(90)
			u.add(x.s, x.e)
			if x.e > x.s {
				all = append(all, x)
			}
		}
		want := union(all)
		u.pack()
		if u.n != len(want) || u.first != want[0].s || u.last != want[len(want)-1].e || len(u.list) != 0 {
			t.Fatalf("seed %d: %d intervals from %d to %d, want %d from %d to %d", seed, u.n, u.first, u.last, len(want), want[0].s, want[len(want)-1].e)
		}
		i := 0
		for c := u.cursor(); c.ok; c.step() {
			if c.head != want[i] {
				t.Fatalf("seed %d: interval %d is %v, want %v", seed, i, c.head, want[i])
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("seed %d: %d intervals, want %d", seed, i, len(want))
		}
		if per := len(u.packed) / u.n; per > 4 {
			t.Errorf("seed %d: %d bytes an interval", seed, per)
		}
	}
	var whole spans
	whole.add(math.MinInt64, math.MaxInt64)
	whole.pack()
	if c := whole.cursor(); !c.ok || c.head != (span{math.MinInt64, math.MaxInt64}) {
		t.Errorf("the longest interval became %v", c.head)
	}
}

func TestCovered(t *testing.T) {
	var u spans
	u.add(5, 8)
	u.add(20, 30)
	u.pack()
	a, b := []span{{0, 6}, {25, 40}}, []span{{7, 9}, {50, 51}}
	// 0–9, 20–40 and 50–51: 9 + 20 + 1.
	if got := covered(cursorOf(a), u.cursor(), cursorOf(b)); got != 30 {
		t.Errorf("covered %d, want 30", got)
	}
	if got := covered(); got != 0 {
		t.Errorf("nothing covers %d", got)
	}
}
