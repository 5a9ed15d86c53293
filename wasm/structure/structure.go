package main

import "slices"

// graph is the control flow between a function's regions, entered at region 0.
type graph struct {
	order  []int // regions in reverse postorder; those that cannot be reached are missing
	number []int // place in order, -1 if it cannot be reached
	idom   []int // immediate dominator
	header []bool
	merge  []bool  // two ways or more lead forward to it
	below  [][]int // merge regions by the region that dominates them, in order
}

// newGraph works out what the structured form needs; ok is false for a loop with two entries.
func newGraph(next [][]int) (g *graph, ok bool) {
	n := len(next)
	g = &graph{number: make([]int, n), idom: make([]int, n), header: make([]bool, n), merge: make([]bool, n), below: make([][]int, n)}
	g.postorder(next)
	pred := make([][]int, n)
	forward := make([]int, n)
	for _, x := range g.order {
		for _, y := range next[x] {
			pred[y] = append(pred[y], x)
		}
	}
	g.dominators(pred)
	for _, x := range g.order {
		for _, y := range next[x] {
			if g.number[y] > g.number[x] {
				forward[y]++
				continue
			}
			if !g.dominates(y, x) {
				return nil, false
			}
			g.header[y] = true
		}
	}
	for _, x := range g.order {
		if forward[x] > 1 {
			g.merge[x] = true
			g.below[g.idom[x]] = append(g.below[g.idom[x]], x)
		}
	}
	return g, true
}

// postorder fills order and number, without recursion: functions have thousands of regions.
func (g *graph) postorder(next [][]int) {
	for i := range g.number {
		g.number[i] = -1
	}
	type frame struct{ at, child int }
	seen := make([]bool, len(next))
	stack := []frame{{0, 0}}
	seen[0] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		// Last way first, so that what falls through comes next in the reverse order.
		if k := len(next[top.at]) - 1 - top.child; k >= 0 {
			top.child++
			if y := next[top.at][k]; !seen[y] {
				seen[y] = true
				stack = append(stack, frame{y, 0})
			}
			continue
		}
		g.order = append(g.order, top.at)
		stack = stack[:len(stack)-1]
	}
	slices.Reverse(g.order)
	for i, x := range g.order {
		g.number[x] = i
	}
}

// dominators is the iteration of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
func (g *graph) dominators(pred [][]int) {
	for i := range g.idom {
		g.idom[i] = -1
	}
	g.idom[0] = 0
	for changed := true; changed; {
		changed = false
		for _, x := range g.order[1:] {
			d := -1
			for _, p := range pred[x] {
				switch {
				case g.idom[p] < 0:
				case d < 0:
					d = p
				default:
					d = g.meet(p, d)
				}
			}
			if g.idom[x] != d {
				g.idom[x] = d
				changed = true
			}
		}
	}
}

func (g *graph) meet(x, y int) int {
	for x != y {
		for g.number[x] > g.number[y] {
			x = g.idom[x]
		}
		for g.number[y] > g.number[x] {
			y = g.idom[y]
		}
	}
	return x
}

func (g *graph) dominates(x, y int) bool {
	for g.number[y] > g.number[x] {
		y = g.idom[y]
	}
	return x == y
}

// writer writes a function in structured form, after Ramsey, "Beyond Relooper: Recursive Translation of Unstructured
// Control Flow to Structured Control Flow": a region's tree of dominated regions becomes nested code, a region that
// several ways lead to is put behind a block which they leave, and a loop begins at the region that is jumped back to.
type writer struct {
	f      *function
	g      *graph
	out    []byte
	labels []*label // open blocks, outermost first
	loops  []*label // by region
	blocks []*label
}

// structured returns the function's code behind its locals, for entry at region 0 only.
func structured(f *function) (code []byte, ok bool) {
	g, ok := newGraph(f.successors())
	if !ok {
		return nil, false
	}
	w := &writer{f: f, g: g, loops: make([]*label, len(f.regions)), blocks: make([]*label, len(f.regions)), labels: []*label{f.root}}
	w.seq(f.entry, 0)
	if f.exit != nil {
		w.open(opBlock, typeEmpty, f.exit)
	}
	w.tree(0)
	w.out = append(w.out, opUnreachable)
	if f.exit != nil {
		w.end()
		w.seq(f.behind, 0)
	}
	return append(w.out, opEnd), true
}

func (w *writer) open(op, typ byte, l *label) {
	w.out = append(w.out, op, typ)
	w.labels = append(w.labels, l)
}

func (w *writer) end() {
	w.out = append(w.out, opEnd)
	w.labels = w.labels[:len(w.labels)-1]
}

func (w *writer) depth(l *label) uint32 {
	for i := len(w.labels) - 1; i >= 0; i-- {
		if w.labels[i] == l {
			return uint32(len(w.labels) - 1 - i)
		}
	}
	panic("a branch leads to a block that is not open") // parse lets none through
}

func (w *writer) tree(r int) {
	if w.g.header[r] {
		w.loops[r] = &label{}
		w.open(opLoop, typeEmpty, w.loops[r])
	}
	below := w.g.below[r]
	for _, m := range slices.Backward(below) {
		w.blocks[m] = &label{}
		w.open(opBlock, typeEmpty, w.blocks[m])
	}
	w.seq(w.f.regions[r], r)
	if r+1 < len(w.f.regions) && !ends(w.f.regions[r]) {
		w.jump(r, r+1)
	}
	for _, m := range below {
		w.end()
		w.tree(m)
	}
	if w.g.header[r] {
		w.end()
	}
}

// jump goes from a region to another.
func (w *writer) jump(from, to int) {
	switch {
	case w.g.number[to] <= w.g.number[from]:
		w.branch(w.loops[to])
	case w.g.merge[to]:
		w.branch(w.blocks[to])
	default:
		w.tree(to)
	}
}

func (w *writer) branch(l *label) { w.out = appendU32(append(w.out, opBr), w.depth(l)) }

// seq writes the code of a region.
func (w *writer) seq(code []instr, region int) {
	for _, x := range code {
		switch {
		case x.jump > 0:
			w.jump(region, x.jump-1)
		case x.self != nil:
			w.open(x.op, x.typ, x.self)
			w.seq(x.body, region)
			if x.orElse {
				w.out = append(w.out, opElse)
				w.seq(x.other, region)
			}
			w.end()
		case x.to != nil:
			w.out = appendU32(append(w.out, x.op), w.depth(x.to))
		default:
			w.out = append(w.out, x.raw...)
		}
	}
}
