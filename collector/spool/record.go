package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/s2"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// The kinds of records.
const (
	kindBatch    = 1
	kindSnapshot = 2 // a batch with nothing but positions: all of them
)

const headSize = 4 + 1 + 1 + 8 + 4 + 4

var (
	magic      = []byte("SSq1")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	maxPayload = s2.MaxEncodedLen(wire.MaxBatchBytes)
	errBad     = errors.New("the record is damaged")
)

// head is what stands before a record's payload.
type head struct {
	kind, level byte // level: how often it was thinned
	seq         uint64
	size        int // bytes of the payload
	sum         uint32
}

// appendRecord appends a batch as a record.
func appendRecord(dst []byte, kind, level byte, b *store.Batch) ([]byte, error) {
	plain, err := wire.AppendBatch(nil, b)
	if err != nil {
		return dst, err
	}
	packed := s2.Encode(nil, plain)
	at := len(dst)
	dst = append(dst, magic...)
	dst = append(dst, kind, level)
	dst = binary.LittleEndian.AppendUint64(dst, b.Seq)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(packed)))
	sum := crc32.Update(crc32.Checksum(dst[at:], castagnoli), castagnoli, packed)
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	return append(dst, packed...), nil
}

// parseHead reads a head; ok is false where there is none.
func parseHead(b []byte) (h head, ok bool) {
	if len(b) < headSize || !bytes.Equal(b[:4], magic) {
		return h, false
	}
	h = head{kind: b[4], level: b[5], seq: binary.LittleEndian.Uint64(b[6:]), size: int(binary.LittleEndian.Uint32(b[14:])), sum: binary.LittleEndian.Uint32(b[18:])}
	return h, (h.kind == kindBatch || h.kind == kindSnapshot) && h.size <= maxPayload
}

// readRecord reads and checks the record at an offset.
func readRecord(f io.ReaderAt, off, fileSize int64) (h head, payload []byte, err error) {
	var b [headSize]byte
	if off+headSize > fileSize {
		return h, nil, errBad
	}
	if _, err := f.ReadAt(b[:], off); err != nil {
		return h, nil, err
	}
	h, ok := parseHead(b[:])
	if !ok || off+headSize+int64(h.size) > fileSize {
		return h, nil, errBad
	}
	payload = make([]byte, h.size)
	if _, err := f.ReadAt(payload, off+headSize); err != nil {
		return h, nil, err
	}
	if sum := crc32.Update(crc32.Checksum(b[:headSize-4], castagnoli), castagnoli, payload); sum != h.sum {
		return h, nil, errBad
	}
	return h, payload, nil
}

// unpack gives the batch of a payload.
func unpack(payload []byte) (*store.Batch, error) {
	n, err := s2.DecodedLen(payload)
	if err == nil && n > wire.MaxBatchBytes {
		err = fmt.Errorf("%d bytes unpacked", n)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBad, err)
	}
	plain, err := s2.Decode(nil, payload)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBad, err)
	}
	return wire.DecodeBatch(plain)
}

// findRecord looks for the next whole record from an offset on, behind damage. It returns the file's size if there is none.
func findRecord(f io.ReaderAt, off, fileSize int64) int64 {
	buf := make([]byte, 64<<10)
	for off < fileSize {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), fileSize-off)], off)
		if n < len(magic) || err != nil && err != io.EOF {
			return fileSize
		}
		for i := 0; ; i++ {
			j := bytes.Index(buf[i:n], magic)
			if j < 0 {
				break
			}
			i += j
			if _, _, err := readRecord(f, off+int64(i), fileSize); err == nil {
				return off + int64(i)
			}
		}
		off += int64(n - len(magic) + 1) // the magic may lie across two pieces
	}
	return fileSize
}
