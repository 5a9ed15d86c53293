package main

import "slices"

// function is the body of one function as Go's compiler writes it: entry code, then regions that fall through into the
// next one. A jump stores the region's resume point in local 0 and goes back to a loop around all of them, whose br_table
// leads there; and a goroutine that was switched away resumes in the same way.
type function struct {
	entry   []instr   // before the regions
	regions [][]instr // jumps are marked
	exit    *label    // of the block around all, left to unwind the stack; nil where there is none
	behind  []instr   // behind that block
	root    *label    // of the function itself
}

// parse recognises a function of Go's shape; ok is false for any other.
func parse(code []instr) (f *function, ok bool) {
	k := 0
	for k < len(code) && code[k].op != opBlock && code[k].op != opLoop {
		if code[k].op == opIf || code[k].to != nil || setsEntry(code[k]) {
			return nil, false
		}
		k++
	}
	if k == len(code) {
		return nil, false
	}
	f = &function{entry: code[:k]}
	// Down the blocks that begin with a block, to the one that holds the br_table.
	var chain []*instr
	in := &code[k]
	for {
		if in.typ != typeEmpty || in.op == opIf {
			return nil, false
		}
		chain = append(chain, in)
		if len(in.body) == 2 && in.body[0].op == opLocalGet && in.body[0].num == 0 && in.body[1].op == opBrTable {
			break
		}
		if len(in.body) == 0 {
			return nil, false
		}
		in = &in.body[0]
		if in.op != opBlock && in.op != opLoop {
			return nil, false
		}
	}
	table := in.body[1].table
	numbers := map[*label]int{} // of the regions
	n := 0
	for i := len(chain) - 1; i >= 0 && chain[i].op == opBlock; i-- {
		numbers[chain[i].self] = n
		if chain[i].self == table[len(table)-1] { // the default leads to the last region
			n++
			break
		}
		n++
	}
	outer := chain[:len(chain)-n]
	for i, to := range table { // 0 is where the structured form begins
		if r, ok := numbers[to]; !ok || i == 0 && r != 0 || i == len(table)-1 && r != n-1 {
			return nil, false
		}
	}
	var loop *label
	if m := len(outer); m > 0 && outer[m-1].op == opLoop {
		loop, outer = outer[m-1].self, outer[:m-1]
	}
	rest := code[k+1:] // behind the outermost block
	switch len(outer) {
	case 0:
	case 1:
		if outer[0].op != opBlock {
			return nil, false
		}
		f.exit, f.behind = outer[0].self, rest
	default:
		return nil, false
	}
	// Region i is what follows block i in the block around it.
	for i := range n {
		at := len(chain) - 1 - i
		following := rest
		if at > 0 {
			following = chain[at-1].body[1:]
		}
		region, ok := markJumps(following, loop, table, numbers)
		if !ok {
			return nil, false
		}
		f.regions = append(f.regions, region)
	}
	return f, true
}

// setsEntry reports whether an instruction changes where the function is entered.
func setsEntry(x instr) bool { return (x.op == opLocalSet || x.op == opLocalTee) && x.num == 0 }

// markJumps replaces the three instructions of each jump by one, and reports whether nothing else leads to the loop or
// to a region, nor reads local 0.
func markJumps(seq []instr, loop *label, table []*label, regions map[*label]int) (out []instr, ok bool) {
	for i, x := range seq {
		switch {
		case x.op == opBlock || x.op == opLoop || x.op == opIf:
			if x.body, ok = markJumps(x.body, loop, table, regions); !ok {
				return nil, false
			}
			if x.other, ok = markJumps(x.other, loop, table, regions); !ok {
				return nil, false
			}
		case x.op == opBrTable:
			return nil, false
		case x.to != nil && x.to == loop:
			k := len(out)
			if x.op != opBr || k < 2 || out[k-2].op != opI32Const || out[k-1].op != opLocalSet || out[k-1].num != 0 {
				return nil, false
			}
			region := regions[table[min(uint64(out[k-2].num), uint64(len(table)-1))]]
			out = append(out[:k-2], instr{jump: region + 1})
			continue
		case x.to != nil:
			if _, ok := regions[x.to]; ok {
				return nil, false
			}
		case x.op == opLocalGet && x.num == 0:
			// A call through a pointer parks the function's index there for a moment.
			if i < 2 || seq[i-2].op != opLocalSet || seq[i-2].num != 0 {
				return nil, false
			}
		}
		out = append(out, x)
	}
	return out, true
}

// cutEnds takes away what stands behind calls that never return: Go's compiler lets such a region run on into the next
// one, which can make loops out of nothing.
func (f *function) cutEnds(never func(callee int64) bool) {
	for r, seq := range f.regions {
		for i, x := range seq {
			if x.op == opCall && x.raw != nil && never(x.num) {
				for i++; i < len(seq) && seq[i].op != opBrIf; i++ { // the stack pointer is read again
				}
				if i < len(seq) {
					f.regions[r] = append(slices.Clone(seq[:i+1]), instr{op: opUnreachable, raw: []byte{opUnreachable}})
				}
				break
			}
		}
	}
}

// successors lists the regions that each region may go to, once for every way there.
func (f *function) successors() [][]int {
	next := make([][]int, len(f.regions))
	for r, seq := range f.regions {
		eachJump(seq, func(to int) { next[r] = append(next[r], to) })
		if r+1 < len(f.regions) && !ends(seq) {
			next[r] = append(next[r], r+1)
		}
	}
	return next
}

func eachJump(seq []instr, f func(to int)) {
	for _, x := range seq {
		if x.jump > 0 {
			f(x.jump - 1)
		}
		eachJump(x.body, f)
		eachJump(x.other, f)
	}
}

// ends reports whether nothing gets to the end of seq.
func ends(seq []instr) bool {
	for _, x := range seq {
		switch {
		case x.jump > 0, x.op == opBr, x.op == opReturn, x.op == opUnreachable:
			return true
		case x.op == opIf && x.orElse && ends(x.body) && ends(x.other):
			return true
		}
	}
	return false
}
