package trace

import "bytes"

// readArray reads elements of the list of events until its end, or the end of the range.
func (r *Reader) readArray() status {
	for {
		b, w := r.buf, r.w
		i := r.r
		if b[i] <= ' ' {
			i = skipSpace(b, i)
			r.r = min(i, w)
		}
		if i >= w {
			return stMore
		}
		if b[i] == '/' {
			var st status
			if i, st = r.skipBlank(); st != stOK {
				return st
			}
		}
		c, off := b[i], r.base+int64(i)
		if r.afterElem && c == ',' && i+8 <= w { // the usual ways to the next event
			k := 0
			switch x := load64(b, i); {
			case x&mask5 == ','|'\n'<<8|' '<<16|' '<<24|'{'<<32:
				k = 4
			case x&mask3 == ','|' '<<8|'{'<<16 || x&mask3 == ','|'\n'<<8|'{'<<16:
				k = 2
			}
			if k > 0 {
				r.afterElem, r.sawComma, r.comma = false, true, off
				i += k
				r.r, c, off = i, '{', off+int64(k)
			}
		}
		switch {
		case r.afterElem && c == ',':
			r.r, r.afterElem, r.sawComma, r.comma = i+1, false, true, off
			continue
		case c == ']':
			if !r.afterElem && r.sawComma {
				r.sh.note(issTrailingComma, off)
			}
			r.closeArray(i + 1)
			return stOK
		case r.afterElem && c == '{':
			r.sh.note(issMissingComma, off)
			r.afterElem, r.sawComma, r.comma = false, false, off
		case r.afterElem:
			return r.junk(i)
		case c == ',':
			r.sh.note(issExtraComma, off)
			r.r, r.sawComma, r.comma = i+1, true, off
			continue
		}
		if r.comma >= r.end {
			r.state, r.stop = stateStopped, off
			return stOK
		}
		var e int
		var st status
		switch {
		case c == '[':
			e, st = r.listElement(b, i, w)
		case c != '{':
			e, _, st = skipValue(b, i, w)
		default:
			if e = r.parseFast(b, i, w); e > 0 {
				break
			}
			if e, st = r.parseObject(b, i, w); st == stOK {
				r.learn(b, i, e)
			}
		}
		if c == '{' && (st == stMore && (r.eof || w-i >= lookahead) || st == stOK && e-i > lookahead) && r.swallows(b, i, w) {
			st = stBad
		}
		if c == '{' && st == stOK && r.ev.ph == 0 {
			switch found, known := r.isDocument(b, i, e, w); {
			case !known:
				return stMore
			case found:
				st = stBad
			}
		}
		switch {
		case st == stMore:
			return stMore
		case e-i > maxElement:
			r.enterSkip()
			return stOK
		case st == stBad && c == '{':
			return r.damaged(i)
		case st == stBad && c == '[':
			r.sh.note(issListDamaged, off)
			r.r = i + 1
			r.lost(0)
			r.state = stateResync
			return stOK
		case st == stBad:
			return r.junk(i)
		case c == '{':
			r.accept(b, off)
		default:
			r.sh.events++
			r.sh.note(issSkipped, off)
		}
		r.r, r.afterElem = e, true
	}
}

// closeArray leaves the list of events; i is the index behind its bracket.
func (r *Reader) closeArray(i int) {
	r.r = i
	r.state = stateHeader
	if r.root == '[' {
		r.state = stateTail
	}
}

// junk steps over something between the events that is no element.
func (r *Reader) junk(i int) status {
	r.sh.note(issJunk, r.base+int64(i))
	r.r = i
	r.lost(0)
	if r.afterElem { // the event before it was whole
		r.lost('}')
	}
	r.state = stateResync
	return stOK
}

// damaged handles an event that does not parse: repair it within the bytes up to the next
// event, or give it up.
func (r *Reader) damaged(i int) status {
	r.lost(0)
	limit, st := r.boundary(r.buf, i+1, r.w)
	if st == stMore {
		if !r.eof && r.w-i <= maxElement {
			return stMore
		}
		limit = r.w
	}
	off := r.base + int64(i)
	if limit-i <= maxElement {
		if e, ok := r.repairEvent(r.buf, i, limit); ok {
			r.ev.fl |= flagRepaired
			r.accept(r.buf, off)
			r.r, r.afterElem = e, true
			return stOK
		}
	}
	r.sh.events++
	r.sh.note(issSkipped, off)
	r.r = i + 1
	r.lost(0)
	r.state = stateResync
	return stOK
}

// resync looks for the next event, or the end of the list, and goes on there.
func (r *Reader) resync() status {
	at, st := r.boundary(r.buf, r.r, r.w)
	r.r = at
	if st == stMore {
		if r.eof {
			r.r = r.w
		}
		return stMore
	}
	r.state = stateArray
	r.afterElem = r.buf[at] == ']'
	r.sawComma, r.comma = false, r.base+int64(at)
	return stOK
}

// lookahead is how far the search for a boundary looks behind a bracket.
const lookahead = 1 << 16

// boundary searches b[i:w] for a place where a damaged list of events goes on: the start
// of an event, or the list's end. It carries the last two bytes that are not blank in
// r.sig1 and r.sig2, so that it can go on in the next chunk. With stMore, at is where to go
// on.
func (r *Reader) boundary(b []byte, i, w int) (at int, st status) {
	for ; i < w; i++ {
		c := b[i]
		if isSpace(c) {
			r.lineStart = r.lineStart || c == '\n'
			continue
		}
		if c == '{' || c == ']' {
			found, known := false, true
			limit := min(w, i+lookahead)
			if c == '{' {
				found, known = r.eventStarts(b, i, limit)
			} else {
				found, known = r.listEnds(b, i, limit, r.eof && limit == w)
			}
			if !known && !r.eof && limit == w {
				return i, stMore
			}
			if found {
				return i, stOK
			}
		}
		r.sig1, r.sig2, r.lineStart = c, r.sig1, false
	}
	return w, stMore
}

// lost begins a search for a boundary; before is what stood there, 0 if it does not count.
func (r *Reader) lost(before byte) { r.sig1, r.sig2, r.lineStart = before, 0, false }

// eventStarts reports whether an event begins at b[i]; known is false when that takes more
// bytes to tell.
func (r *Reader) eventStarts(b []byte, i, w int) (found, known bool) {
	f, end, known := eventKeyAt(b, i+1, w)
	if !known || end == 0 {
		return false, known
	}
	switch {
	case f == fieldPh: // no other object begins so
		return true, true
	case r.sig1 == '}' || r.sig1 == ',' && r.sig2 == '}' || r.lineStart: // behind an event, or first on its line
		return true, true
	}
	return r.sig1 == ',' && (f == fieldName || f == fieldCat || f == fieldTs), true
}

// eventKeyAt reports which key of an event stands at b[i], behind blanks and followed by a
// colon; end is 0 if none does.
func eventKeyAt(b []byte, i, w int) (f field, end int, known bool) {
	j := skipSpace(b, i)
	if j+8 > w {
		return 0, 0, false
	}
	if b[j] != '"' {
		return 0, 0, true
	}
	k := load64(b, j+1)
	if !isEventKey(k) {
		return 0, 0, true
	}
	f, n := fieldOf(k)
	if n == 0 {
		n = bytes.IndexByte(b[j+1:w], '"') + 1
	}
	c := skipSpace(b, j+1+n)
	if c >= w {
		return 0, 0, false
	}
	if b[c] != ':' {
		return 0, 0, true
	}
	return f, c + 1, true
}

// listEnds reports whether the list of events ends at b[i]: a known key of the root, the
// root's end, or the end of the file follows; eof says that b[:w] is all there is.
func (r *Reader) listEnds(b []byte, i, w int, eof bool) (found, known bool) {
	j := skipSpace(b, i+1)
	if j >= w {
		return eof, eof
	}
	if r.root == '[' {
		return documentAt(b, j, w)
	}
	switch b[j] {
	case '}':
		if j = skipSpace(b, j+1); j >= w {
			return eof, eof
		}
		return documentAt(b, j, w)
	case ',':
		if j = skipSpace(b, j+1); j >= w {
			return false, false
		}
		if b[j] != '"' {
			return false, true
		}
		e := bytes.IndexByte(b[j+1:min(w, j+32)], '"')
		if e < 0 {
			return false, j+32 <= w
		}
		c := skipSpace(b, j+e+2)
		if c >= w {
			return false, false
		}
		// Lists of objects are rare inside events, so behind one any key is the root's.
		return b[c] == ':' && (headerKeys[string(b[j+1:j+1+e])] || r.sig1 == '}'), true
	}
	return false, true
}

// seek looks for the first event of a range that begins somewhere inside a file: in valid
// JSON a brace followed by a quoted key cannot stand inside a string, so only its depth is
// a guess.
func (r *Reader) seek() status {
	b, w := r.buf, r.w
	for i := r.r; ; i++ {
		k := bytes.IndexByte(b[i:w], ',')
		if k < 0 {
			r.r = w
			return stMore
		}
		i += k
		r.r = i
		if r.base+int64(i) >= r.end {
			r.state, r.stop = stateStopped, -1
			return stOK
		}
		j := skipSpace(b, i+1)
		if j >= w {
			return stMore
		}
		if b[j] != '{' {
			continue
		}
		_, end, known := eventKeyAt(b, j+1, w)
		if !known && !r.eof {
			return stMore
		}
		if end == 0 {
			continue
		}
		r.r, r.start, r.listSeen = j, r.base+int64(j), true
		r.state, r.afterElem, r.sawComma, r.comma = stateArray, false, true, r.base+int64(i)
		return stOK
	}
}

// skipper steps over an element or a member of any length, byte by byte.
type skipper struct {
	depth    int
	inString bool
	escaped  bool
}

// enterSkip steps over the element (or the member of the root) at r.r without holding it.
func (r *Reader) enterSkip() {
	off := r.base + int64(r.r)
	if r.state == stateArray {
		r.sh.events++
		r.sh.note(issSkipped, off)
		r.sh.note(issEventTooLong, off)
	} else {
		r.sh.note(issHeaderTooLong, off)
	}
	r.skip, r.back, r.state = skipper{}, r.state, stateSkip
}

// skipLong goes on until a comma or a closing bracket stands at the element's own depth.
func (r *Reader) skipLong() status {
	s := &r.skip
	for i, c := range r.buf[r.r:r.w] {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped = c == '\\'
			s.inString = c != '"'
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.depth++
		case s.depth == 0 && (c == ',' || c == '}' || c == ']'):
			r.r += i
			r.state, r.afterElem = r.back, true
			return stOK
		case c == '}' || c == ']':
			s.depth--
		}
	}
	r.r = r.w
	return stMore
}
