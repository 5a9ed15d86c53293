package trace

import "bytes"

// startRoot looks at the first byte that is not blank.
func (r *Reader) startRoot() status {
	b, w := r.buf, r.w
	if r.base+int64(r.r) == 0 && w-r.r < 3 && !r.eof {
		return stMore
	}
	if r.base+int64(r.r) == 0 && bytes.HasPrefix(b[r.r:w], []byte("\xef\xbb\xbf")) {
		r.r += 3
	}
	i, st := r.skipBlank()
	if st != stOK {
		return st
	}
	switch b[i] {
	case '{':
		r.root = '{'
		if found, known := r.startsWithEvent(i); !known {
			return stMore
		} else if found {
			return stOK
		}
		r.state = stateHeader
	case '[':
		r.root = '['
		r.sh.header.array = true
		r.openArray(r.base + int64(i))
	default:
		if w-i < 16 && !r.eof {
			return stMore // enough to say what it is
		}
		err := notTrace(b[i:w], r.base+int64(i))
		if err.Code == "not_trace" {
			switch at, known := r.rootBehind(i); {
			case !known:
				return stMore
			case at > 0:
				r.sh.note(issJunkBeforeRoot, r.base+int64(i))
				r.r = at
				return stOK
			}
		}
		r.fail(err)
		return stOK
	}
	r.r++
	return stOK
}

// openArray enters a list of events whose bracket stands at off.
func (r *Reader) openArray(off int64) {
	r.sh.header.eventLists++
	r.listSeen = true
	r.state, r.afterElem, r.sawComma, r.comma = stateArray, false, false, off
}

// skipBlank steps over white space from r.r on and returns the index of what follows. At a
// comment it changes to stateComment and returns stElse: the caller hands back to run. It
// may only be called between elements.
func (r *Reader) skipBlank() (int, status) {
	b, w := r.buf, r.w
	i := skipSpace(b, r.r)
	r.r = min(i, w)
	if i >= w {
		return i, stMore
	}
	if b[i] != '/' {
		return i, stOK
	}
	if i+1 >= w {
		return i, stMore
	}
	if b[i+1] != '/' && b[i+1] != '*' {
		return i, stOK
	}
	r.r, r.inBlock, r.back, r.state = i, b[i+1] == '*', r.state, stateComment
	return i, stElse
}

// skipComment goes on to the end of the comment that opens at r.r. One that does not end
// within a line's reasonable length is none: the events behind it would be lost.
func (r *Reader) skipComment() status {
	b, i, w := r.buf, r.r, r.w
	end, noEnd := []byte("\n"), &r.noEnd[0]
	if r.inBlock {
		end, noEnd = []byte("*/"), &r.noEnd[1]
	}
	limit := min(w, i+lookahead)
	from := min(max(i+2, int(*noEnd-r.base)), limit)
	if k := bytes.Index(b[from:limit], end); k >= 0 {
		r.sh.note(issComment, r.base+int64(i))
		r.r, r.state = from+k+len(end), r.back
		return stOK
	}
	*noEnd = r.base + int64(max(from, limit+1-len(end)))
	if w-i < lookahead && !r.eof {
		return stMore
	}
	switch r.state = r.back; r.state {
	case stateArray:
		return r.junk(i)
	case stateHeader:
		return r.damagedHeader(i)
	}
	r.sh.note(issComment, r.base+int64(i))
	r.r = w // nothing that matters can follow
	return stMore
}

// readHeader reads members of the root object until it enters the list of events or leaves
// the root.
func (r *Reader) readHeader() status {
	for {
		b, w := r.buf, r.w
		i, st := r.skipBlank()
		if st != stOK {
			return st
		}
		switch b[i] {
		case ',':
			r.r++
			continue
		case '}':
			r.r++
			r.state = stateTail
			return stOK
		case '"':
		default:
			return r.damagedHeader(i)
		}
		e, fl, st := scanString(b, i+1, w)
		if st != stOK {
			return st
		}
		key := b[i+1 : e]
		if fl&flagDirty != 0 {
			key = decodeString(key)
		}
		v := skipSpace(b, e+1)
		if v >= w {
			return stMore
		}
		if b[v] != ':' {
			return r.damagedHeader(i)
		}
		if v = skipSpace(b, v+1); v >= w {
			return stMore
		}
		if b[v] == '[' && string(key) == "traceEvents" {
			r.openArray(r.base + int64(v))
			r.r = v + 1
			return stOK
		}
		if string(key) == "ph" && b[v] == '"' { // an event's key: the list was left by a bracket too many
			return r.damagedHeader(i)
		}
		switch found, known := r.isList(key, b, v, w); {
		case !known:
			return stMore
		case found && b[v] == '{': // its bracket is lost
			r.enterAt(v)
			return stOK
		case found:
			r.sh.note(issListDamaged, r.base+int64(i))
			r.openArray(r.base + int64(v))
			r.r = v + 1
			return stOK
		}
		end, _, st := skipValue(b, v, w)
		if st == stMore || st == stOK && end-v > lookahead {
			if b[v] != '"' && (r.eof || w-v >= lookahead) && r.swallows(b, v, w) {
				return r.damagedHeader(i)
			}
			if st == stMore {
				return stMore
			}
		}
		if st == stBad {
			return r.damagedHeader(i)
		}
		if end-i > maxElement {
			r.enterSkip()
			return stOK
		}
		// A member must end with a comma or the root's end, or its value was misread.
		n := skipSpace(b, end)
		if n >= w {
			if !r.eof {
				return stMore
			}
			if b[v] != '"' && r.swallows(b, v, w) {
				return r.damagedHeader(i)
			}
		}
		if n < w && b[n] != ',' && b[n] != '}' && b[n] != '"' && b[n] != '/' {
			return r.damagedHeader(i)
		}
		r.sh.header.set(string(key), b, v, end)
		r.r = end
	}
}

// damagedHeader gives up the member at b[i] and looks for the next known key behind it.
func (r *Reader) damagedHeader(i int) status {
	r.sh.note(issHeaderDamaged, r.base+int64(i))
	if r.r = i; r.buf[i] != '{' { // which may begin an event
		r.r++
	}
	r.back, r.state = r.state, stateHunt
	return stOK
}

// hunt looks for the next key that a trace's root is known to have, followed by a colon, or
// for an event: then it was the list that was damaged.
func (r *Reader) hunt() status {
	b, w := r.buf, r.w
	for i := r.r; i < w; i++ {
		if b[i] == '{' {
			r.r = i
			found, known, end := r.eventAt(b, i, w)
			switch {
			case !known:
				return stMore
			case found:
				r.enterAt(i)
				return stOK
			}
			i = end - 1
			continue
		}
		if b[i] != '"' {
			continue
		}
		r.r = i
		switch found, known := rootKeyAt(b, i, w); {
		case !known && !r.eof:
			return stMore
		case found:
			r.state = stateHeader
			return stOK
		}
	}
	r.r = w
	return stMore
}

// readTail looks at what follows the root value: nothing should.
func (r *Reader) readTail() status {
	b, w := r.buf, r.w
	if r.sh.tallies[issJunkAfterRoot].count+r.sh.tallies[issSecondDocument].count > 0 {
		r.r = w
		return stMore
	}
	i, st := r.skipBlank()
	if st != stOK {
		return st
	}
	switch off := r.base + int64(i); b[i] {
	case ',', '}', ']':
		found, at, known := r.goesOn(b, i, w)
		switch {
		case !known:
			return stMore
		case found && b[at] == '"':
			r.sh.note(issHeaderDamaged, off)
			r.r, r.state = at, stateHeader
			return stOK
		case found:
			r.enterAt(at)
			return stOK
		case !r.listSeen: // the header is damaged: there is nothing to lose
			return r.damagedHeader(i)
		}
		r.sh.note(issJunkAfterRoot, off)
	case '{':
		found, known, _ := r.eventAt(b, i, w)
		switch {
		case !known:
			return stMore
		case found:
			r.enterAt(i)
			return stOK
		}
		r.sh.note(issSecondDocument, off)
	case '[':
		r.sh.note(issSecondDocument, off)
	default:
		if !r.listSeen {
			return r.damagedHeader(i)
		}
		r.sh.note(issJunkAfterRoot, off)
	}
	r.r = w
	return stMore
}
