package trace

// gpuArgs are the arguments of GPU work and runtime calls that the analysis joins on.
type gpuArgs struct {
	device, stream       int64
	corr                 uint64 // 0: none
	hasDevice, hasStream bool
	graph                bool // has a graph id: the work came out of a graph replay
}

// eachArg calls f with the key and the value's bounds of every member of the object
// b[i:end] that can be read. b must be padded.
func eachArg(b []byte, i, end int, f func(key []byte, v, vEnd int)) {
	for i = skipSpace(b, i+1); i < end && b[i] == '"'; i = nextArg(b, i, end) {
		e, fl, st := scanString(b, i+1, end)
		if st != stOK {
			return
		}
		key := b[i+1 : e]
		if fl&flagDirty != 0 {
			key = decodeString(key)
		}
		if i = skipSpace(b, e+1); i >= end || b[i] != ':' {
			continue
		}
		if i = skipSpace(b, i+1); i >= end {
			return
		}
		ve, _, st := skipValue(b, i, end)
		if st != stOK {
			continue
		}
		f(key, i, ve)
		i = skipSpace(b, ve)
	}
}

// nextArg returns the index of the next member's key behind b[i], where its comma or the
// object's end is due; end if there is none. A value that cannot be read is stepped over.
func nextArg(b []byte, i, end int) int {
	if i < end && b[i] == ',' {
		if j := skipSpace(b, i+1); j < end && b[j] == '"' {
			return j
		}
	}
	if i < end && b[i] == '}' && skipSpace(b, i+1) >= end {
		return end
	}
	for ; i < end; i++ {
		if b[i] != ',' {
			continue
		}
		if j := skipSpace(b, i+1); j < end && b[j] == '"' && memberAt(b, j, end) {
			return j
		}
	}
	return end
}

// argUse says which of the arguments that the analysis joins on a key names.
type argUse uint8

const (
	useNone argUse = iota
	useDevice
	useStream
	useCorrelation
	useGraph
)

// argUseOf tells the use of the key of n bytes that begins with the word k.
func argUseOf(k uint64, n int) argUse {
	switch {
	case n == 6 && k&(1<<48-1) == 'd'|'e'<<8|'v'<<16|'i'<<24|'c'<<32|'e'<<40:
		return useDevice
	case n == 6 && k&(1<<48-1) == 's'|'t'<<8|'r'<<16|'e'<<24|'a'<<32|'m'<<40:
		return useStream
	case n == 11 && k == 'c'|'o'<<8|'r'<<16|'r'<<24|'e'<<32|'l'<<40|'a'<<48|'t'<<56:
		return useCorrelation
	case n == 8 && k == 'g'|'r'<<8|'a'<<16|'p'<<24|'h'<<32|' '<<40|'i'<<48|'d'<<56:
		return useGraph
	}
	return useNone
}

// take stores an argument that is a whole number.
func (a *gpuArgs) take(use argUse, v int64) {
	switch use {
	case useDevice:
		a.device, a.hasDevice = v, true
	case useStream:
		a.stream, a.hasStream = v, true
	case useCorrelation:
		a.corr = uint64(v)
	case useGraph:
		a.graph = v != 0
	}
}

// gpuArgs returns the arguments that GPU work and runtime calls carry, of the event that was
// just read.
func (r *Reader) gpuArgs(b []byte) gpuArgs {
	if r.ev.gpu {
		return r.gpu
	}
	return r.readGPUArgs(b, r.ev.args, r.ev.argsEnd)
}

// readGPUArgs reads the arguments that GPU work and runtime calls carry.
func (r *Reader) readGPUArgs(b []byte, i, end int) (a gpuArgs) {
	if i >= end {
		return a
	}
	var word [16]byte
	for i = skipSpace(b, i+1); i < end && b[i] == '"'; {
		k := load64(b, i+1)
		n, st := shortString(b, i+1), stOK
		if n >= 0 {
			i += n + 2
		} else {
			e, fl, st := scanString(b, i+1, end)
			if st != stOK {
				return a
			}
			if n = e - i - 1; fl&flagDirty != 0 {
				clear(word[:])
				n = copy(word[:], decodeString(b[i+1:e]))
				k = load64(word[:], 0)
			}
			i = e + 1
		}
		if i = skipSpace(b, i); i >= end || b[i] != ':' {
			i = nextArg(b, i, end)
			continue
		}
		if i = skipSpace(b, i+1); i >= end {
			return a
		}
		var ve int
		switch argUseOf(k, n) {
		case useDevice:
			a.device, ve, a.hasDevice, st = argInt(b, i, end)
		case useStream:
			a.stream, ve, a.hasStream, st = argInt(b, i, end)
		case useCorrelation:
			var v int64
			v, ve, _, st = argInt(b, i, end)
			a.corr = uint64(v)
		case useGraph:
			var v int64
			v, ve, _, st = argInt(b, i, end)
			a.graph = v != 0
		default:
			if ve = i; b[i] <= '9' && b[i] != '"' { // a number: skipNested has seen that it is one
				for ve < end && b[ve] != ',' && b[ve] != '}' && !isSpace(b[ve]) {
					ve++
				}
				break
			}
			ve, _, st = skipValue(b, i, end)
		}
		if st == stOK {
			i = skipSpace(b, ve)
		}
		if i < end && b[i] == ',' {
			if j := skipSpace(b, i+1); b[j] == '"' && j < end {
				i = j
				continue
			}
		}
		i = nextArg(b, i, end)
	}
	return a
}

// argInt reads an integer argument, also one in quotes; ok is false for anything else.
func argInt(b []byte, i, w int) (v int64, end int, ok bool, st status) {
	j := i
	for j-i < 18 && isDigit(b[j]) {
		v = v*10 + int64(b[j]-'0')
		j++
	}
	if j > i && j < w && (b[j] == ',' || b[j] == '}' || isSpace(b[j])) {
		return v, j, true, stOK
	}
	s, e, end, st := valueText(b, i, w)
	if st != stOK || s < 0 {
		return 0, end, false, st
	}
	v, k := parseInt(b[s:e])
	if k == numWrapped { // an unsigned 64-bit id keeps its bits
		k = numOK
	}
	if k != numOK {
		v = 0
	}
	return v, end, k == numOK, stOK
}

// argText returns the text of the string or number argument b[v:end], decoded, without
// the second pair of quotes that some producers wrap around it.
func argText(b []byte, v, end int) []byte {
	s := b[v:end]
	if len(s) >= 2 && s[0] == '"' {
		s = decodeString(s[1 : len(s)-1])
		if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
			s = s[1 : len(s)-1]
		}
	}
	return s
}
