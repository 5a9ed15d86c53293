// Package gunzip reads gzip files (RFC 1952), that is DEFLATE data (RFC 1951) in members.
//
// It exists for the browser's module, whose budget is 900 KB: every gzip library imports
// fmt, and with it os, time and syscall/js, which cost the module 168 KB gzipped (965 KB
// with klauspost/compress/gzip, 785 KB without). This package imports next to nothing, and
// it is made for what Go's compiler does well in WebAssembly: few branches, whole words.
package gunzip

import (
	"errors"
	"io"
)

var (
	// ErrHeader says that what stands at the start, or follows a whole member, is no gzip
	// header: other bytes, zeros that pad the file, or a damaged header.
	ErrHeader = errors.New("gunzip: no gzip header where one must be; bytes from there on are ignored")
	// ErrChecksum says that a member's data does not match its checksum or its size. All of
	// it has been returned before.
	ErrChecksum = errors.New("gunzip: the data does not match its checksum; get the file again")
	// ErrCorrupt says that a member holds something else than DEFLATE data. What was
	// decoded before that place has been returned.
	ErrCorrupt = errors.New("gunzip: the compressed data is damaged; get the file again")

	errSource = errors.New("gunzip: the source says it read more bytes than it was given room for")
)

const (
	inSize  = 32 << 10
	history = 32 << 10 // how far back a match may reach
	outSize = history + 192<<10

	// A symbol is decoded only where a longest match fits, and what copying it may write
	// behind its end: it goes by 32 bytes, and begins up to 7 bytes into the match.
	outLimit = outSize - maxMatch - 40
	maxMatch = 258

	maxEmpty = 100 // reads in a row without a byte before the source counts as stuck
)

// Reader decodes a gzip stream. It takes about 280 KB and allocates nothing later.
type Reader struct {
	src    io.Reader
	srcErr error // what src ended with; counts once its bytes are used up
	err    error // what Next returns once all pieces are returned
	rest   []byte

	// Input: bits has the n bits that come before in[ip:ie], first bit lowest.
	bits   uint64
	n      uint64
	ip, ie int

	// Output: out[:op] is decoded; a match may reach back to out[hist], the member's
	// first byte; out[:summed] is in crc and size.
	op, hist, summed int
	crc, size        uint32
	folder           folder

	step    step
	at      int // index within what step reads
	members int // whole members read

	flags, headerCRC uint32
	left             uint32 // of what step reads: bytes, codes, or the checksum read

	last          bool   // the block is the member's last
	stored        int    // bytes of a stored block to come
	nLits, nDists int    // codes that the block defines
	tables        tables // what lit and dist hold

	lens  [maxLits + maxDists]uint8
	lit   [litSize]uint32
	dist  [distSize]uint64
	codes [1 << lensBits]uint32

	in  [inSize]byte
	out [outSize]byte
}

// NewReader returns a Reader that decodes what src yields. It reads nothing yet.
func NewReader(src io.Reader) *Reader { return &Reader{src: src} }

// status is how far a step came.
type status uint8

const (
	more   status = iota // go on
	hungry               // input is used up: bits and in hold too little for the next item
	full                 // out has no room for the next item
	failed               // err is set
)

// Header reads the first member's header, which tells early that src is no gzip stream. It
// returns ErrHeader, io.ErrUnexpectedEOF where the input ends in the header, or src's error.
func (z *Reader) Header() error {
	for z.members == 0 && z.step < stepBlock && z.err == nil {
		if z.advance() == hungry {
			z.fill()
		}
	}
	return z.err
}

// Read decodes into p. Members that follow one another are one stream, and io.EOF comes
// only at the end of the input behind a whole member. Other errors are ErrHeader,
// ErrChecksum, ErrCorrupt, io.ErrUnexpectedEOF where the input ends in a member,
// io.ErrNoProgress where src yields nothing time and again, and src's own.
func (z *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(z.rest) == 0 {
		piece, err := z.Next()
		if err != nil {
			return 0, err
		}
		z.rest = piece
	}
	n := copy(p, z.rest)
	z.rest = z.rest[n:]
	return n, nil
}

// Next returns the next decoded bytes, at least one and up to 192 KB, without copying them.
// They are valid until the next call. It waits for src only when it has nothing to return.
// Errors are those of Read and come alone.
func (z *Reader) Next() ([]byte, error) {
	if piece := z.rest; len(piece) > 0 {
		z.rest = nil
		return piece, nil
	}
	if z.op > outLimit {
		z.slide()
	}
	from := z.op
	for z.err == nil {
		s := z.advance()
		if s == full || s == hungry && z.op > from {
			break
		}
		if s == hungry {
			z.fill()
		}
	}
	z.sum()
	if z.op > from {
		return z.out[from:z.op], nil
	}
	return nil, z.err
}

// slide makes room in out and keeps what matches may reach.
func (z *Reader) slide() {
	by := z.op - history
	copy(z.out[:history], z.out[by:z.op])
	z.op, z.summed, z.hist = history, history, max(z.hist-by, 0)
}

// fill reads from src once. All earlier input is used up: an item needs at most 48 bits, so
// what is called hungry has taken all bytes of in into bits.
func (z *Reader) fill() {
	if z.srcErr != nil {
		z.err = z.srcErr
		if z.err == io.EOF && (z.step != stepHeader || z.at > 0 || z.members == 0) {
			z.err = io.ErrUnexpectedEOF
		}
		return
	}
	for range maxEmpty {
		n, err := z.src.Read(z.in[:])
		if n < 0 || n > len(z.in) {
			z.err = errSource
			return
		}
		z.ip, z.ie, z.srcErr = 0, n, err
		if n > 0 || err != nil {
			return
		}
	}
	z.srcErr = io.ErrNoProgress
}

// need reports whether k bits of input are there, k being at most 57, and takes bytes of in
// into bits for that.
func (z *Reader) need(k uint64) bool {
	for z.n < k {
		if z.ip >= z.ie {
			return false
		}
		z.bits |= uint64(z.in[z.ip]) << (z.n & 63)
		z.n += 8
		z.ip++
	}
	return true
}

// take returns the next k bits, which are there.
func (z *Reader) take(k uint64) uint32 {
	v := z.bits & (1<<k - 1)
	z.bits >>= k
	z.n -= k
	return uint32(v)
}
