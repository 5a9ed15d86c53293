package trace

import (
	"io"
	"sync"
)

// ReadRanges reads size bytes of src with up to k readers at once, each on its own byte
// range, and returns exactly what one reader returns. Files that cannot be split are read
// by one. Errors are those of Read.
func ReadRanges(src io.ReaderAt, size int64, k int, o Options) (*Partial, error) {
	cuts := make([]int64, 0, max(k, 1))
	for i := 1; i < k; i++ {
		cuts = append(cuts, size/int64(k)*int64(i))
	}
	return readCuts(src, size, cuts, o)
}

// readCuts is ReadRanges with the places to cut at.
func readCuts(src io.ReaderAt, size int64, cuts []int64, o Options) (*Partial, error) {
	head := make([]byte, min(size, 1<<12))
	if _, err := src.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	root, ok := Splittable(head)
	if !ok || len(cuts) == 0 {
		return readWhole(src, size, o)
	}
	rs := make([]*rangeReader, len(cuts)+1)
	var wg sync.WaitGroup
	for i := range rs {
		from, to := int64(0), int64(NoEnd)
		if i > 0 {
			from = cuts[i-1]
		}
		if i < len(cuts) {
			to = cuts[i]
		}
		rs[i] = &rangeReader{Reader: NewRangeReader(o, from, to, root), src: src, size: size}
		wg.Go(rs[i].read)
	}
	wg.Wait()
	parts, err := joinRanges(rs, cuts)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if p.Capped() && len(parts) > 1 {
			return readWhole(src, size, o)
		}
	}
	p := Merge(parts...)
	if p.Capped() && len(parts) > 1 {
		return readWhole(src, size, o) // a table ran full only with all ranges together
	}
	p.fileBytes = size
	return p, nil
}

func readWhole(src io.ReaderAt, size int64, o Options) (*Partial, error) {
	p, err := Read(io.NewSectionReader(src, 0, size), o)
	if err == nil {
		p.fileBytes = size // also where reading stopped early
	}
	return p, err
}

// joinRanges keeps the ranges that begin exactly where the one before ended, which by
// induction from the first makes the whole exact. Where a range guessed its first event
// wrongly, the reader before it goes on through that range itself.
func joinRanges(rs []*rangeReader, cuts []int64) ([]*Partial, error) {
	cur := rs[0]
	parts := []*Partial{cur.Partial()}
	for i, next := range rs[1:] {
		if cur.err != nil {
			return nil, cur.err
		}
		if cur.AtEvent() && cur.Stop() == next.Start() {
			cur = next
			parts = append(parts, cur.Partial())
			continue
		}
		end := int64(NoEnd)
		if i+1 < len(cuts) {
			end = cuts[i+1]
		}
		cur.Extend(end)
		cur.read()
		parts[len(parts)-1] = cur.Partial()
	}
	if cur.err != nil {
		return nil, cur.err
	}
	return parts, nil
}

type rangeReader struct {
	*Reader
	src  io.ReaderAt
	size int64
	err  error
}

// read feeds the reader from where it wants to go on until it is done or the file ends.
func (r *rangeReader) read() {
	if r.done() {
		return
	}
	from := r.Consumed()
	if r.err = feed(r.Reader, io.NewSectionReader(r.src, from, r.size-from)); r.err != nil {
		return
	}
	if !r.done() {
		r.err = r.Close()
	}
}
