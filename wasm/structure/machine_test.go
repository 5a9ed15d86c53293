package main

import "testing"

// machine runs the few instructions that the tests use.
type machine struct {
	t      testing.TB
	p      *program
	locals []int32
	stack  []int32
}

func codeOf(t testing.TB, m *module, f int) (code []instr, root *label) {
	in := &input{b: m.bodies[f]}
	skipLocals(in)
	code, root, err := decodeBody(in)
	if err != nil {
		t.Fatal(err)
	}
	return code, root
}

// program is a module with its functions decoded as they are called.
type program struct {
	m     *module
	codes map[int][]instr
	roots map[int]*label
}

func load(t testing.TB, module []byte) *program {
	t.Helper()
	m, err := readModule(module)
	if err != nil {
		t.Fatal(err)
	}
	return &program{m, map[int][]instr{}, map[int]*label{}}
}

// exec calls function f of a module.
func exec(t testing.TB, module []byte, f int, arg int32) int32 {
	t.Helper()
	return load(t, module).call(t, f, arg)
}

func (p *program) call(t testing.TB, f int, arg int32) int32 {
	x := &machine{t: t, p: p, locals: []int32{arg, 0, 0, 0}}
	if p.codes[f] == nil {
		p.codes[f], p.roots[f] = codeOf(t, p.m, f)
	}
	code, root := p.codes[f], p.roots[f]
	if to := x.run(code); to != nil && to != root && to != returned {
		t.Fatal("a branch leads nowhere")
	}
	return x.pop()
}

func (x *machine) pop() int32 {
	if len(x.stack) == 0 {
		x.t.Fatal("nothing is on the stack")
	}
	v := x.stack[len(x.stack)-1]
	x.stack = x.stack[:len(x.stack)-1]
	return v
}

func (x *machine) push(v int32) { x.stack = append(x.stack, v) }

// returned stands for the function itself as the place that a return leads to.
var returned = &label{}

// run returns where a branch out of seq leads, nil if it ran to its end.
func (x *machine) run(seq []instr) *label {
	for _, c := range seq {
		switch c.op {
		case opBlock:
			if to := x.run(c.body); to != nil && to != c.self {
				return to
			}
		case opLoop:
			to := x.run(c.body)
			for to == c.self {
				to = x.run(c.body)
			}
			if to != nil {
				return to
			}
		case opIf:
			body := c.other
			if x.pop() != 0 {
				body = c.body
			}
			if to := x.run(body); to != nil && to != c.self {
				return to
			}
		case opBr:
			return c.to
		case opBrIf:
			if x.pop() != 0 {
				return c.to
			}
		case opBrTable:
			return c.table[min(uint32(x.pop()), uint32(len(c.table)-1))]
		case opReturn:
			return returned
		case opCall:
			x.push(x.p.call(x.t, int(c.num), x.pop()))
		case opLocalGet:
			x.push(x.locals[c.num])
		case opLocalSet:
			x.locals[c.num] = x.pop()
		case opI32Const:
			x.push(int32(c.num))
		case i32Eqz:
			x.push(map[bool]int32{true: 1}[x.pop() == 0])
		case i32Add:
			x.push(x.pop() + x.pop())
		case i32Mul:
			x.push(x.pop() * x.pop())
		case i32And:
			x.push(x.pop() & x.pop())
		default:
			x.t.Fatalf("instruction %02x", c.op)
		}
	}
	return nil
}
