package capture

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// store hands the files to the server and ends the members by and by.
func (s *session) store(files []*file) error {
	members := s.live()
	parts := make([][]*file, len(members))
	for i, m := range members {
		parts[i] = filesOf(m.eng, files)
		if len(parts[i]) == 0 {
			s.end(m, &failure{
				what: say("not_of_engine", len(files), m.eng.Part, oneLine(m.eng.Addr)),
				hint: say("not_of_engine_next"),
			})
			continue
		}
		s.found(m, parts[i])
	}
	ids := map[*file]string{}
	for i, m := range members {
		for _, f := range parts[i] {
			if s.isOut(m) {
				break
			}
			id, ok := ids[f]
			if !ok {
				var err error
				if id, err = s.send(m, f); err != nil {
					return err
				}
				ids[f] = id
			}
			s.stored(m, id)
		}
		s.end(m, nil)
	}
	if s.eng.Remove {
		s.remove(ids)
	}
	return nil
}

// filesOf are the files that one engine of an API server gave; all of them when names don't tell.
func filesOf(e Engine, files []*file) []*file {
	if e.Part < 0 || !slices.ContainsFunc(files, func(f *file) bool { return f.part >= 0 }) {
		return files
	}
	var own []*file
	for _, f := range files {
		if f.part == e.Part {
			own = append(own, f)
		}
	}
	return own
}

func (s *session) isOut(m *member) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return m.out
}

// change changes one member, if it is live, and tells of it.
func (s *session) change(m *member, f func(c *store.Capture)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !m.out {
		f(&m.c)
		s.r.rep.tell(m.c)
	}
}

func (s *session) found(m *member, files []*file) {
	now := time.Now()
	s.change(m, func(c *store.Capture) {
		c.State, c.Path, c.Bytes = store.Found, oneLine(files[0].enginePath()), 0
		if _, ok := c.Times[store.Found]; !ok {
			c.Times[store.Found] = now
		}
		for _, f := range files {
			c.Bytes += f.stat.Size()
		}
	})
}

func (s *session) stored(m *member, id string) {
	s.change(m, func(c *store.Capture) {
		switch {
		case c.TraceID == "":
			c.TraceID = id
		case c.TraceID != id && !slices.Contains(c.More, id):
			c.More = append(slices.Clone(c.More), id)
		}
	})
}

// payload is a file as it goes to the server.
type payload struct {
	f    *os.File
	size int64
	sum  string
	temp bool   // f is a copy of ours
	name string // of the copy, where it can't go before it is closed
}

// pack prepares a file: compressed ones go as they are, others are compressed once. The bytes that go are what the
// trace's identity is the SHA-256 of.
func (s *session) pack(f *file) (payload, error) {
	if f.inspected.contentType == store.TypeGzip {
		return payload{f: f.f, size: f.stat.Size(), sum: f.inspected.sha256}, nil
	}
	temp, err := os.CreateTemp(s.r.cfg.TempDir, "stepscope-trace-*.gz")
	if err != nil {
		return payload{}, err
	}
	// Without a name it is gone with the process, however that ends. Where that can't be, it goes when it is closed.
	p := payload{f: temp, temp: true}
	if os.Remove(temp.Name()) != nil {
		p.name = temp.Name()
	}
	fail := func(err error) (payload, error) {
		p.close()
		return payload{}, err
	}
	sum := sha256.New()
	// 98 MB of 20 steps become 7.0 MB in 0.33 s; the fastest level takes 0.15 s and gives 9.1 MB, which are kept for months.
	z := gzip.NewWriter(io.MultiWriter(temp, sum))
	n, err := io.Copy(z, &cancelReader{s.ctx, io.NewSectionReader(f.f, 0, f.stat.Size())})
	if err == nil && n != f.stat.Size() {
		err = fmt.Errorf("%s: %w", f.name, errSize)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return fail(err)
	}
	if p.size, err = temp.Seek(0, io.SeekCurrent); err != nil {
		return fail(err)
	}
	p.sum = hex.EncodeToString(sum.Sum(nil))
	return p, nil
}

func (p payload) close() {
	if !p.temp {
		return
	}
	_ = p.f.Close() // what it holds is sent, or given up
	if p.name != "" {
		_ = os.Remove(p.name)
	}
}

// cancelReader stops a long copy with its context.
type cancelReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelReader) Read(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// send stores one file at the server, which may be away for a long time.
func (s *session) send(m *member, f *file) (id string, err error) {
	select {
	case s.r.slots <- struct{}{}:
		defer func() { <-s.r.slots }()
	case <-s.ctx.Done():
		return "", context.Cause(s.ctx)
	}
	p, err := s.pack(f)
	if err != nil {
		return "", &failure{what: say("preparing", short(f.name), cause(err)), err: err, hint: say("preparing_next")}
	}
	defer p.close()
	trace := wire.TraceFile{
		Capture: m.c.ID,
		Meta:    s.meta(m, f, p.temp),
		Size:    p.size,
		SHA256:  p.sum,
		Open: func(offset int64) (io.ReadCloser, error) {
			if offset < 0 || offset > p.size {
				return nil, fmt.Errorf("offset %d of %d bytes", offset, p.size)
			}
			return io.NopCloser(io.NewSectionReader(p.f, offset, p.size-offset)), nil
		},
	}
	w := s.r.cfg.Waits
	deadline, pause := time.Now().Add(w.Store), w.Retry
	for {
		id, err = s.r.cfg.Link.PutTrace(s.ctx, trace)
		if err == nil {
			return id, nil
		}
		if cause := context.Cause(s.ctx); cause != nil {
			return "", cause
		}
		if now, statErr := f.f.Stat(); statErr == nil && !p.temp && (now.Size() != f.stat.Size() || !now.ModTime().Equal(f.stat.ModTime())) {
			return "", &failure{what: say("changed", short(f.name)), hint: say("changed_next")}
		}
		if final(err) || time.Now().After(deadline) {
			return "", &failure{what: say("storing", short(f.name), cause(err)), err: err, hint: storeHint(err)}
		}
		s.warn(say("not_taken_yet", cause(err)))
		if err := s.sleep(pause); err != nil {
			return "", err
		}
		pause = min(2*pause, w.MaxRetry)
	}
}

// final says whether trying again can't help.
func final(err error) bool {
	return errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrNotTrace)
}

func storeHint(err error) store.Said {
	switch {
	case errors.Is(err, store.ErrTooLarge):
		return say("too_large_next")
	case errors.Is(err, store.ErrQuota), errors.Is(err, store.ErrDiskFull):
		return say("no_room_next")
	}
	return say("by_hand_next")
}

// meta is what the trace's page says about it.
func (s *session) meta(m *member, f *file, packed bool) store.Meta {
	name := f.name
	if packed && !strings.HasSuffix(name, ".gz") {
		name += ".gz"
	}
	note := fmt.Sprintf("capture #%d", m.c.ID)
	if m.c.Group != "" {
		note += ", group " + m.c.Group
	}
	note += ", engine " + m.c.Engine.Name
	if f.rank >= 0 {
		note += fmt.Sprintf(", rank %d", f.rank)
	}
	note += fmt.Sprintf("\n%s at %s", f.enginePath(), s.eng.Addr)
	if m.c.Note != "" {
		note += "\n" + m.c.Note
	}
	return store.Meta{Name: name, Label: m.c.Engine.Deployment, Note: note}.Clean()
}

// remove removes the sources of what is stored. It may fail without harm: the trace is kept.
func (s *session) remove(ids map[*file]string) {
	for f := range ids {
		if err := f.folder.remove(f.name, f.stat); err != nil {
			s.r.cfg.Log.Warn("a stored trace's source was not removed", "file", f.enginePath(), "error", err)
		}
	}
}
