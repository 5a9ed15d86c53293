package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/source"
	"github.com/stepscope/stepscope/collector/tail"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// Stdin is the pattern that stands for standard input.
const Stdin = "-"

// Options are a log target.
type Options struct {
	Identity
	Kind     string   // of the engines; empty: "deepinfer"
	Patterns []string // globs, or Stdin alone
	// Lines makes what reads the lines; position returns what it has put into a batch before. Nil: NewMapper.
	Lines  func(position func(name string) string) Lines
	Zone   *time.Location
	Start  tail.Start
	Stdin  io.Reader
	Poll   time.Duration    // how often files are looked at; 0: 250 ms
	Claims *Claims          // shared by all log sources of a collector
	Now    func() time.Time // nil: time.Now
}

const (
	// defaultPoll is how often files are looked at.
	defaultPoll = 250 * time.Millisecond
	// perFile makes the time between two looks longer where there are many files.
	perFile = time.Millisecond
	// rescan is how often folders are.
	rescan = 2 * time.Second
	// takeRows are handed over at once.
	takeRows = 1000
	// turn is how many chunks of one file are read before the next file has its turn.
	turn = 4
	// forget is how long a file that has vanished is remembered.
	forget = 10 * time.Minute
)

// Source reads the logs of one target.
type Source struct {
	opt Options

	mu    sync.Mutex
	state map[string]*state        // by path
	lacks map[string]*wire.Problem // patterns that find nothing
}

// New returns a source that is not running yet.
func New(opt Options) *Source {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Poll <= 0 {
		opt.Poll = defaultPoll
	}
	if opt.Zone == nil {
		opt.Zone = time.Local
	}
	if opt.Claims == nil {
		opt.Claims = &Claims{}
	}
	if opt.Kind == "" {
		opt.Kind = "deepinfer"
	}
	if opt.Lines == nil {
		opt.Lines = func(position func(string) string) Lines { return NewMapper(opt.Identity, opt.Zone, position) }
	}
	s := &Source{opt: opt, state: map[string]*state{}, lacks: map[string]*wire.Problem{}}
	for _, p := range opt.Patterns {
		if !isGlob(p) {
			s.state[p] = newState(p)
		}
	}
	return s
}

func isGlob(p string) bool { return strings.ContainsAny(p, `*?[`) }

// filePosition is the name that a file's position is stored under.
func (s *Source) filePosition(path string) string { return "file:" + s.opt.Deployment + ":" + path }

// scannedPosition says that a pattern was looked at before: a file found later is new, whatever Start says.
func (s *Source) scannedPosition(pattern string) string {
	return "scanned:" + s.opt.Deployment + ":" + pattern
}

// run is one call of Run.
type run struct {
	*Source
	sink   source.Sink
	mapper Lines
	files  []*following
	// What goes into the next Put beside the mapper's batch.
	positions map[string]string
}

// following is a file that is being read.
type following struct {
	path string
	file *tail.File
	*state
	gone time.Time // since when it does not exist
	idle time.Time // when all of it was read last
}

// Run reads until ctx ends, or standard input does.
func (s *Source) Run(ctx context.Context, sink source.Sink) error {
	r := &run{Source: s, sink: sink, mapper: s.opt.Lines(sink.Position), positions: map[string]string{}}
	if slices.Equal(s.opt.Patterns, []string{Stdin}) {
		return r.stream(ctx)
	}
	defer r.close()
	var scanned time.Time
	for ctx.Err() == nil {
		now := s.opt.Now()
		if now.Sub(scanned) >= rescan || now.Before(scanned) {
			r.scan()
			scanned = now
		}
		more, err := r.round(ctx)
		if err != nil {
			return nil // the context ended
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(r.opt.Poll, time.Duration(len(r.files))*perFile)):
		}
	}
	return nil
}

func (r *run) close() {
	for _, f := range r.files {
		f.file.Close()
		r.opt.Claims.release(f.path, r.Source)
	}
}

// scan finds the files of the patterns.
func (r *run) scan() {
	var found []string
	for _, p := range r.opt.Patterns {
		if !isGlob(p) {
			found = append(found, p)
			continue
		}
		paths, err := filepath.Glob(p)
		if err != nil {
			r.lack(p, "log.bad_pattern", err.Error())
		}
		before := len(found)
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && !tail.Rotated(path) {
				found = append(found, path)
			}
		}
		if len(found) > before {
			r.lack(p, "")
		} else if err == nil {
			r.lack(p, "log.no_match")
		}
	}
	slices.Sort(found)
	var fresh []*following
	for _, path := range slices.Compact(found) {
		if slices.ContainsFunc(r.files, func(f *following) bool { return f.path == path }) || !r.opt.Claims.take(path, r.Source) {
			continue
		}
		fresh = append(fresh, r.follow(path))
	}
	// One rank's lines may stand in several files: the oldest first.
	slices.SortStableFunc(fresh, func(a, b *following) int { return a.modified().Compare(b.modified()) })
	r.files = append(r.files, fresh...)
	for _, p := range r.opt.Patterns {
		if r.sink.Position(r.scannedPosition(p)) == "" {
			r.positions[r.scannedPosition(p)] = "1"
		}
	}
}

func (f *following) modified() time.Time {
	if info, err := os.Stat(f.path); err == nil {
		return info.ModTime()
	}
	return time.Time{}
}

func (r *run) follow(path string) *following {
	start := r.opt.Start
	if start == tail.AtEnd && r.known(path) {
		start = tail.AtBeginning
	}
	position, counts := decodeSaved(r.sink.Position(r.filePosition(path)))
	file, err := tail.Open(path, position, tail.Options{
		MaxLine: ledger.MaxLineBytes, Start: start, Whole: tail.Whole, Taken: r.opt.Claims.taken, Now: r.opt.Now,
	})
	r.mu.Lock()
	st := r.state[path]
	if st == nil {
		st = newState(path)
		r.state[path] = st
	}
	r.mu.Unlock()
	st.restore(counts)
	f := &following{path: path, file: file, state: st}
	if err != nil {
		r.fail(f, err)
	}
	return f
}

// known says whether a pattern that finds the path was looked at before this file came.
func (r *run) known(path string) bool {
	return slices.ContainsFunc(r.opt.Patterns, func(p string) bool {
		match, err := filepath.Match(p, path)
		return (p == path || match && err == nil) && r.sink.Position(r.scannedPosition(p)) != ""
	})
}

// round gives each file its turn. more: there is more to read at once. It fails when the context ends.
func (r *run) round(ctx context.Context) (more bool, err error) {
	for _, f := range slices.Clone(r.files) {
		for range turn {
			got, err := r.read(f)
			if r.mapper.Rows() >= takeRows {
				if err := r.put(ctx); err != nil {
					return false, err
				}
			}
			if err != nil {
				r.fail(f, err)
				break
			}
			if !got {
				f.idle = r.opt.Now()
				break
			}
			more = true
		}
	}
	return more, r.put(ctx)
}

// buffers are shared: of a thousand targets few read at the same moment.
var buffers = sync.Pool{New: func() any { b := make([]byte, tail.ChunkSize); return &b }}

// read maps the next lines of a file. got: there may be more.
func (r *run) read(f *following) (got bool, err error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	now := r.opt.Now()
	c, err := f.file.Next(*buf)
	f.seal(c.Sealed)
	if err != nil {
		if c.Moved {
			r.positions[r.filePosition(f.path)] = encodeSaved(c.Position, f.sums())
		}
		if errors.Is(err, fs.ErrNotExist) && r.vanished(f, now) {
			return false, nil
		}
		return false, err
	}
	f.gone = time.Time{}
	r.mapper.Begin()
	before := r.mapper.Counts()
	place := Place{Path: c.Path, Ref: c.Modified, Arrival: now, Live: !f.idle.IsZero() && now.Sub(f.idle) < 4*(r.opt.Poll+time.Duration(len(r.files))*perFile)}
	r.mapper.Broken(ledger.TooLong, c.TooLong, &place)
	r.mapper.Broken(ledger.Cut, c.Cut, &place)
	tail.Lines(c.Data, func(at int, line []byte) {
		place.Offset = c.Offset + int64(at)
		r.mapper.Line(line, &place)
	})
	f.note(r.mapper, before, &c, now)
	if c.Moved {
		r.positions[r.filePosition(f.path)] = encodeSaved(c.Position, f.sums())
	}
	return len(c.Data) > 0 || c.Moved, nil
}

// vanished forgets a file that has been away for long.
func (r *run) vanished(f *following, now time.Time) bool {
	if f.gone.IsZero() {
		f.gone = now
	}
	literal := slices.Contains(r.opt.Patterns, f.path)
	if literal || now.Sub(f.gone) < forget {
		return false
	}
	f.file.Close()
	r.opt.Claims.release(f.path, r.Source)
	r.files = slices.DeleteFunc(r.files, func(o *following) bool { return o == f })
	r.positions[r.filePosition(f.path)] = ""
	r.mu.Lock()
	delete(r.state, f.path)
	r.mu.Unlock()
	return true
}

// put hands over what was read together with how far.
func (r *run) put(ctx context.Context) error {
	b := r.mapper.Take()
	if b == nil {
		if len(r.positions) == 0 {
			return nil
		}
		b = &store.Batch{}
	}
	for name, value := range r.positions {
		b.Positions = append(b.Positions, store.Position{Source: name, Value: value})
	}
	if err := r.sink.Put(ctx, b); err != nil {
		return err
	}
	clear(r.positions)
	return nil
}

// stream reads standard input.
func (r *run) stream(ctx context.Context) error {
	r.mu.Lock()
	st := r.state[Stdin]
	r.mu.Unlock()
	opt := tail.Options{MaxLine: ledger.MaxLineBytes, Whole: tail.Whole}
	err := tail.Stream(ctx, r.opt.Stdin, opt, func(c tail.Chunk) error {
		now := r.opt.Now()
		r.mapper.Begin()
		before := r.mapper.Counts()
		place := Place{Path: "standard input", Ref: now, Arrival: now, Live: true}
		r.mapper.Broken(ledger.TooLong, c.TooLong, &place)
		r.mapper.Broken(ledger.Cut, c.Cut, &place)
		tail.Lines(c.Data, func(at int, line []byte) {
			place.Offset = c.Offset + int64(at)
			r.mapper.Line(line, &place)
		})
		st.note(r.mapper, before, &c, now)
		return r.put(ctx)
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	return source.Ended
}
