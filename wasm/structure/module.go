package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
)

// stats say what became of the functions that were chosen; other have another shape, or instructions that are not known.
type stats struct{ chosen, done, kept, other, entangled int }

const (
	secCustom   = 0
	secImport   = 2
	secFunction = 3
	secCode     = 10
)

type section struct {
	id   byte
	data []byte
}

// module is a module's sections and what is read of them.
type module struct {
	sections []section
	imports  uint32            // functions that are imported: they come first in the numbering
	types    []uint32          // of the functions that are defined
	bodies   [][]byte          // locals and code
	names    map[uint32]string // by number of the function
}

var magic = []byte("\x00asm\x01\x00\x00\x00")

func readModule(b []byte) (*module, error) {
	if !bytes.HasPrefix(b, magic) {
		return nil, errors.New("it is no WebAssembly module of version 1")
	}
	m := &module{names: map[uint32]string{}}
	in := &input{b: b, i: len(magic)}
	for in.i < len(b) && in.err == nil {
		id := in.byte()
		data := in.take(in.u32())
		sec := &input{b: data}
		switch id {
		case secImport:
			m.readImports(sec)
		case secFunction:
			for range sec.u32() {
				m.types = append(m.types, sec.u32())
			}
		case secCode:
			for range sec.u32() {
				m.bodies = append(m.bodies, sec.take(sec.u32()))
			}
		case secCustom:
			if string(sec.take(sec.u32())) == "name" {
				m.readNames(sec)
				continue
			}
		}
		if sec.err != nil {
			return nil, fmt.Errorf("section %d: %w", id, sec.err)
		}
		m.sections = append(m.sections, section{id, data})
	}
	if in.err == nil && len(m.types) != len(m.bodies) {
		in.err = errors.New("functions and their code differ in number")
	}
	return m, in.err
}

func (m *module) readImports(in *input) {
	for range in.u32() {
		in.take(in.u32())
		in.take(in.u32())
		if kind := in.byte(); kind != 0 {
			in.fail(fmt.Errorf("an import of kind %d: Go's modules import functions only", kind))
			return
		}
		in.u32()
		m.imports++
	}
}

func (m *module) readNames(in *input) {
	for in.i < len(in.b) && in.err == nil {
		id := in.byte()
		sub := &input{b: in.take(in.u32())}
		if id != 1 { // names of functions
			continue
		}
		for range sub.u32() {
			n := sub.u32()
			m.names[n] = string(sub.take(sub.u32()))
		}
	}
}

// doneSection is a custom section of what is written: how many functions were chosen, and the numbers of those that were
// structured. The names are gone from there.
const doneSection = "structured"

// rewrite structures the functions of a module that are chosen by name.
func rewrite(b []byte, chosen func(name string) bool) ([]byte, stats, error) {
	var st stats
	m, err := readModule(b)
	if err != nil {
		return nil, st, err
	}
	if len(m.names) == 0 {
		return nil, st, errors.New("it has no name section: build it without -ldflags=-s")
	}
	var done []byte
	for i := range len(m.bodies) {
		name := m.names[m.imports+uint32(i)]
		if !chosen(name) {
			continue
		}
		st.chosen++
		body := m.bodies[i]
		in := &input{b: body}
		skipLocals(in)
		locals := body[:in.i]
		code, root, err := decodeBody(in)
		if errors.Is(err, errUnknown) {
			st.other++
			continue
		}
		if err != nil {
			return nil, st, fmt.Errorf("%s: %w", name, err)
		}
		f, ok := parse(code)
		if !ok {
			st.other++
			continue
		}
		f.root = root
		f.cutEnds(m.neverReturns)
		now, ok := structured(f)
		if !ok {
			st.entangled++
			continue
		}
		st.done++
		done = appendU32(done, uint32(i))
		out := bytes.Clone(locals)
		if f.exit != nil { // it calls, so it may be resumed
			st.kept++
			old := m.imports + uint32(len(m.bodies))
			m.bodies = append(m.bodies, body)
			m.types = append(m.types, m.types[i])
			out = append(out, opLocalGet, 0, opIf, typeEmpty, opLocalGet, 0, opCall)
			out = append(appendU32(out, old), opReturn, opEnd)
		}
		m.bodies[i] = append(out, now...)
	}
	if st.chosen == 0 {
		return nil, st, errors.New("none of its functions has such a name: correct the prefixes")
	}
	data := append(appendU32(nil, uint32(len(doneSection))), doneSection...)
	data = appendU32(appendU32(data, uint32(st.chosen)), uint32(st.done))
	m.sections = append(m.sections, section{secCustom, append(data, done...)})
	return m.write(), st, nil
}

// panics are the functions of package runtime that end in a panic, as Go's compiler knows: no code for a return follows.
// Others whose names begin alike do return, such as panicCheck1, blockevent and throw's closure.
var panics = regexp.MustCompile(`^runtime\.(goPanic(Index|Slice)\w*|panic(divide|dottype[EI]|float|mem|overflow|rangestate|shift|unsafes\w*|wrap)|gopanic|throw|block)$`)

func (m *module) neverReturns(callee int64) bool { return panics.MatchString(m.names[uint32(callee)]) }

func skipLocals(in *input) {
	for range in.u32() {
		in.u32()
		in.byte()
	}
}

func (m *module) write() []byte {
	out := bytes.Clone(magic)
	for _, s := range m.sections {
		data := s.data
		switch s.id {
		case secFunction:
			data = appendU32(nil, uint32(len(m.types)))
			for _, t := range m.types {
				data = appendU32(data, t)
			}
		case secCode:
			data = appendU32(nil, uint32(len(m.bodies)))
			for _, b := range m.bodies {
				data = append(appendU32(data, uint32(len(b))), b...)
			}
		}
		out = append(appendU32(append(out, s.id), uint32(len(data))), data...)
	}
	return out
}
