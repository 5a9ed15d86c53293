package trace

import (
	"math/bits"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// nameID is an index into a names table; 0 is the empty string.
type nameID uint32

// nameFlags are facts about a name that the hot path asks for; they are worked out once,
// when the name is first met.
type nameFlags uint8

const (
	nfComm      nameFlags = 1 << iota // a communication kernel of NCCL or RCCL: "nccl" in its name
	nfDeepInfer                       // begins with "deepinfer:"
	nfLaunch                          // a runtime call that launches one kernel
	nfGraph                           // a runtime call that replays a graph
	nfNoLaunch                        // a runtime call that never puts work on the GPU
	nfOther                           // the stand-in for names beyond the cap
	nfCustom                          // a communication kernel of another library; set when the name is first met as a kernel's
)

const deepInferPrefix = "deepinfer:"

// otherName stands for all names beyond the cap.
const otherName = "(other names)"

// names interns strings: by hash and bytes, never by hash alone. Names arrive as the raw
// bytes of a JSON string; the common raw form is the name itself, the others go through
// dirty once each.
type names struct {
	slots  []uint32 // open addressing, nameID+1; 0 is free
	hashes []uint32
	strs   []string
	flags  []nameFlags
	dirty  map[string]nameID
	arena  []byte
	bytes  int
	max    int // most names
	maxLen int // most bytes of all names
	other  nameID
	capped bool
}

func newNames(maxNames, maxBytes int) *names {
	n := &names{
		slots: make([]uint32, 1<<10), dirty: map[string]nameID{},
		max: maxNames, maxLen: maxBytes,
	}
	n.intern(nil)
	return n
}

const hashFactor = 0x9e3779b97f4a7c15

func hashEnd(h uint64, n int) uint32 {
	h = (h ^ uint64(n)) * hashFactor
	return uint32(h>>32) ^ uint32(h>>7)
}

// hashBytes hashes s eight bytes at a time. s must be readable 8 bytes beyond its end.
func hashBytes(s []byte) uint32 {
	h := uint64(0)
	n, i := len(s), 0
	for ; i+8 <= n; i += 8 {
		h = (bits.RotateLeft64(h, 23) ^ load64(s, i)) * hashFactor
	}
	if i < n {
		h = (bits.RotateLeft64(h, 23) ^ load64(s, i)&(1<<(8*uint(n-i))-1)) * hashFactor
	}
	return hashEnd(h, n)
}

// scan finds the end and the id of a plain string whose content begins at b[i], in one
// pass: calls are what costs in WASM. end is -1 for a string that is not plain ASCII, has
// an escape, or does not end before w; see raw for those.
func (n *names) scan(b []byte, i, w int) (id nameID, end int) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	start, h := i, uint64(0)
	for {
		x := *(*uint64)(unsafe.Add(p, i))
		q := x ^ (ones * '"')
		e := x ^ (ones * '\\')
		m := ((q - ones) | (e - ones) | (x - ones*0x20) | x) & highs
		if m != 0 {
			if k := bits.TrailingZeros64(m) >> 3; k > 0 {
				h = (bits.RotateLeft64(h, 23) ^ x&(1<<(8*uint(k))-1)) * hashFactor
				i += k
			}
			break
		}
		h = (bits.RotateLeft64(h, 23) ^ x) * hashFactor
		if i += 8; i >= w {
			return 0, -1
		}
	}
	if i >= w || b[i] != '"' {
		return 0, -1
	}
	sum := hashEnd(h, i-start)
	mask := uint32(len(n.slots) - 1)
next:
	for j := sum & mask; ; j = (j + 1) & mask {
		k := n.slots[j]
		if k == 0 {
			return n.add(b[start:i], sum, j), i
		}
		if n.hashes[k-1] != sum {
			continue
		}
		s := n.strs[k-1]
		if len(s) != i-start {
			continue
		}
		t := unsafe.Pointer(unsafe.StringData(s)) // the arena keeps it readable 8 bytes beyond its end
		at := 0
		for ; at+8 <= len(s); at += 8 {
			if *(*uint64)(unsafe.Add(p, start+at)) != *(*uint64)(unsafe.Add(t, at)) {
				continue next
			}
		}
		if at < len(s) {
			d := *(*uint64)(unsafe.Add(p, start+at)) ^ *(*uint64)(unsafe.Add(t, at))
			if d<<(64-8*uint(len(s)-at)) != 0 {
				continue
			}
		}
		return nameID(k - 1), i
	}
}

// raw returns the id of the JSON string whose content is the bytes raw; fl is what
// scanString said of it. raw must be readable 8 bytes beyond its end.
func (n *names) raw(raw []byte, fl textFlags) nameID {
	if fl&flagDirty == 0 {
		return n.lookup(raw, hashBytes(raw))
	}
	if id, ok := n.dirty[string(raw)]; ok {
		return id
	}
	id := n.intern(decodeString(raw))
	if len(n.dirty) < n.max && n.bytes < n.maxLen {
		n.dirty[string(raw)] = id
		n.bytes += len(raw)
	}
	return id
}

// intern returns the id of s, which need not be padded.
func (n *names) intern(s []byte) nameID {
	p := append(make([]byte, 0, len(s)+8), s...)
	return n.lookup(p, hashBytes(p))
}

func (n *names) lookup(s []byte, h uint32) nameID {
	mask := uint32(len(n.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		id := n.slots[i]
		if id == 0 {
			return n.add(s, h, i)
		}
		if n.hashes[id-1] == h && n.strs[id-1] == string(s) {
			return nameID(id - 1)
		}
	}
}

func (n *names) add(s []byte, h, slot uint32) nameID {
	if len(n.strs) >= n.max || n.bytes+len(s) > n.maxLen {
		if !n.capped {
			n.capped = true
			n.max, n.maxLen = len(n.strs)+1, n.bytes+len(otherName)
			n.other = n.intern([]byte(otherName))
			n.flags[n.other] = nfOther
		}
		return n.other
	}
	id := nameID(len(n.strs))
	str := n.keep(s)
	n.strs = append(n.strs, str)
	n.hashes = append(n.hashes, h)
	n.flags = append(n.flags, flagsOf(str))
	n.slots[slot] = uint32(id) + 1
	n.bytes += len(s)
	if len(n.strs)*2 > len(n.slots) {
		n.grow()
	}
	return id
}

func (n *names) grow() {
	n.slots = make([]uint32, 2*len(n.slots))
	mask := uint32(len(n.slots) - 1)
	for id, h := range n.hashes {
		i := h & mask
		for n.slots[i] != 0 {
			i = (i + 1) & mask
		}
		n.slots[i] = uint32(id) + 1
	}
}

// keep copies s into the arena: one allocation for many names.
func (n *names) keep(s []byte) string {
	if len(s) == 0 {
		return ""
	}
	if cap(n.arena)-len(n.arena) < len(s)+8 { // scan compares whole words
		n.arena = make([]byte, 0, max(1<<16, len(s)+8))
	}
	at := len(n.arena)
	n.arena = append(n.arena, s...)
	return unsafe.String(&n.arena[at], len(s))
}

func (n *names) str(id nameID) string { return n.strs[id] }

func flagsOf(s string) (f nameFlags) {
	if containsFold(s, "nccl") {
		f |= nfComm
	}
	if strings.HasPrefix(s, deepInferPrefix) && !strings.HasPrefix(s, "deepinfer::") { // not a C++ operator
		f |= nfDeepInfer
	}
	switch {
	case strings.Contains(s, "GraphLaunch"):
		f |= nfGraph
	case strings.Contains(s, "Launch") && !strings.Contains(s, "HostFunc"):
		f |= nfLaunch
	default:
		for _, w := range [...]string{"Synchronize", "Event", "Query", "IsCapturing", "Malloc", "Free", "GetDevice",
			"SetDevice", "GetLastError", "Attribute", "Occupancy", "PeekAtLast", "StreamWait", "StreamCreate", "StreamGet",
			"GetSymbol", "HostFunc", "Capture", "Instantiate", "ModuleLoad", "HostAlloc", "CtxGet", "DeviceGet"} {
			if strings.Contains(s, w) {
				return f | nfNoLaunch
			}
		}
	}
	return f
}

// containsFold reports whether s contains sub, which is lower-case ASCII, in any case.
func containsFold(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		j := 0
		for j < len(sub) && lower(s[i+j]) == sub[j] {
			j++
		}
		if j == len(sub) {
			return true
		}
	}
	return false
}

func lower(c byte) byte {
	if c-'A' < 26 {
		return c | 0x20
	}
	return c
}

// decodeString returns what the raw content of a JSON string says. What strict JSON
// forbids is read in the friendliest way: control bytes, bad UTF-8 and lone surrogates
// become U+FFFD, an unknown escape is a literal backslash.
func decodeString(raw []byte) []byte {
	out := make([]byte, 0, len(raw)+8)
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw):
			r, n := decodeEscape(raw, i)
			out = utf8.AppendRune(out, r)
			i += n
		case c == '\\':
			out = append(out, c)
			i++
		case c < 0x20:
			out = utf8.AppendRune(out, utf8.RuneError)
			i++
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return out
}

func decodeEscape(raw []byte, i int) (rune, int) {
	switch c := raw[i+1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, n, _, st := unicodeEscape(raw, i, len(raw))
		if st == stMore { // the string ends inside the escape, or right behind a high surrogate
			if i+6 <= len(raw) {
				return utf8.RuneError, 6
			}
			return '\\', 1
		}
		return r, n
	}
	return '\\', 1
}
