package main

import (
	"errors"
	"fmt"
)

// The opcodes that matter here; every other one is copied.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalSet    = 0x24
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opPrefixFC     = 0xfc
	typeEmpty      = 0x40
)

var (
	errShort = errors.New("the module ends early")
	// errUnknown is of code that may be sound, and is not known here.
	errUnknown = errors.New("an instruction that is not known")
)

// input reads the binary format's numbers. The first error sticks.
type input struct {
	b   []byte
	i   int
	err error
}

func (in *input) byte() byte {
	if in.i >= len(in.b) {
		in.fail(errShort)
		return 0
	}
	c := in.b[in.i]
	in.i++
	return c
}

func (in *input) fail(err error) {
	if in.err == nil {
		in.err = err
	}
	in.i = len(in.b)
}

// u32 reads an unsigned LEB128 number.
func (in *input) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		c := in.byte()
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return uint32(v)
		}
	}
	in.fail(errors.New("a number is too long"))
	return 0
}

// s64 reads a signed LEB128 number.
func (in *input) s64() int64 {
	var v int64
	for shift := 0; shift < 70; shift += 7 {
		c := in.byte()
		v |= int64(c&0x7f) << shift
		if c < 0x80 {
			if shift+7 < 64 && c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	in.fail(errors.New("a number is too long"))
	return 0
}

func (in *input) take(n uint32) []byte {
	if uint64(n) > uint64(len(in.b)-in.i) {
		in.fail(errShort)
		return nil
	}
	b := in.b[in.i : in.i+int(n)]
	in.i += int(n)
	return b
}

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// label is what a branch may lead to: a block, loop or if. Branches hold labels, not depths, since code is moved.
type label struct{ _ byte } // pointers to empty structs may be equal

// instr is one instruction; blocks hold their code.
type instr struct {
	op     byte
	raw    []byte // as it stands in the module, for those that are copied
	num    int64  // constants; numbers of locals and functions
	typ    byte   // of a block
	self   *label // of a block
	body   []instr
	other  []instr // behind else
	orElse bool
	to     *label   // of a branch
	table  []*label // of br_table; the last is the default
	jump   int      // set later, for a jump to a region: its number + 1
}

// decodeBody decodes a function's code behind its locals; root is the label of the function itself.
func decodeBody(in *input) (code []instr, root *label, err error) {
	root = &label{}
	code, end := decodeSeq(in, []*label{root})
	if in.err == nil && (end != opEnd || in.i != len(in.b)) {
		in.fail(errors.New("a function does not end with its end"))
	}
	return code, root, in.err
}

// decodeSeq decodes up to the end (or else) of the innermost of labels.
func decodeSeq(in *input, labels []*label) (seq []instr, end byte) {
	at := func(depth uint32) *label {
		if int(depth) >= len(labels) {
			in.fail(errors.New("a branch leads out of its function"))
			return nil
		}
		return labels[len(labels)-1-int(depth)]
	}
	for in.err == nil {
		start := in.i
		x := instr{op: in.byte()}
		switch x.op {
		case opEnd, opElse:
			return seq, x.op
		case opBlock, opLoop, opIf:
			x.typ = in.byte()
			if x.typ < typeEmpty { // an index of a type: Go's compiler writes none
				in.fail(fmt.Errorf("%w: a block with parameters", errUnknown))
			}
			x.self = &label{}
			var by byte
			x.body, by = decodeSeq(in, append(labels, x.self))
			if by == opElse {
				x.orElse = true
				x.other, by = decodeSeq(in, append(labels, x.self))
			}
			if in.err == nil && by != opEnd {
				in.fail(errors.New("two else of one if"))
			}
		case opBr, opBrIf:
			x.to = at(in.u32())
		case opBrTable:
			n := in.u32()
			for range uint64(n) + 1 {
				if in.err != nil {
					break
				}
				x.table = append(x.table, at(in.u32()))
			}
		case opLocalGet, opLocalSet, opLocalTee, opCall:
			x.num = int64(in.u32())
		case opI32Const, opI64Const:
			x.num = in.s64()
		default:
			skipImmediate(in, x.op)
		}
		x.raw = in.b[start:in.i]
		seq = append(seq, x)
	}
	return seq, 0
}

// skipImmediate steps over what follows the opcode of an instruction that is copied.
func skipImmediate(in *input, op byte) {
	switch {
	case op > opLocalTee && op <= opGlobalSet, op == opMemorySize, op == opMemoryGrow:
		in.u32()
	case op == opCallIndirect, op >= 0x28 && op <= 0x3e: // loads and stores: alignment and offset
		in.u32()
		in.u32()
	case op == opF32Const:
		in.take(4)
	case op == opF64Const:
		in.take(8)
	case op == opPrefixFC:
		switch sub := in.u32(); {
		case sub <= 7: // saturating conversions
		case sub == 10: // memory.copy
			in.take(2)
		case sub == 11: // memory.fill
			in.take(1)
		default:
			in.fail(fmt.Errorf("%w: fc %d", errUnknown, sub))
		}
	case op == opUnreachable, op == 0x01, op == opReturn, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4:
	default:
		in.fail(fmt.Errorf("%w: %02x", errUnknown, op))
	}
}
