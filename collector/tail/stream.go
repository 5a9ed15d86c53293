package tail

import (
	"bytes"
	"context"
	"io"
)

// Stream reads complete lines from a pipe, such as standard input, in chunks that are given to take, and ends with it. What
// a broken pipe loses cannot be read again: a stream has no position. take must be done with the data when it returns; only
// its errors, and read errors other than the end, are returned.
func Stream(ctx context.Context, r io.Reader, opt Options, take func(Chunk) error) error {
	type piece struct {
		b   []byte
		err error
	}
	// Reading blocks whatever ctx says, so it is done aside. At most one piece is ahead.
	pieces := make(chan piece)
	go func() {
		for {
			b := make([]byte, 64<<10)
			n, err := r.Read(b)
			select {
			case pieces <- piece{b[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	var buf []byte
	var at int64
	skip := false
	for {
		var p piece
		select {
		case <-ctx.Done():
			return nil
		case p = <-pieces:
		}
		buf = append(buf, p.b...)
		if skip {
			end := bytes.IndexByte(buf, '\n') + 1
			if skip = end == 0; skip {
				end = len(buf)
			}
			at += int64(end)
			buf = buf[end:]
		}
		c := Chunk{Offset: at}
		end := bytes.LastIndexByte(buf, '\n') + 1
		if end == 0 && len(buf) > opt.MaxLine {
			c.TooLong, skip = 1, true
			at += int64(len(buf))
			buf = nil
		}
		if opt.Whole != nil && p.err == nil && len(buf) < ChunkSize {
			end = opt.Whole(buf[:end])
		}
		if p.err != nil && len(buf) > end {
			c.Cut = 1 // a line counts only with its line break
		}
		c.Data, c.Unread = buf[:end], int64(len(buf)-end)
		if len(c.Data) > 0 || c.TooLong > 0 || c.Cut > 0 {
			if err := take(c); err != nil {
				return err
			}
		}
		at += int64(end)
		buf = append([]byte(nil), buf[end:]...)
		if p.err == io.EOF {
			return nil
		}
		if p.err != nil {
			return p.err
		}
	}
}
