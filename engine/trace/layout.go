package trace

import (
	"math/bits"
	"unsafe"
)

// A producer writes all its events alike: the same keys in the same order with the same
// blanks. A layout is what lies between the values of such an event, learned from one; an
// event that fits it is read by comparing words instead of looking for keys. Whatever does
// not fit is read by parseEvent, with the same result.
type layout struct {
	ph    byte
	steps [maxSteps]layoutStep
	n     int
	tail  literal      // behind the last value, up to the event's closing brace
	args  []*argLayout // the one that fitted last goes first
}

type layoutStep struct {
	lit   literal // before the value, with a string's opening quote
	field field
	last  memo // the value that was read last: categories, pids and tids repeat, and the first digits of times
}

// literal is a piece of text, padded for word loads. Its first two words lie ready with
// their masks, because most literals are no longer.
type literal struct {
	words
	text [maxLiteral + 8]byte
	n    int
}

// words are up to 16 bytes of text.
type words struct{ w0, m0, w1, m1 uint64 }

func (t *words) set(b []byte) {
	var p [16]byte
	n := copy(p[:], b)
	t.w0, t.w1 = load64(p[:], 0), load64(p[:], 8)
	t.m0 = 1<<(8*uint(min(n, 8))) - 1
	t.m1 = 1<<(8*uint(max(n-8, 0))) - 1
}

// at reports whether the text stands at p[i].
func (t *words) at(p unsafe.Pointer, i int) bool {
	return (*(*uint64)(unsafe.Add(p, i))^t.w0)&t.m0|(*(*uint64)(unsafe.Add(p, i+8))^t.w1)&t.m1 == 0
}

// memo is a value with the byte behind it, n bytes in all; 0: none.
type memo struct {
	words
	n int
	v int64 // the number, or the name's id
}

func (m *memo) keep(b []byte, v int64) {
	if m.n = 0; len(b) <= 16 {
		m.set(b)
		m.n, m.v = len(b), v
	}
}

const (
	maxSteps   = 8
	maxLiteral = 64
	maxLayouts = 8
	maxLearned = 256 // events that may be learned from: files whose events all differ cost no more
)

// rest reports whether what the literal has beyond 16 bytes stands at p[i+16]. p must be
// readable up to the literal's length beyond i, rounded up to words.
func (l *literal) rest(p unsafe.Pointer, i int) bool {
	t := unsafe.Pointer(&l.text)
	n := l.n
	k := 16
	for ; k+8 <= n; k += 8 {
		if *(*uint64)(unsafe.Add(p, i+k)) != *(*uint64)(unsafe.Add(t, k)) {
			return false
		}
	}
	if k < n {
		d := *(*uint64)(unsafe.Add(p, i+k)) ^ *(*uint64)(unsafe.Add(t, k))
		return d<<(64-8*uint(n-k)) == 0
	}
	return true
}

func (l *literal) set(b []byte) bool {
	if len(b) > maxLiteral {
		return false
	}
	l.n = copy(l.text[:], b)
	l.words.set(b)
	return true
}

// learn adds the layout of the event b[i:end], which parseEvent has just read.
func (r *Reader) learn(b []byte, i, end int) {
	if r.learned >= maxLearned || r.ev.ph == 0 || r.ev.fl != 0 { // what was repaired must be counted each time
		return
	}
	r.learned++
	l := new(layout)
	l.ph = r.ev.ph
	from := i // where the text between two values begins
	for i++; ; {
		i = skipSpace(b, i)
		if b[i] != '"' {
			break
		}
		f, _ := fieldOf(load64(b, i+1))
		e, fl, _ := scanString(b, i+1, end)
		if fl&flagDirty != 0 { // it may stand for any key
			return
		}
		v := skipSpace(b, e+1)
		v = skipSpace(b, v+1)
		ve, _, st := skipValue(b, v, end)
		if st != stOK {
			return
		}
		start, stop := v, ve
		switch f {
		case fieldName, fieldCat:
			if b[v] != '"' {
				return
			}
			start, stop = v+1, ve-1
		case fieldPid, fieldTid, fieldTs, fieldDur, fieldID:
			if !isDigit(b[v]) {
				return
			}
		case fieldArgs:
			if b[v] != '{' {
				return
			}
		default: // ph, bp and the like: the value is part of the text
			f = fieldOther
		}
		if f != fieldOther {
			if l.n == maxSteps || !l.steps[l.n].lit.set(b[from:start]) {
				return
			}
			l.steps[l.n].field = f
			l.n++
			from = stop
		}
		i = skipSpace(b, ve)
		if b[i] == ',' {
			i++
		}
	}
	if !l.tail.set(b[from:end]) {
		return
	}
	if len(r.layouts) < maxLayouts {
		r.layouts = append(r.layouts, l)
	} else {
		r.layouts[r.learned%maxLayouts] = l
	}
}

// parseFast reads the event at b[i] by a layout that was learned, and returns the index
// behind it; 0 if no layout fits.
func (r *Reader) parseFast(b []byte, i, w int) int {
	if w-i < maxLiteral+16 {
		return 0
	}
	for k, l := range r.layouts {
		if e := r.parseBy(l, b, i, w); e > 0 {
			if k > 0 {
				r.layouts[0], r.layouts[k] = l, r.layouts[0]
			}
			return e
		}
	}
	return 0
}

// parseBy reads the event at b[i] by the layout l, and returns the index behind it; 0 if it does not fit.
func (r *Reader) parseBy(l *layout, b []byte, i, w int) int {
	p := unsafe.Pointer(unsafe.SliceData(b))
	ev := &r.ev
	*ev = event{ph: l.ph, hasKeys: true}
	for k := range l.n {
		s := &l.steps[k&(maxSteps-1)]
		if i+s.lit.n+32 > w || !s.lit.at(p, i) || s.lit.n > 16 && !s.lit.rest(p, i) {
			return 0
		}
		i += s.lit.n
		switch s.field {
		case fieldCat:
			if s.last.n > 0 && s.last.at(p, i) {
				ev.cat = nameID(s.last.v)
				i += s.last.n - 1
				break
			}
			id, e := r.sh.names.scan(b, i, w)
			if e < 0 {
				return 0
			}
			ev.cat = id
			s.last.keep(b[i:e+1], int64(id))
			i = e
		case fieldName:
			id, e := r.sh.names.scan(b, i, w)
			if e < 0 {
				var fl textFlags
				var st status
				if e, fl, st = scanString(b, i, w); st != stOK {
					return 0
				}
				id = r.sh.names.raw(b[i:e], fl)
				ev.fl |= fl & flagRepaired
			}
			ev.name = id
			i = e
		case fieldTs, fieldDur:
			v, n := s.micros(p, i)
			if n == 0 {
				return 0
			}
			i += n
			if s.field == fieldTs {
				ev.ts, ev.tsKind, ev.hasTS = v, numOK, true
			} else {
				ev.dur, ev.durKind, ev.hasDur = v, numOK, true
			}
		case fieldPid, fieldTid, fieldID:
			v, n := s.last.v, s.last.n-1
			if n < 0 || !s.last.at(p, i) {
				if v, n = fastInt(p, i); n == 0 {
					return 0
				}
				if s.field != fieldID {
					s.last.keep(b[i:i+n+1], v)
				}
			}
			i += n
			switch s.field {
			case fieldPid:
				ev.pid = ident{v, identNumber}
			case fieldTid:
				ev.tid = ident{v, identNumber}
			default:
				ev.id, ev.hasID = uint64(v), true
			}
		case fieldArgs:
			if b[i] != '{' {
				return 0
			}
			e := r.fastArgs(l, b, i, w)
			if e == 0 {
				var fl textFlags
				var st status
				ev.gpu = false // of args that stood before these
				if e, fl, st = skipNested(b, i, w); st != stOK {
					return 0
				}
				if ev.fl |= fl &^ flagDirty; fl == 0 {
					r.learnArgs(l, b, i, e)
				}
			}
			ev.args, ev.argsEnd = i, e
			i = e
		}
	}
	if i+l.tail.n+16 > w || !l.tail.at(p, i) || l.tail.n > 16 && !l.tail.rest(p, i) {
		return 0
	}
	return i + l.tail.n
}

// digits8 reads up to eight digits at p[i] at once; n is how many there are.
func digits8(p unsafe.Pointer, i int) (v uint64, n int) {
	x := *(*uint64)(unsafe.Add(p, i)) ^ ones*'0'
	n = bits.TrailingZeros64(((x+ones*0x76)|x)&highs) >> 3
	x <<= 64 - 8*uint(n) // as if zeros stood before them
	x = x*10 + x>>8      // pairs of digits, then fours, then all eight
	return ((x&0x000000ff000000ff)*0x000f424000000064 + (x>>16&0x000000ff000000ff)*0x0000271000000001) >> 32, n
}

var pow10 = [...]uint64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// fastInt reads the digits at p[i] as an integer; n is their length, 0 for none or more
// than 16.
func fastInt(p unsafe.Pointer, i int) (v int64, n int) {
	u, n := digits8(p, i)
	if n == 8 {
		t, k := digits8(p, i+8)
		u, n = u*pow10[k]+t, n+k
		if n == 16 {
			return 0, 0
		}
	}
	return int64(u), n
}

// micros reads the digits at p[i] as microseconds with up to three decimals, into ns; n is
// their length, 0 for anything longer or other. A number that goes on (more decimals, an
// exponent) is noticed by the literal that must follow. The first eight digits of a time are
// mostly those of the one before.
func (s *layoutStep) micros(p unsafe.Pointer, i int) (ns int64, n int) {
	x := *(*uint64)(unsafe.Add(p, i))
	var u uint64
	if x == s.last.w0 && s.last.n == 8 {
		u, n = uint64(s.last.v), 8
	} else if u, n = digits8(p, i); n == 8 {
		s.last.w0, s.last.v, s.last.n = x, int64(u), 8
	} else if n == 0 {
		return 0, 0
	}
	if n == 8 {
		t, k := digits8(p, i+8)
		u, n = u*pow10[k]+t, n+k
		if n == 16 {
			return 0, 0
		}
	}
	v := int64(u)
	if *(*byte)(unsafe.Add(p, i+n)) != '.' {
		return v * 1000, n
	}
	d, k := digits8(p, i+n+1)
	if k == 0 || k > 3 {
		return 0, 0
	}
	return v*1000 + int64(d*pow10[3-k]), n + 1 + k
}
