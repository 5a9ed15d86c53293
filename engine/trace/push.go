package trace

import "io"

// Push reads a whole file from chunks that are pushed into it, however the file is packed.
// It is the reader of a browser's worker, which has no blocking Read: packed data is
// unpacked by a goroutine that is handed one chunk at a time.
type Push struct {
	*Reader
	head   []byte // collected until the packing is known
	mode   pushMode
	buf    []byte
	chunks chan []byte
	wants  chan struct{}
	done   chan struct{}
	err    error
}

type pushMode uint8

const (
	pushHead pushMode = iota
	pushPlain
	pushPacked
)

// NewPush returns a Push for a whole file.
func NewPush(o Options) *Push { return &Push{Reader: NewReader(o)} }

// Space returns at least n bytes to fill; Commit takes them.
func (p *Push) Space(n int) []byte {
	if p.mode == pushPlain {
		return p.Reader.Space(n)
	}
	if len(p.buf) < n {
		p.buf = make([]byte, n)
	}
	return p.buf
}

// Commit reads the first n bytes of the slice that Space returned and reports whether more
// are wanted.
func (p *Push) Commit(n int) bool {
	switch p.mode {
	case pushPlain:
		p.sh.fileBytes += int64(n)
		return p.Reader.Commit(n)
	case pushHead:
		p.head = append(p.head, p.buf[:n]...)
		if len(p.head) < sniffLen {
			return true
		}
		return p.begin()
	}
	return p.hand(p.buf[:n])
}

// begin looks at the first bytes and starts reading them.
func (p *Push) begin() bool {
	head := p.head
	p.head = nil
	if sniff(head) == packPlain {
		p.mode = pushPlain
		p.sh.fileBytes = int64(len(head))
		p.Reader.Write(head)
		return !p.Reader.done()
	}
	p.mode = pushPacked
	p.chunks, p.wants, p.done = make(chan []byte), make(chan struct{}), make(chan struct{})
	go func() {
		p.err = readPacked(p.Reader, &chunkReader{p: p})
		close(p.done)
	}()
	select {
	case <-p.wants:
		return p.hand(head)
	case <-p.done:
		return false
	}
}

// hand gives one chunk to the unpacking goroutine and waits until it is used up.
func (p *Push) hand(b []byte) bool {
	select {
	case p.chunks <- b:
	case <-p.done:
		return false
	}
	select {
	case <-p.wants:
		return true
	case <-p.done:
		return false
	}
}

// Close tells that the input has ended; see Reader.Close.
func (p *Push) Close() error {
	if p.mode == pushHead {
		p.begin()
	}
	if p.mode == pushPlain {
		return p.Reader.Close()
	}
	close(p.chunks)
	<-p.done
	return p.err
}

// chunkReader is the unpacking goroutine's side of Push.
type chunkReader struct {
	p   *Push
	cur []byte
	end bool
}

func (c *chunkReader) Read(b []byte) (int, error) {
	if len(c.cur) == 0 && !c.end {
		c.p.wants <- struct{}{}
		var ok bool
		if c.cur, ok = <-c.p.chunks; !ok {
			c.end = true
		}
	}
	if c.end {
		return 0, io.EOF
	}
	n := copy(b, c.cur)
	c.cur = c.cur[n:]
	return n, nil
}
