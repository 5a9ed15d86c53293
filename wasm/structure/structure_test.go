package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// maker writes a function in the shape that Go's compiler gives all of them: one loop around a br_table and regions. Each
// region mixes its number into local 2, so that the result tells the way that was taken. Local 3 counts regions down.
type maker struct {
	rnd     *rand.Rand
	regions int
	calls   bool // has the block that unwinding leaves by
}

func (m *maker) body() []byte {
	b := []byte{1, 3, 0x7f} // three locals of type i32 behind the parameter
	b = append(b, opI32Const, 0x91, 0x0c, opLocalSet, 2, opI32Const, 60, opLocalSet, 3)
	if m.calls {
		b = append(b, opBlock, typeEmpty)
	}
	b = append(b, opLoop, typeEmpty)
	for range m.regions {
		b = append(b, opBlock, typeEmpty)
	}
	b = append(b, opLocalGet, 0, opBrTable) // two numbers stand for each region
	b = appendU32(b, uint32(2*m.regions))
	for r := range m.regions {
		b = appendU32(appendU32(b, uint32(r)), uint32(r))
	}
	b = append(appendU32(b, uint32(m.regions-1)), opEnd)
	for r := range m.regions {
		b = m.region(b, r)
		if r < m.regions-1 {
			b = append(b, opEnd)
		}
	}
	b = append(b, opEnd, opUnreachable) // of the loop
	if m.calls {
		b = append(b, opEnd, opI32Const, 1)
	}
	return append(b, opEnd)
}

// region writes region r: around it stand the blocks of those behind it, the loop, and maybe the block around all.
func (m *maker) region(b []byte, r int) []byte {
	around := uint32(m.regions - 1 - r) // depth of the loop
	jump := func(b []byte, deeper uint32) []byte {
		to := m.rnd.IntN(m.regions)
		if m.rnd.IntN(4) > 0 { // mostly forward: loops with two entries are of no use here
			to = r + m.rnd.IntN(m.regions-r)
		}
		b = appendU32(append(b, opI32Const), uint32(2*to+m.rnd.IntN(2))) // below 64: the same as signed
		b = append(b, opLocalSet, 0, opBr)
		return appendU32(b, around+deeper)
	}
	test := func(b []byte) []byte {
		return append(b, opLocalGet, 2, opI32Const, byte(1<<m.rnd.IntN(5)), i32And)
	}
	// local2 = local2 × 31 + r
	b = append(b, opLocalGet, 2, opI32Const, 31, i32Mul, opI32Const, byte(r), i32Add, opLocalSet, 2)
	b = append(b, opLocalGet, 3, i32Eqz, opIf, typeEmpty, opLocalGet, 2, opReturn, opEnd)
	b = append(b, opLocalGet, 3, opI32Const, 0x7f, i32Add, opLocalSet, 3)
	if m.calls && m.rnd.IntN(4) == 0 {
		b = append(test(b), opI32Const, 7, i32Mul, i32Eqz, i32Eqz, opLocalGet, 3, i32Mul, i32Eqz, opBrIf)
		b = appendU32(b, around+1)
	}
	for range m.rnd.IntN(3) {
		b = append(test(b), opIf, typeEmpty)
		if m.rnd.IntN(3) == 0 {
			b = append(test(b), opIf, typeEmpty)
			b = append(jump(b, 2), opEnd)
		}
		b = append(jump(b, 1), opEnd)
	}
	switch k := m.rnd.IntN(4); {
	case k == 0:
		b = append(test(b), opIf, typeEmpty)
		b = append(jump(b, 1), opElse)
		b = append(jump(b, 1), opEnd)
	case k == 1 || r == m.regions-1:
		b = jump(b, 0)
	}
	return b
}

const (
	i32Eqz = 0x45
	i32Add = 0x6a
	i32Mul = 0x6c
	i32And = 0x71
)

func sec(id byte, parts ...[]byte) []byte {
	data := bytes.Join(parts, nil)
	return append(appendU32([]byte{id}, uint32(len(data))), data...)
}

func vec(items ...[]byte) []byte {
	return append(appendU32(nil, uint32(len(items))), bytes.Join(items, nil)...)
}

func str(s string) []byte { return append(appendU32(nil, uint32(len(s))), s...) }

// moduleOf is a module of functions that take and give an i32.
func moduleOf(names []string, bodies ...[]byte) []byte {
	var types, codes, table [][]byte
	for i, b := range bodies {
		types = append(types, []byte{0})
		codes = append(codes, append(appendU32(nil, uint32(len(b))), b...))
		table = append(table, append([]byte{byte(i)}, str(names[i])...))
	}
	return bytes.Join([][]byte{
		magic, sec(1, []byte{1, 0x60, 1, 0x7f, 1, 0x7f}), sec(secFunction, vec(types...)), sec(secCode, vec(codes...)),
		sec(secCustom, str("name"), sec(1, vec(table...))),
	}, nil)
}

// TestSameWays makes functions at random and wants the same result before and after, entered at each region.
func TestSameWays(t *testing.T) {
	done, entangled := 0, 0
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		mk := maker{rnd, 1 + rnd.IntN(14), rnd.IntN(2) == 0}
		before := moduleOf([]string{"f"}, mk.body())
		after, st, err := rewrite(before, func(string) bool { return true })
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if st.other > 0 {
			t.Fatalf("seed %d: the shape was not recognised", seed)
		}
		done, entangled = done+st.done, entangled+st.entangled
		if !mk.calls && st.kept > 0 {
			t.Errorf("seed %d: a function that calls nothing was kept", seed)
		}
		entries := 2 * mk.regions
		if !mk.calls {
			entries = 1 // nothing resumes it
		}
		old, now := load(t, before), load(t, after)
		for pc := range int32(entries) {
			want, got := old.call(t, 0, pc), now.call(t, 0, pc)
			if want != got {
				t.Fatalf("seed %d, entered at %d: %d, want %d", seed, pc, got, want)
			}
		}
	}
	if done < 800 || entangled < 10 {
		t.Errorf("%d functions were structured and %d had entangled loops: too few to tell", done, entangled)
	}
}

// TestStructured looks at the form itself: no br_table is left, and a loop is there where the regions go round.
func TestStructured(t *testing.T) {
	// Region 0 runs into 1, 1 into 2 unless local 2 is odd, 2 back to 1.
	body := []byte{1, 3, 0x7f, opLoop, typeEmpty, opBlock, typeEmpty, opBlock, typeEmpty, opBlock, typeEmpty,
		opLocalGet, 0, opBrTable, 2, 0, 1, 2, opEnd,
		opI32Const, 5, opLocalSet, 2, opEnd,
		opLocalGet, 2, opI32Const, 1, i32And, i32Eqz, opIf, typeEmpty, opLocalGet, 2, opReturn, opEnd, opEnd,
		opLocalGet, 2, opI32Const, 1, i32Add, opLocalSet, 2, opI32Const, 1, opLocalSet, 0, opBr, 0,
		opEnd, opUnreachable, opEnd}
	before := moduleOf([]string{"f"}, body)
	after, st, err := rewrite(before, func(string) bool { return true })
	if err != nil || st != (stats{chosen: 1, done: 1}) {
		t.Fatal(err, st)
	}
	if got := exec(t, after, 0, 0); got != 6 { // 5 is odd, 6 is not
		t.Errorf("it gives %d, want 6", got)
	}
	m, err := readModule(after)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[byte]int{}
	var count func([]instr)
	count = func(seq []instr) {
		for _, x := range seq {
			counts[x.op]++
			count(x.body)
		}
	}
	code, _ := codeOf(t, m, 0)
	count(code)
	if counts[opBrTable] != 0 || counts[opLoop] != 1 || counts[opBlock] != 0 || counts[opBr] != 1 {
		t.Errorf("br_table %d, loop %d, block %d, br %d; want 0, 1, 0, 1", counts[opBrTable], counts[opLoop], counts[opBlock], counts[opBr])
	}
	if bytes.Contains(after, []byte("name")) {
		t.Error("the name section is still there")
	}
}

// TestNeverReturns: what stands behind a panic is no way to the next region.
func TestNeverReturns(t *testing.T) {
	// Region 0 calls panic; its unwinding leaves the block around all; region 1 goes round for ever.
	body := []byte{1, 3, 0x7f, opBlock, typeEmpty, opLoop, typeEmpty, opBlock, typeEmpty, opBlock, typeEmpty,
		opLocalGet, 0, opBrTable, 1, 0, 1, opEnd,
		opI32Const, 0, opCall, 1, opBrIf, 2, opEnd,
		opI32Const, 1, opLocalSet, 0, opBr, 0, opEnd, opUnreachable, opEnd, opI32Const, 1, opEnd}
	panics := []byte{0, opI32Const, 1, opEnd}
	after, st, err := rewrite(moduleOf([]string{"f", "runtime.panicdivide"}, body, panics), func(n string) bool { return n == "f" })
	if err != nil || st != (stats{chosen: 1, done: 1, kept: 1}) {
		t.Fatal(err, st)
	}
	if got := exec(t, after, 0, 0); got != 1 {
		t.Errorf("it gives %d, want 1", got)
	}
}

// TestOtherEntries: a function that is not entered at its first region stays as it is.
func TestOtherEntries(t *testing.T) {
	// Regions 0, 1 and 2 return 5, 6 and 7; table is where 0, 1 and all else lead. Blocks 3 and 4 are the loop and the one around all.
	shape := func(entry []byte, table ...byte) []byte {
		b := append([]byte{1, 3, 0x7f}, entry...)
		b = append(b, opBlock, typeEmpty, opLoop, typeEmpty, opBlock, typeEmpty, opBlock, typeEmpty, opBlock, typeEmpty, opLocalGet, 0, opBrTable, 2)
		b = append(append(b, table...), opEnd)
		for k := range byte(3) {
			b = append(b, opI32Const, 5+k, opReturn, opEnd)
		}
		return append(b, opUnreachable, opEnd, opI32Const, 1, opEnd)
	}
	enter1 := []byte{opI32Const, 1, opLocalSet, 0}
	for _, c := range []struct {
		body []byte
		want int32
		st   stats
	}{
		{shape(nil, 0, 1, 2), 5, stats{chosen: 1, done: 1, kept: 1}},
		{shape(nil, 1, 0, 2), 6, stats{chosen: 1, other: 1}},
		{shape(nil, 4, 0, 2), 1, stats{chosen: 1, other: 1}},
		{shape(enter1, 0, 1, 2), 6, stats{chosen: 1, other: 1}},
	} {
		before := moduleOf([]string{"f"}, c.body)
		after, st, err := rewrite(before, func(string) bool { return true })
		if err != nil || st != c.st {
			t.Errorf("% x: %+v, %v; want %+v", c.body, st, err, c.st)
			continue
		}
		if old, now := exec(t, before, 0, 0), exec(t, after, 0, 0); old != c.want || now != c.want {
			t.Errorf("% x: %d before, %d after; want %d", c.body, old, now, c.want)
		}
	}
}

func TestWhoNeverReturns(t *testing.T) {
	for name, want := range map[string]bool{
		"runtime.goPanicIndexU": true, "runtime.goPanicSlice3Acap": true, "runtime.panicdivide": true, "runtime.panicunsafeslicelen1": true,
		"runtime.gopanic": true, "runtime.throw": true, "runtime.block": true,
		"runtime.panicCheck2": false, "runtime.blockevent": false, "runtime.blockTimerChan": false, "runtime.throw.func1": false, "main.panicdivide": false,
	} {
		m := &module{names: map[uint32]string{7: name}}
		if m.neverReturns(7) != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
}

func TestRefuses(t *testing.T) {
	good := moduleOf([]string{"f"}, (&maker{rand.New(rand.NewPCG(1, 1)), 3, true}).body())
	all := func(string) bool { return true }
	for want, b := range map[string][]byte{
		"no WebAssembly module": []byte("#!/bin/sh"),
		"ends early":            good[:len(good)/2],
		"no name section":       bytes.Replace(good, []byte("name"), []byte("nama"), 1),
		"leads out":             moduleOf([]string{"f"}, []byte{0, opBr, 3, opEnd}),
	} {
		if _, _, err := rewrite(b, all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, have %v", want, err)
		}
	}
	if _, _, err := rewrite(good, func(string) bool { return false }); err == nil || !strings.Contains(err.Error(), "correct the prefixes") {
		t.Errorf("none chosen: %v", err)
	}
	// What is not in Go's shape stays as it is.
	other := moduleOf([]string{"f"}, []byte{0, opBlock, typeEmpty, opLocalGet, 0, opBrIf, 0, opI32Const, 4, opReturn, opEnd, opI32Const, 9, opEnd})
	// So does one with an instruction that is not known: here it is behind the return.
	unknown := moduleOf([]string{"f"}, []byte{0, opI32Const, 9, opReturn, 0xd2, 0, opEnd})
	out, st, err := rewrite(unknown, all)
	before, _ := readModule(unknown)
	after, errRead := readModule(out)
	if err != nil || errRead != nil || st != (stats{chosen: 1, other: 1}) || !bytes.Equal(before.bodies[0], after.bodies[0]) {
		t.Error(err, errRead, st)
	}
	out, st, err = rewrite(other, all)
	if err != nil || st != (stats{chosen: 1, other: 1}) || exec(t, out, 0, 0) != 4 || exec(t, out, 0, 1) != 9 {
		t.Error(err, st)
	}
}

// A prefix that no function's name begins with is told: it is a mistake, or what it named was inlined.
func TestIdlePrefixes(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.wasm"), filepath.Join(dir, "out.wasm")
	mk := func(seed uint64) []byte { return (&maker{rand.New(rand.NewPCG(seed, 1)), 1, false}).body() }
	if err := os.WriteFile(in, moduleOf([]string{"p.one", "p.two"}, mk(1), mk(2)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{in, out, "p.t", "p.three", "p.", "q"}); err == nil || !strings.Contains(err.Error(), "begins with p.three, q:") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("it was written all the same")
	}
	if err := run([]string{in, out, "p.t", "p.two", "p.o"}); err != nil {
		t.Error(err)
	}
}

// TestWASMStructured looks into the built module: every hot function must have been structured. It fails where a new Go
// compiler writes another shape; the module works then, at two thirds of the speed.
func TestWASMStructured(t *testing.T) {
	path := os.Getenv("STEPSCOPE_WASM")
	if path == "" {
		t.Skip("STEPSCOPE_WASM does not name the built module: `make test` builds it and sets the variable")
	}
	if !filepath.IsAbs(path) { // tests run in their package's folder, make in the root
		path = filepath.Join("..", "..", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	chosen, done, err := structuredIn(b)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if done == 0 || done != chosen {
		t.Errorf("%s: %d of %d hot functions are structured, want all: does %s write another shape?", path, done, chosen, runtime.Version())
	}
}

// structuredIn reads what a written module says of itself, and fails where a function it names still has the loop around a
// br_table that Go's compiler writes.
func structuredIn(b []byte) (chosen, done int, err error) {
	m, err := readModule(b)
	if err != nil {
		return 0, 0, err
	}
	for _, s := range m.sections {
		in := &input{b: s.data}
		if s.id != secCustom || string(in.take(in.u32())) != doneSection {
			continue
		}
		chosen = int(in.u32())
		for range in.u32() {
			i := in.u32()
			if in.err != nil || int(i) >= len(m.bodies) {
				return 0, 0, fmt.Errorf("function %d: %v", i, in.err)
			}
			body := &input{b: m.bodies[i]}
			skipLocals(body)
			code, _, err := decodeBody(body)
			if err != nil {
				return 0, 0, fmt.Errorf("function %d: %w", i, err)
			}
			if hasTable(code) {
				return 0, 0, fmt.Errorf("function %d still has a br_table", i)
			}
			done++
		}
		return chosen, done, in.err
	}
	return 0, 0, errors.New("it does not say what was structured: it is as Go's compiler wrote it")
}

func hasTable(seq []instr) bool {
	return slices.ContainsFunc(seq, func(x instr) bool { return x.op == opBrTable || hasTable(x.body) || hasTable(x.other) })
}

// The section tells of each function that was done and of no other.
func TestToldInModule(t *testing.T) {
	done := (&maker{rand.New(rand.NewPCG(1, 1)), 3, false}).body()
	other := []byte{0, opI32Const, 9, opEnd}
	before := moduleOf([]string{"a", "b", "c"}, other, done, done)
	after, st, err := rewrite(before, func(n string) bool { return n != "c" })
	if err != nil || st != (stats{chosen: 2, done: 1, other: 1}) {
		t.Fatal(err, st)
	}
	if chosen, n, err := structuredIn(after); chosen != 2 || n != 1 || err != nil {
		t.Errorf("%d of %d, %v; want 1 of 2", n, chosen, err)
	}
	if _, _, err := structuredIn(before); err == nil {
		t.Error("a module that nothing was done to passes")
	}
}
