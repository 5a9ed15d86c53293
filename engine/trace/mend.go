package trace

import "bytes"

// What is done about a list of events whose own brackets or key are damaged: a byte lost
// there must not cost the events around it.

// probeReach is how long an event may be to be recognised where none is expected. A next
// one is near if it is longer.
const probeReach = 1 << 14

// mendReach is how far it is looked for the end of what has taken in an event: each bracket
// of a hostile file may open such a thing, and looking farther for each would take minutes.
const mendReach = 1 << 11

// eventAt reports whether a whole event stands at b[i]; known is false when that takes more
// bytes to tell. end is how far the search looked: trying again before it would cost the
// square of a hostile file's length. It spoils r.ev.
func (r *Reader) eventAt(b []byte, i, w int) (found, known bool, end int) {
	limit := min(w, i+probeReach)
	_, e, known := eventKeyAt(b, i+1, limit)
	if !known {
		return false, r.eof || limit < w, i + 1
	}
	if e == 0 {
		return false, true, i + 1
	}
	end, st := r.parseEvent(b, i, limit)
	if st == stMore {
		return false, r.eof || limit == i+probeReach, limit
	}
	return st == stOK && r.ev.ph != 0 && (r.ev.hasTS || r.ev.ph == 'M'), true, max(end, i+1)
}

// enterAt goes on with the list of events at the event b[i], which stood where none is due.
func (r *Reader) enterAt(i int) {
	off := r.base + int64(i)
	r.sh.note(issListDamaged, off)
	if !r.listSeen {
		r.sh.header.eventLists++
	}
	r.r, r.listSeen = i, true
	r.state, r.afterElem, r.sawComma, r.comma = stateArray, false, false, off
}

// goesOn reports whether the trace goes on behind the root, which brackets too many had
// closed: with an event, or with a member that a root is known to have. at is its index.
func (r *Reader) goesOn(b []byte, i, w int) (found bool, at int, known bool) {
	const longest = 256 // of brackets and blanks
	comma := false      // no document begins behind one
	for j := i; j < i+longest; j++ {
		if j >= w {
			return false, j, r.eof
		}
		switch c := b[j]; {
		case c == '{' && comma:
			_, end, known := eventKeyAt(b, j+1, w)
			return end > 0, j, known || r.eof
		case c == '{':
			found, known, _ = r.eventAt(b, j, w)
			return found, j, known
		case c == '"' && comma:
			found, known = rootKeyAt(b, j, w)
			return found, j, known || r.eof
		case c != ',' && c != '}' && c != ']' && !isSpace(c):
			return false, j, true
		}
		comma = comma || b[j] == ','
	}
	return false, i, true
}

// rootKeyAt reports whether a key that a trace's root is known to have stands at the quote
// b[i], followed by a colon; known is false when that takes more bytes to tell.
func rootKeyAt(b []byte, i, w int) (found, known bool) {
	const longest = 24
	e := bytes.IndexByte(b[i+1:min(w, i+1+longest)], '"')
	if e < 0 {
		return false, w >= i+1+longest
	}
	if !headerKeys[string(b[i+1:i+1+e])] {
		return false, true
	}
	c := skipSpace(b, i+e+2)
	if c >= w {
		return false, false
	}
	return b[c] == ':', true
}

// rootBehind returns where a trace begins behind other text at the file's start, such as the
// output of the program that wrote it; -1 for nowhere near.
func (r *Reader) rootBehind(i int) (at int, known bool) {
	b, w := r.buf, min(r.w, i+lookahead)
	if w < i+lookahead && !r.eof {
		return -1, false
	}
	for ; i < w; i++ {
		if c := b[i]; c != '{' && c != '[' {
			continue
		}
		found, _ := documentAt(b, i, w)
		if found && (b[i] == '[' || bytes.Contains(b[i:w], []byte(`"traceEvents"`))) {
			return i, true
		}
	}
	return -1, true
}

// startsWithEvent handles a root object that is an event itself: a list without its
// brackets, one event a line. It reports whether it is one; known is false when that takes
// more bytes to tell.
func (r *Reader) startsWithEvent(i int) (found, known bool) {
	found, known, _ = r.eventAt(r.buf, i, r.w)
	if found {
		r.sh.header.array = true
		r.enterAt(i)
		r.comma = -1 // as a bracket before it would stand: an empty range must not end here
	}
	return found, known
}

// isList reports whether the value at b[v] is the list of events although its key is damaged,
// or its bracket is missing: an event comes first.
func (r *Reader) isList(key, b []byte, v, w int) (found, known bool) {
	i := v
	switch {
	case b[v] == '{' && string(key) == "traceEvents":
	case b[v] == '[' && !r.listSeen && nearly(key, "traceEvents"):
		if i = skipSpace(b, v+1); i >= w {
			return false, r.eof
		}
		if b[i] != '{' {
			return false, true
		}
	default:
		return false, true
	}
	found, known, _ = r.eventAt(b, i, w)
	return found, known
}

// nearly reports whether key is want with bytes of it damaged, lost or put in at one place.
// Keys that are words of their own, such as otherEvents, are not.
func nearly(key []byte, want string) bool {
	if headerKeys[string(key)] {
		return false
	}
	for _, c := range key {
		if !isLetter(c) && !isDigit(c) && c != '_' && c != '-' && c != '.' && c != ' ' {
			return true
		}
	}
	p := 0
	for p < min(len(key), len(want)) && key[p] == want[p] {
		p++
	}
	s := 0
	for s < min(len(key), len(want))-p && key[len(key)-1-s] == want[len(want)-1-s] {
		s++
	}
	return p+s >= len(want)-3 || p >= 2 && p+s >= len(want)-6
}

// isDocument reports whether the object b[i:end], which is no event, has taken in the events
// behind it and the root's end: then it is the last thing in the file.
func (r *Reader) isDocument(b []byte, i, end, w int) (found, known bool) {
	if skipSpace(b, end) < w {
		return false, true
	}
	return r.eof && r.swallows(b, i, w), r.eof
}

// swallows reports whether a value that opens at b[i] and goes on for longer than values do,
// or to the end of the file, has taken in the events behind it because it lost a bracket.
func (r *Reader) swallows(b []byte, i, w int) bool {
	ev, limit := r.ev, min(w, i+lookahead)
	defer func() { r.ev = ev }()
	for i++; i < limit; {
		k := bytes.IndexByte(b[i:limit], '{')
		if k < 0 {
			return false
		}
		i += k
		found, _, end := r.eventAt(b, i, limit)
		if found {
			return true
		}
		i = end
	}
	return false
}

// parseObject is parseEvent for an element of the list. One that has taken in an event and
// does not end soon is bad: it lost a bracket.
func (r *Reader) parseObject(b []byte, i, w int) (end int, st status) {
	if limit := i + mendReach; limit < w {
		if end, st = r.parseEvent(b, i, limit); st != stMore {
			return end, st
		}
		if r.swallows(b, i, limit) {
			return i, stBad
		}
	}
	return r.parseEvent(b, i, w)
}

// listElement steps over an element of the list that is a list itself. Where it begins with
// an event and does not end soon, or not as an element does, its bracket was one too many: stBad.
func (r *Reader) listElement(b []byte, i, w int) (end int, st status) {
	j := skipSpace(b, i+1)
	if j >= w {
		return j, stMore
	}
	found, known := false, true
	if b[j] == '{' {
		if found, known, _ = r.eventAt(b, j, w); !known {
			return j, stMore
		}
	}
	if !found {
		end, _, st = skipValue(b, i, w)
		return end, st
	}
	limit := min(w, i+mendReach)
	end, _, st = skipNested(b, i, limit)
	switch {
	case st == stMore && (limit == i+mendReach || r.eof):
		return i, stBad
	case st != stOK:
		return end, st
	}
	n := skipSpace(b, end)
	if n < w && b[n] == ',' {
		if n = skipSpace(b, n+1); n < w && b[n] != '"' {
			return end, stOK
		}
		if n < w {
			if !r.eof && (w-n < memberReach || skipSpace(b, n+1+bytes.IndexByte(b[n+1:n+memberReach], '"')+1) >= w) {
				return end, stMore
			}
			if !memberAt(b, n, w) {
				return end, stOK
			}
		}
	}
	switch {
	case n >= w && !r.eof:
		return end, stMore
	case n >= w || b[n] != ']': // the end of the file, or the root's next member
		return i, stBad
	}
	return end, stOK
}

// documentAt reports whether a trace seems to begin at b[i]; known is false when that takes
// more bytes to tell.
func documentAt(b []byte, i, w int) (found, known bool) {
	j := skipSpace(b, i+1)
	switch {
	case j >= w:
		return false, false
	case b[i] == '[' && b[j] == '{':
		_, end, known := eventKeyAt(b, j+1, w)
		return end > 0, known
	case b[i] == '{' && b[j] == '"':
		return rootKeyAt(b, j, w)
	}
	return false, true
}
