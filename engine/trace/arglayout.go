package trace

import (
	"math/bits"
	"unsafe"
)

// argLayout is a layout of args: what lies between the values of one event's arguments. Events of
// one category mostly have the same arguments, and stepping over them by comparing words is
// cheaper than looking at each quote and bracket. Whatever does not fit is read by skipNested
// and readGPUArgs, with the same result.
type argLayout struct {
	steps [maxArgSteps]argStep
	n     int
	tail  literal // behind the last value, with the closing brace
	gpu   bool    // of the arguments that readGPUArgs asks for, all that are there are digits
}

type argStep struct {
	lit  literal // before the value, with a string's opening quote
	kind argKind
	use  argUse
}

// argKind is how a value was written.
type argKind uint8

const (
	argDigits  argKind = iota // an integer without a sign
	argDecimal                // any other plain number
	argPlain                  // a string without anything to decode
	argNested                 // an object or a list
	argWord                   // true, false, null
)

const (
	maxArgSteps   = 24
	maxArgLayouts = 4   // of one layout
	maxArgLearned = 512 // args that may be learned from, of all layouts
)

// learnArgs adds the layout of the args b[i:end], in which skipNested found nothing to note.
func (r *Reader) learnArgs(of *layout, b []byte, i, end int) {
	if r.learnedArgs >= maxArgLearned {
		return
	}
	r.learnedArgs++
	l := &argLayout{gpu: true}
	from := i // where the text between two values begins
	j := skipSpace(b, i+1)
	for b[j] == '"' {
		e, fl, st := scanString(b, j+1, end)
		if st != stOK || fl != 0 {
			return
		}
		v := skipSpace(b, e+1)
		if b[v] != ':' {
			return
		}
		v = skipSpace(b, v+1)
		s := &argStep{use: argUseOf(load64(b, j+1), e-j-1)}
		start, stop, ve := v, 0, 0
		if s.kind, ve = argKindOf(b, v, end); ve == 0 || l.n == maxArgSteps {
			return
		}
		if stop = ve; s.kind == argPlain {
			start, stop = v+1, ve-1
		}
		if s.use != useNone && (s.kind != argDigits || ve-v > 15) {
			l.gpu = false
		}
		if !s.lit.set(b[from:start]) {
			return
		}
		l.steps[l.n] = *s
		l.n++
		from = stop
		if j = skipSpace(b, ve); b[j] != ',' {
			break
		}
		j = skipSpace(b, j+1)
	}
	if b[j] != '}' || j+1 != end || !l.tail.set(b[from:end]) {
		return
	}
	if len(of.args) < maxArgLayouts {
		of.args = append(of.args, l)
	} else {
		of.args[r.learnedArgs%maxArgLayouts] = l
	}
}

// argKindOf tells how the value at b[v] is written and where it ends, 0 for any other.
func argKindOf(b []byte, v, end int) (k argKind, ve int) {
	switch c := b[v]; {
	case c == '"':
		e, fl, st := scanString(b, v+1, end)
		if st != stOK || fl != 0 {
			return 0, 0
		}
		return argPlain, e + 1
	case c == '{' || c == '[':
		e, _, st := skipNested(b, v, end)
		if st != stOK {
			return 0, 0
		}
		return argNested, e
	case isLetter(c):
		e, _, st := skipWord(b, v, end)
		if st != stOK {
			return 0, 0
		}
		return argWord, e
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if e := skipDecimal(p, v); e > v {
		k = argDecimal
		if skipDigits(p, v) == e {
			k = argDigits
		}
		return k, e
	}
	return 0, 0
}

// skipDigits returns the index behind the digits at p[i].
func skipDigits(p unsafe.Pointer, i int) int {
	for {
		x := *(*uint64)(unsafe.Add(p, i)) ^ ones*'0'
		if m := ((x + ones*0x76) | x) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
}

// skipDecimal returns the index behind the sign, digits, point and digits at p[i], i if there
// are none.
func skipDecimal(p unsafe.Pointer, i int) int {
	j := i
	if *(*byte)(unsafe.Add(p, j)) == '-' {
		j++
	}
	e := skipDigits(p, j)
	if e == j {
		return i
	}
	if *(*byte)(unsafe.Add(p, e)) == '.' {
		if f := skipDigits(p, e+1); f > e+1 {
			return f
		}
	}
	return e
}

// fastArgs steps over the args at b[i] by a layout that was learned, and returns the index
// behind them; 0 if none fits.
func (r *Reader) fastArgs(of *layout, b []byte, i, w int) int {
	for k, l := range of.args {
		if e := r.argsBy(l, b, i, w); e > 0 {
			if k > 0 {
				of.args[0], of.args[k] = l, of.args[0]
			}
			return e
		}
	}
	return 0
}

// argsBy steps over the args at b[i] by the layout l.
func (r *Reader) argsBy(l *argLayout, b []byte, i, w int) int {
	p := unsafe.Pointer(unsafe.SliceData(b))
	var a gpuArgs
	var fl textFlags
	for k := range l.n {
		s := &l.steps[k]
		if i+maxLiteral+32 > w || !s.lit.at(p, i) || s.lit.n > 16 && !s.lit.rest(p, i) {
			return 0
		}
		i += s.lit.n
		e := i
		switch s.kind {
		case argDigits:
			if s.use == useNone {
				e = skipDigits(p, i)
				break
			}
			v, n := fastInt(p, i)
			a.take(s.use, v)
			e = i + n
		case argDecimal:
			e = skipDecimal(p, i)
		case argPlain:
			for {
				x := *(*uint64)(unsafe.Add(p, e))
				q, o := x^(ones*'"'), x^(ones*'\\')
				if m := ((q - ones) | (o - ones) | (x - ones*0x20) | x) & highs; m != 0 {
					e += bits.TrailingZeros64(m) >> 3
					break
				}
				if e += 8; e >= w {
					return 0
				}
			}
			i = -1 // may be empty; what does not end with a quote fails at the next literal
		case argNested:
			if c := b[i]; c == '[' || c == '{' {
				end, f, st := skipNested(b, i, w)
				if st != stOK {
					return 0
				}
				fl |= f
				e = end
			}
		case argWord:
			if isLetter(b[i]) {
				end, f, st := skipWord(b, i, w)
				if st != stOK {
					return 0
				}
				fl |= f
				e = end
			}
		}
		if e == i {
			return 0
		}
		i = e
	}
	if i+l.tail.n+16 > w || !l.tail.at(p, i) || l.tail.n > 16 && !l.tail.rest(p, i) {
		return 0
	}
	r.ev.fl |= fl &^ flagDirty
	if r.ev.gpu = l.gpu; l.gpu {
		r.gpu = a
	}
	return i + l.tail.n
}
