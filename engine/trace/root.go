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
		r.root, r.state = '{', stateHeader
	case '[':
		r.root = '['
		r.sh.header.array = true
		r.openArray(r.base + int64(i))
	default:
		if w-i < 16 && !r.eof {
			return stMore // enough to say what it is
		}
		r.fail(notTrace(b[i:w], r.base+int64(i)))
		return stOK
	}
	r.r++
	return stOK
}

// openArray enters a list of events whose bracket stands at off.
func (r *Reader) openArray(off int64) {
	r.sh.header.eventLists++
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
	r.sh.note(issComment, r.base+int64(i))
	r.r, r.inBlock, r.back, r.state = i+2, b[i+1] == '*', r.state, stateComment
	return i, stElse
}

// skipComment goes on to the end of a comment of any length.
func (r *Reader) skipComment() status {
	b, w := r.buf, r.w
	end, n := []byte("\n"), 1
	if r.inBlock {
		end, n = []byte("*/"), 2
	}
	k := bytes.Index(b[r.r:w], end)
	if k < 0 {
		r.r = max(r.r, w-n+1) // the end may be cut in two by the chunk
		if r.eof {
			r.r, r.state = w, r.back
		}
		return stMore
	}
	r.r, r.state = r.r+k+n, r.back
	return stOK
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
		e, _, st := scanString(b, i+1, w)
		if st != stOK {
			return st
		}
		key := b[i+1 : e]
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
		end, _, st := skipValue(b, v, w)
		if st == stMore {
			return stMore
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
		if n >= w && !r.eof {
			return stMore
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
	r.r = i + 1
	r.state = stateHunt
	return stOK
}

// hunt looks for the next key that a trace's root is known to have, followed by a colon.
func (r *Reader) hunt() status {
	b, w := r.buf, r.w
	for i := r.r; ; {
		k := bytes.IndexByte(b[i:w], '"')
		if k < 0 {
			r.r = w
			return stMore
		}
		i += k
		r.r = i
		const longest = 24
		e := bytes.IndexByte(b[i+1:min(w, i+1+longest)], '"')
		if e < 0 {
			if w < i+1+longest && !r.eof {
				return stMore
			}
			i++
			continue
		}
		if headerKeys[string(b[i+1:i+1+e])] {
			c := skipSpace(b, i+e+2)
			if c >= w && !r.eof {
				return stMore
			}
			if c < w && b[c] == ':' {
				r.state = stateHeader
				return stOK
			}
		}
		i++
	}
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
	case '{', '[':
		r.sh.note(issSecondDocument, off)
	default:
		r.sh.note(issJunkAfterRoot, off)
	}
	r.r = w
	return stMore
}
