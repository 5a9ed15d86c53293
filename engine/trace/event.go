package trace

// ident is a pid or tid: a number, or a string (v is then its nameID).
type ident struct {
	v    int64
	kind identKind
}

type identKind uint8

const (
	identAbsent identKind = iota
	identNumber
	identString
)

// event is one element of traceEvents as it stands in the file. Strings are interned,
// times are nanoseconds; args is left as bytes, since most events' args are not asked for.
type event struct {
	ts, dur         int64
	pid, tid        ident
	id              uint64
	cat, name       nameID
	args, argsEnd   int // offsets in the buffer; equal when there are none
	tsKind, durKind numKind
	ph              byte
	fl              textFlags
	hasTS, hasDur   bool
	hasKeys         bool
	hasID, idText   bool
	gpu             bool // the reader's gpu holds this event's
}

// Keys of an event, as the low bytes of the word that begins behind the opening quote.
const (
	keyPh   = 'p' | 'h'<<8 | '"'<<16
	keyTs   = 't' | 's'<<8 | '"'<<16
	keyID   = 'i' | 'd'<<8 | '"'<<16
	keyBp   = 'b' | 'p'<<8 | '"'<<16
	keyCat  = 'c' | 'a'<<8 | 't'<<16 | '"'<<24
	keyPid  = 'p' | 'i'<<8 | 'd'<<16 | '"'<<24
	keyTid  = 't' | 'i'<<8 | 'd'<<16 | '"'<<24
	keyDur  = 'd' | 'u'<<8 | 'r'<<16 | '"'<<24
	keyName = 'n' | 'a'<<8 | 'm'<<16 | 'e'<<24 | '"'<<32
	keyArgs = 'a' | 'r'<<8 | 'g'<<16 | 's'<<24 | '"'<<32
	keyS    = 's' | '"'<<8

	mask2, mask3, mask4, mask5 = 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1
)

type field uint8

const (
	fieldOther field = iota
	fieldPh
	fieldCat
	fieldName
	fieldPid
	fieldTid
	fieldTs
	fieldDur
	fieldArgs
	fieldID
)

// fieldOf tells which key the word k (the bytes behind a quote) begins with, and the
// key's length including its closing quote.
func fieldOf(k uint64) (field, int) {
	switch byte(k) {
	case 'p':
		if k&mask3 == keyPh {
			return fieldPh, 3
		}
		if k&mask4 == keyPid {
			return fieldPid, 4
		}
	case 't':
		if k&mask3 == keyTs {
			return fieldTs, 3
		}
		if k&mask4 == keyTid {
			return fieldTid, 4
		}
	case 'c':
		if k&mask4 == keyCat {
			return fieldCat, 4
		}
	case 'n':
		if k&mask5 == keyName {
			return fieldName, 5
		}
	case 'd':
		if k&mask4 == keyDur {
			return fieldDur, 4
		}
	case 'a':
		if k&mask5 == keyArgs {
			return fieldArgs, 5
		}
	case 'i':
		if k&mask3 == keyID {
			return fieldID, 3
		}
	}
	return fieldOther, 0
}

// fieldOfKey is fieldOf for a key with escapes in it.
func fieldOfKey(key []byte) field {
	var word [8]byte
	key = decodeString(key)
	if len(key) < len(word) {
		word[copy(word[:], key)] = '"'
	}
	f, _ := fieldOf(load64(word[:], 0))
	return f
}

// isEventKey reports whether the word k begins with a key that only events have, or that
// events begin with: what tells an event's start from any other object.
func isEventKey(k uint64) bool {
	f, _ := fieldOf(k)
	return f != fieldOther || k&mask3 == keyBp || k&mask2 == keyS
}

// parseEvent reads the object that opens at b[i] into r.ev and returns the index behind
// it. It takes what strict JSON allows, and of broken text what keeps its shape.
func (r *Reader) parseEvent(b []byte, i, w int) (end int, st status) {
	ev := &r.ev
	*ev = event{}
	i++
	for {
		i = skipSpace(b, i)
		if b[i] != '"' {
			if i >= w {
				return i, stMore
			}
			if b[i] == '}' { // an empty object, or a comma too many
				return i + 1, stOK
			}
			return i, stBad
		}
		f, n := fieldOf(load64(b, i+1))
		if n > 0 {
			i += 1 + n
			if i >= w {
				return w, stMore
			}
		} else {
			e, fl, st := scanString(b, i+1, w)
			if st != stOK {
				return e, st
			}
			if fl&flagDirty != 0 {
				f = fieldOfKey(b[i+1 : e])
			}
			ev.fl |= fl & flagRepaired
			i = e + 1
		}
		if b[i] != ':' {
			if i = skipSpace(b, i); i >= w {
				return w, stMore
			}
			if b[i] != ':' {
				return i, stBad
			}
		}
		if i++; b[i] == ' ' {
			i++
		}
		if b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		if i >= w {
			return w, stMore
		}
		if i, st = r.parseField(f, b, i, w); st != stOK {
			return i, st
		}
		ev.hasKeys = true
		if b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		switch {
		case i >= w:
			return w, stMore
		case b[i] == ',':
			i++
		case b[i] == '}':
			return i + 1, stOK
		default:
			return i, stBad
		}
	}
}

// parseField reads the value at b[i] of one key into r.ev; the last of two equal keys wins.
func (r *Reader) parseField(f field, b []byte, i, w int) (end int, st status) {
	ev := &r.ev
	var fl textFlags
	switch f {
	case fieldName:
		if b[i] == '"' {
			if id, e := r.sh.names.scan(b, i+1, w); e >= 0 {
				ev.name = id
				return e + 1, stOK
			}
			end, fl, st = scanString(b, i+1, w)
			if st != stOK {
				return end, st
			}
			ev.name = r.sh.names.raw(b[i+1:end], fl)
			ev.fl |= fl & flagRepaired
			return end + 1, stOK
		}
		ev.name = 0
	case fieldCat:
		if b[i] == '"' {
			end, fl, st = scanString(b, i+1, w)
			if st != stOK {
				return end, st
			}
			ev.cat = r.sh.names.raw(b[i+1:end], fl)
			ev.fl |= fl & flagRepaired
			return end + 1, stOK
		}
		ev.cat = 0
	case fieldPh:
		ev.ph = 0
		if b[i] == '"' {
			if b[i+2] == '"' && i+2 < w && b[i+1] >= ' ' && b[i+1] != '\\' {
				ev.ph = b[i+1]
				return i + 3, stOK
			}
			end, fl, st = scanString(b, i+1, w)
			if st != stOK {
				return end, st
			}
			if t := decodeString(b[i+1 : end]); len(t) == 1 {
				ev.ph = t[0]
			}
			ev.fl |= fl & flagRepaired
			return end + 1, stOK
		}
	case fieldTs, fieldDur:
		v, k, end, st := parseTime(b, i, w)
		if st != stOK {
			return end, st
		}
		if f == fieldTs {
			ev.ts, ev.tsKind, ev.hasTS = v, k, true
		} else {
			ev.dur, ev.durKind, ev.hasDur = v, k, true
		}
		return end, stOK
	case fieldPid, fieldTid:
		id, end, st := r.parseIdent(b, i, w)
		if st != stOK {
			return end, st
		}
		if f == fieldPid {
			ev.pid = id
		} else {
			ev.tid = id
		}
		return end, stOK
	case fieldID:
		id, end, st := r.parseIdent(b, i, w)
		if st != stOK {
			return end, st
		}
		ev.id, ev.hasID, ev.idText = uint64(id.v), id.kind != identAbsent, id.kind == identString
		return end, stOK
	case fieldArgs:
		ev.args, ev.argsEnd = 0, 0
		if b[i] == '{' {
			end, fl, st = skipNested(b, i, w)
			if st != stOK {
				return end, st
			}
			ev.args, ev.argsEnd = i, end
			ev.fl |= fl &^ flagDirty
			return end, stOK
		}
	}
	end, fl, st = skipValue(b, i, w)
	ev.fl |= fl &^ flagDirty
	return end, st
}

// parseTime reads a number of microseconds, also one in quotes. A value that is no number
// is stepped over and reported as absent.
func parseTime(b []byte, i, w int) (ns int64, k numKind, end int, st status) {
	// The usual shape, in one pass: up to 15 digits, a point, up to three decimals.
	j, v := i, int64(0)
	for j-i < 16 && isDigit(b[j]) {
		v = v*10 + int64(b[j]-'0')
		j++
	}
	if n := j - i; n > 0 && n < 16 {
		f, frac := 0, int64(0)
		if b[j] == '.' {
			j++
			for f < 3 && isDigit(b[j]) {
				frac = frac*10 + int64(b[j]-'0')
				f++
				j++
			}
		}
		if c := b[j]; (c == ',' || c == '}' || c == '\n' || c == ' ') && j < w {
			switch f {
			case 0:
				frac = 0
			case 1:
				frac *= 100
			case 2:
				frac *= 10
			}
			return v*1000 + frac, numOK, j, stOK
		}
	}
	s, e, end, st := valueText(b, i, w)
	if st != stOK || s < 0 {
		return 0, numAbsent, end, st
	}
	ns, k = parseNanos(b[s:e])
	return ns, k, end, stOK
}

// valueText returns the bounds of the text of the number or string at b[i], blanks cut
// off (s is -1 for any other value), and the index behind the value.
func valueText(b []byte, i, w int) (s, e, end int, st status) {
	end, _, st = skipValue(b, i, w)
	if st != stOK {
		return -1, -1, end, st
	}
	s, e = i, end
	switch c := b[i]; {
	case c == '"':
		s, e = i+1, end-1
	case c == '{' || c == '[':
		return -1, -1, end, stOK
	}
	for s < e && isSpace(b[s]) {
		s++
	}
	for s < e && isSpace(b[e-1]) {
		e--
	}
	return s, e, end, stOK
}

// parseIdent reads a pid, tid or id: an integer, a string that holds one, or any string.
func (r *Reader) parseIdent(b []byte, i, w int) (id ident, end int, st status) {
	j, v := i, int64(0)
	for j-i < 18 && isDigit(b[j]) {
		v = v*10 + int64(b[j]-'0')
		j++
	}
	if j > i && j < w && (b[j] == ',' || b[j] == '}') {
		return ident{v, identNumber}, j, stOK
	}
	s, e, end, st := valueText(b, i, w)
	if st != stOK {
		return id, end, st
	}
	if s < 0 || s < e && b[i] != '"' && isLetter(b[i]) { // an object, null, nan
		return ident{}, end, stOK
	}
	if v, k := parseInt(b[s:e]); k == numOK || k == numWrapped { // an unsigned 64-bit id keeps its bits
		return ident{v, identNumber}, end, stOK
	}
	if b[i] != '"' {
		return ident{}, end, stOK
	}
	_, fl, _ := scanString(b, i+1, w)
	r.ev.fl |= fl & flagRepaired
	return ident{int64(r.sh.names.raw(b[i+1:end-1], fl)), identString}, end, stOK
}
