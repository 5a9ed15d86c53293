package kineto

import "math/rand/v2"

// pythonWriter writes Python frames: the fixed ones of a plan, and call trees into its holes.
type pythonWriter struct {
	w          *Writer
	pid        int64
	firstIndex uint64 // CPU events before the frames
	index      uint64 // "Ev Idx" and id of the last frame
	id         uint64
	root       uint64 // frame around all steps
	owed       int64  // bytes still to be written to keep the mean
	frames     int64  // filling frames written, and their bytes
	bytes      int64
}

// loggerThread is the log thread's distance from the engine's.
const loggerThread = 96

// Filling frames are about this long until they have been measured, and never closer than this.
const (
	guessFrame = 262
	minFrame   = 48
)

// roots writes the frames that last from the profiler's start to its end.
func (y *pythonWriter) roots(start, end int64) {
	chain := func(names []string, tid int64) {
		parent := uint64(0)
		for i, name := range names {
			inset := 900 * int64(i)
			parent = y.frame(Span{name, y.pid, tid, start + inset, end - start - 2*inset}, parent)
		}
	}
	chain(loggerRoots, y.pid+loggerThread)
	chain(roots, y.pid)
	y.root = y.id
}

func (y *pythonWriter) frame(s Span, parent uint64) uint64 {
	y.id++
	y.w.Python(s, parent, y.id, y.index)
	y.index++
	return y.id
}

// step writes a plan's frames in the order in which they began, filling about the given number of bytes.
func (y *pythonWriter) step(p *plan, budget int64) {
	r := rand.New(rand.NewPCG(uint64(p.start), 7))
	y.owed += budget
	before := y.w.Bytes()
	var room int64
	for _, h := range p.holes {
		room += h.end - h.start
	}
	fixed := int64(len(p.frames)) * guessFrame
	fill := max(0, y.owed-fixed) / y.size()
	full := fill > room/minFrame
	if full {
		fill = room / minFrame
	}
	type level struct {
		end int64
		id  uint64
	}
	stack := []level{{1<<63 - 1, y.root}}
	enclosing := func(t int64) uint64 {
		for stack[len(stack)-1].end <= t {
			stack = stack[:len(stack)-1]
		}
		return stack[len(stack)-1].id
	}
	next, seen, given := 0, int64(0), int64(0)
	for _, f := range p.frames {
		for ; next < len(p.holes) && p.holes[next].start < f.start; next++ {
			h := p.holes[next]
			seen += h.end - h.start
			n := fill*seen/max(room, 1) - given
			y.fill(h, n, enclosing(h.start), r)
			given += n
		}
		id := y.frame(Span{f.name, y.pid, y.pid, f.start, f.end - f.start}, enclosing(f.start))
		stack = append(stack, level{f.end, id})
	}
	for ; next < len(p.holes); next++ {
		h := p.holes[next]
		seen += h.end - h.start
		n := fill*seen/max(room, 1) - given
		y.fill(h, n, enclosing(h.start), r)
		given += n
	}
	y.owed -= y.w.Bytes() - before
	if full {
		y.owed = 0 // no later step could make up for it either
	}
}

func (y *pythonWriter) size() int64 {
	if y.frames < 1000 {
		return guessFrame
	}
	return y.bytes / y.frames
}

// fill writes n frames into a hole as a row of call trees. Frame i begins in the i-th of n equal parts; it ends just before
// the first later frame that is not below it, and the deeper it is the sooner, so that frames nest.
func (y *pythonWriter) fill(h hole, n int64, parent uint64, r *rand.Rand) {
	if n <= 0 {
		return
	}
	before := y.w.Bytes()
	y.frames += n
	part := (h.end - h.start) / n
	var starts [maxTree + 1]int64
	var ids [maxTree + 1]uint64
	starts[0] = h.start + part/8
	for i := int64(0); i < n; {
		t := h.trees[r.IntN(len(h.trees))]
		t = t[:min(int64(len(t)), n-i)]
		bits := r.Uint64()
		for k := range t {
			at := h.start + (i+int64(k)+1)*part
			starts[k+1] = at + part/8 + int64(bits>>(5*k)&31)*part/256
		}
		if i+int64(len(t)) == n {
			starts[len(t)] = h.end
		}
		for k := range t {
			nd := &t[k]
			e := k + 1
			for e < len(t) && t[e].depth > nd.depth {
				e++
			}
			name := nd.name
			if nd.variants != nil {
				name = nd.variants[(bits>>7+uint64(i)*7+uint64(k)*3)%addresses]
			}
			up := parent
			if nd.depth > 0 {
				up = ids[nd.depth-1]
			}
			end := starts[e] - part/16*int64(1+nd.depth)
			ids[nd.depth] = y.frame(Span{name, y.pid, y.pid, starts[k], end - starts[k]}, up)
		}
		i += int64(len(t))
		starts[0] = starts[len(t)]
	}
	y.bytes += y.w.Bytes() - before
}
