package compare

import (
	"math"
	"slices"
)

// Bounds of the time that one line may stand for: usual distances, and at least so much.
// Beyond, nobody knows what the engine did for most of it.
const (
	longLine    = 10
	longAnyLine = int64(60e9)
)

// mark is one sample of one engine, ready for alignment. A line speaks for the time
// since the one before it: (since, t].
type mark struct {
	since, t int64
	x, w     float64
	void     bool // left out: nothing is known of its time
}

// source is what marks are made from: a series, the one that weighs it, if any, and what
// limits the time that its lines speak for.
type source struct {
	*Series
	weights  *Series
	usual    int64  // median distance of the lines
	from     int64  // start of the side's time
	breaks   []Span // of the engine
	captured []Span // when traces of the engine were recorded
}

// present is the time over which an engine reports, whatever kind of steps its lines are of.
func (s source) present() Span {
	n := len(s.Times)
	if n == 0 {
		return Span{}
	}
	reach := max(longLine*s.usual, longAnyLine)
	return Span{s.Times[0] - reach, s.Times[n-1] + reach}
}

// marks reads a series for one kind of step: what may not be used becomes void,
// counters become rates per second, and a 0 that means nothing is nothing.
func marks(s source, kind StepKind, r rule, left *Left) []mark {
	out := make([]mark, 0, len(s.Values))
	usual := s.usual
	longest := max(longLine*usual, longAnyLine)
	prev := -1                    // last finite sample, for rates
	at, broken, traced := 0, 0, 0 // in weights, in breaks, in captured
	for i, v := range s.Values {
		var f Flags
		if i < len(s.Flags) {
			f = s.Flags[i]
		}
		last := prev
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			prev = i
		}
		if !ofKind(f, kind) || r.zeroAbsent && v == 0 {
			continue
		}
		m := mark{t: s.Times[i], x: v, w: 1}
		switch {
		case i > 0:
			m.since = s.Times[i-1]
		default:
			m.since = min(max(m.t-max(usual, 1), s.from), m.t-1)
		}
		if r.counter && last >= 0 {
			m.since = s.Times[last]
		}
		for broken < len(s.breaks) && s.breaks[broken].To <= m.since {
			broken++
		}
		moment := m.since // from which on a capture perturbs the line
		if r.point {
			moment = m.t - 1
		}
		for traced < len(s.captured) && s.captured[traced].To <= moment {
			traced++
		}
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			left.NotFinite++
			m.void = true
		case f&Perturbed != 0, traced < len(s.captured) && s.captured[traced].From < m.t:
			left.Perturbed++
			m.void = true
		case f&Filling != 0:
			left.Filling++
			m.void = true
		case r.counter && (last < 0 || m.t <= m.since):
			continue // a rate needs two moments
		case r.counter && (v < s.Values[last] && !r.wavers || f&ClockJump != 0):
			left.Resets++
			m.void = true
		case r.point:
		case m.t-m.since > longest, overAny(s.breaks[broken:], m.since, m.t), f&ClockJump != 0 && m.t-m.since > usual:
			m.void = true
		}
		if r.counter && !m.void {
			m.x = (v - s.Values[last]) / (float64(m.t-m.since) / 1e9)
		}
		if r.convert != nil {
			if m.x = r.convert(m.x); math.IsInf(m.x, 0) || math.IsNaN(m.x) {
				m.x, m.void = 0, true
			}
		}
		if weights := s.weights; weights != nil {
			for at < len(weights.Times) && weights.Times[at] < m.t {
				at++
			}
			m.w = 0
			if at < len(weights.Times) && weights.Times[at] == m.t && weights.Values[at] > 0 {
				m.w = weights.Values[at]
			}
		}
		out = append(out, m)
	}
	return out
}

// over says whether a stretch takes up most of a line's time.
func (s Span) over(since, t int64) bool {
	return 2*(min(s.To, t)-max(s.From, since)) > t-since
}

// overAny says so of the stretches that begin before the line.
func overAny(breaks []Span, since, t int64) bool {
	for _, b := range breaks {
		if b.From >= t {
			break
		}
		if b.over(since, t) {
			return true
		}
	}
	return false
}

func ofKind(f Flags, kind StepKind) bool {
	switch kind {
	case PromptSteps:
		return f&PromptStep != 0
	case DecodeSteps:
		return f&DecodeStep != 0
	}
	return true
}

// usualDistance is the median distance of moments; 0 with fewer than two.
func usualDistance(times []int64) int64 {
	d := make([]int64, 0, len(times))
	for i := 1; i < len(times); i++ {
		if gap := times[i] - times[i-1]; gap > 0 {
			d = append(d, gap)
		}
	}
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[len(d)/2]
}
