package trace

import "bytes"

// repairEvent reads the event that opens at b[i] and must end before limit, where the next
// one begins. It is only asked when parseEvent gave up, and bends the grammar where
// producers break it: quotes inside strings, commas and closing quotes that are missing,
// comments. It returns the index behind the event.
func (r *Reader) repairEvent(b []byte, i, limit int) (end int, ok bool) {
	r.ev = event{}
	i++
	for {
		i = r.repairBlank(b, i, limit)
		if i >= limit {
			return 0, false
		}
		if b[i] == '}' {
			return i + 1, r.ev.hasKeys
		}
		if b[i] != '"' {
			return 0, false
		}
		k := bytes.IndexByte(b[i+1:limit], '"')
		if k < 0 {
			return 0, false
		}
		f, _ := fieldOf(load64(b, i+1))
		if key := b[i+1 : i+1+k]; bytes.IndexByte(key, '\\') >= 0 {
			f = fieldOfKey(key)
		}
		i = skipSpace(b, i+k+2)
		if i >= limit || b[i] != ':' {
			return 0, false
		}
		if i = skipSpace(b, i+1); i >= limit {
			return 0, false
		}
		if i, ok = r.repairField(f, b, i, limit); !ok {
			return 0, false
		}
		r.ev.hasKeys = true
	}
}

// repairBlank steps over blanks, commas and comments between members.
func (r *Reader) repairBlank(b []byte, i, limit int) int {
	for i < limit {
		switch {
		case isSpace(b[i]) || b[i] == ',' || b[i] < 0x20:
			i++
		case b[i] == '/' && i+1 < limit:
			e := commentEnd(b, i, limit)
			if e == i {
				return i
			}
			i = e
		default:
			return i
		}
	}
	return i
}

// commentEnd returns the index behind the comment at b[i], i if there is none.
func commentEnd(b []byte, i, limit int) int {
	end := "\n"
	switch b[i+1] {
	case '/':
	case '*':
		end = "*/"
	default:
		return i
	}
	if k := bytes.Index(b[i+2:limit], []byte(end)); k >= 0 {
		return i + 2 + k + len(end)
	}
	return limit
}

func (r *Reader) repairField(f field, b []byte, i, limit int) (end int, ok bool) {
	ev := &r.ev
	switch c := b[i]; {
	case c == '"':
		e, next := r.stringEnd(b, i+1, limit, false)
		if e < 0 {
			return 0, false
		}
		text := b[i+1 : e]
		switch f {
		case fieldName:
			ev.name = r.sh.names.intern(decodeString(text))
		case fieldCat:
			ev.cat = r.sh.names.intern(decodeString(text))
		case fieldPh:
			ev.ph = 0
			if len(text) == 1 {
				ev.ph = text[0]
			}
		case fieldTs:
			ev.ts, ev.tsKind = parseNanos(bytes.TrimSpace(text))
			ev.hasTS = true
		case fieldDur:
			ev.dur, ev.durKind = parseNanos(bytes.TrimSpace(text))
			ev.hasDur = true
		case fieldPid, fieldTid, fieldID:
			id := ident{int64(r.sh.names.intern(decodeString(text))), identString}
			if v, k := parseInt(bytes.TrimSpace(text)); k == numOK {
				id = ident{v, identNumber}
			}
			r.setIdent(f, id)
		}
		return next, true
	case c == '{' || c == '[':
		e, fl, st := skipNested(b, i, limit)
		if st != stOK {
			if e = r.repairNested(b, i, limit); e < 0 {
				return 0, false
			}
		}
		if f == fieldArgs && c == '{' {
			ev.args, ev.argsEnd = i, e
			ev.fl |= fl & flagNonfinite
		}
		return e, true
	}
	e := i
	for e < limit && b[e] != ',' && b[e] != '}' && b[e] != ']' && b[e] != '"' && !isSpace(b[e]) {
		e++
	}
	if e == i {
		return 0, false
	}
	switch f {
	case fieldTs:
		ev.ts, ev.tsKind = parseNanos(b[i:e])
		ev.hasTS = true
	case fieldDur:
		ev.dur, ev.durKind = parseNanos(b[i:e])
		ev.hasDur = true
	case fieldPid, fieldTid, fieldID:
		if v, k := parseInt(b[i:e]); k == numOK {
			r.setIdent(f, ident{v, identNumber})
		}
	}
	return e, true
}

func (r *Reader) setIdent(f field, id ident) {
	switch f {
	case fieldPid:
		r.ev.pid = id
	case fieldTid:
		r.ev.tid = id
	default:
		r.ev.id, r.ev.hasID, r.ev.idText = uint64(id.v), true, id.kind == identString
	}
}

// stringEnd finds the end of a string whose quotes cannot be trusted: the first quote
// behind which a member, or the end of an object or list, follows; an escaped one only
// before a key that events have. inList allows a next string without a colon. end is the
// end of the content, next the index behind the string.
func (r *Reader) stringEnd(b []byte, i, limit int, inList bool) (end, next int) {
	quotes := 0
	for j := i; j < limit; j++ {
		if b[j] != '"' {
			continue
		}
		escaped := j > i && b[j-1] == '\\'
		n := r.repairBlank(b, j+1, limit)
		if n >= limit {
			return -1, -1
		}
		switch {
		case b[n] == '}' || b[n] == ']':
			if !escaped {
				return j, j + 1
			}
		case b[n] == '"' && memberAt(b, n, limit):
			if _, e, _ := eventKeyAt(b, n, limit); !escaped || e > 0 {
				return j, j + 1
			}
		case inList && n > j+1 && !escaped:
			return j, j + 1
		}
		// A known key behind a comma where no quote was met: the closing quote is missing.
		if _, e, _ := eventKeyAt(b, j, limit); e > 0 && quotes == 0 {
			if c := endsWithComma(b, i, j); c >= 0 {
				return c, c
			}
		}
		quotes++
	}
	return -1, -1
}

// endsWithComma returns the index of the comma that b[i:j] ends with, blanks aside, or -1.
func endsWithComma(b []byte, i, j int) int {
	for j--; j > i && isSpace(b[j]); j-- {
	}
	if j > i && b[j] == ',' {
		return j
	}
	return -1
}

// memberReach is how long the key of a member may be to be recognised.
const memberReach = 128

// memberAt reports whether "key": stands at b[i].
func memberAt(b []byte, i, limit int) bool {
	k := bytes.IndexByte(b[i+1:min(limit, i+1+memberReach)], '"')
	if k < 0 {
		return false
	}
	c := skipSpace(b, i+k+2)
	return c < limit && b[c] == ':'
}

// repairNested finds the end of an object or list with strings whose quotes cannot be
// trusted; -1 if there is none before limit.
func (r *Reader) repairNested(b []byte, i, limit int) int {
	var kinds []byte
	for i < limit {
		switch c := b[i]; c {
		case '{', '[':
			if len(kinds) >= 1<<10 {
				return -1
			}
			kinds = append(kinds, c)
			i++
		case '}', ']':
			kinds = kinds[:len(kinds)-1]
			if i++; len(kinds) == 0 {
				return i
			}
		case '"':
			if kinds[len(kinds)-1] == '{' && memberAt(b, i, limit) {
				i += bytes.IndexByte(b[i+1:limit], '"') + 2
				continue
			}
			e, next := r.stringEnd(b, i+1, limit, kinds[len(kinds)-1] == '[')
			if e < 0 {
				return -1
			}
			i = next
		default:
			i++
		}
	}
	return -1
}
