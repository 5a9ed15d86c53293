package capture

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// file is a complete trace, still open so that it stays what was checked.
type file struct {
	folder *folder
	name   string
	fileInfo
	f         *os.File
	stat      fs.FileInfo
	inspected inspected
}

func (f *file) enginePath() string { return path.Join(f.folder.engine, f.name) }
func (f *file) close()             { _ = f.f.Close() } // only read

// hunt looks for the files of one recording until they are complete.
type hunt struct {
	s     *session
	dir   *folder
	only  string          // the one file that the engine named; "" looks by match
	match matcher         // which names may be of this recording
	old   map[string]bool // names that were there before
	since time.Time       // when the engine was asked
	count int             // files to expect, 0 unknown
	ended <-chan struct{} // closed once the engine says that all is written; nil: it says nothing
	over  <-chan struct{} // closed once the call that ends the recording is over, however; nil: there is none
	began func()          // called when the first file is seen
	until time.Time       // when a first file must be there; zero: Waits.Appear after the end

	tracks  map[string]*track
	odd     string    // a name that fits and is no regular file
	endedAt time.Time // when ended was seen closed
	overAt  time.Time // … or over
	newest  time.Time // when the last file came or changed
	listing time.Duration
}

// track is one file while it grows.
type track struct {
	fileInfo
	size    int64
	mod     time.Time
	changed time.Time // when it was last seen to differ
	looked  bool      // it was inspected at least once
	checked bool      // res holds for this size
	got     *file     // open once complete
	res     inspected
	lost    bool // given up: it doesn't end and doesn't grow
	early   bool // its name tells a time before the request
}

// skew is how far the clocks of a node and of the collector may differ.
const skew = 2 * time.Second

// run looks until all files are complete, or says what is missing. What it returns is open.
func (h *hunt) run() (found []*file, err error) {
	w := h.s.r.cfg.Waits
	h.tracks = map[string]*track{}
	if h.old == nil {
		h.old = map[string]bool{}
	}
	start := time.Now()
	last := start.Add(w.Stop + w.Completion) // a file that grows for ever is none
	defer func() {
		for _, t := range h.tracks {
			if t.got != nil && (err != nil || t.early) {
				t.got.close()
			}
		}
	}()
	for {
		if h.endedAt.IsZero() && isClosed(h.ended) {
			h.endedAt = time.Now()
		}
		if h.overAt.IsZero() && (isClosed(h.over) || !h.endedAt.IsZero()) {
			h.overAt = time.Now()
		}
		if err := h.look(); err != nil {
			return nil, err
		}
		now := time.Now()
		if done, err := h.judge(now, now.After(last)); err != nil || done {
			if err != nil {
				return nil, err
			}
			return h.files(), nil
		}
		// A folder of very many files is listed less often: at most a twentieth of a core.
		if err := h.s.sleep(max(w.Poll, 20*h.listing)); err != nil {
			return nil, err
		}
	}
}

// look lists the folder and inspects what has stopped to change.
func (h *hunt) look() error {
	names := []string{h.only}
	if h.only == "" {
		began := time.Now()
		var err error
		names, err = h.dir.list(h.wanted)
		h.listing = time.Since(began)
		if err != nil {
			return &failure{what: say("listing", h.dir.local, cause(err)), err: err, hint: say("read_folder_next")}
		}
	}
	for _, name := range names {
		if err := h.lookAt(name); err != nil {
			return err
		}
	}
	return nil
}

func (h *hunt) wanted(name string) bool {
	_, ok := h.match(name)
	return ok && !h.old[name]
}

func (h *hunt) lookAt(name string) error {
	w := h.s.r.cfg.Waits
	stat, err := h.statFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // not yet, or gone between listing and looking
	}
	if err != nil {
		return &failure{what: say("detail", h.place(name), cause(err)), err: err, hint: say("mapped_only_next")}
	}
	if !stat.Mode().IsRegular() {
		if h.only != "" {
			return &failure{what: cause(notRegular(h.dir, name, stat)), hint: say("only_regular_next")}
		}
		h.odd = name
		return nil
	}
	t, now := h.tracks[name], time.Now()
	if t == nil {
		t = &track{fileInfo: fileInfo{rank: -1, part: -1}, size: -1}
		if info, ok := h.match(name); ok {
			t.fileInfo = info
		}
		t.early = h.only == "" && !t.time.IsZero() && t.time.Before(h.since.Add(-skew))
		if t.early && stat.ModTime().Before(h.since.Add(-skew)) {
			h.old[name] = true // of another recording
			return nil
		}
		h.tracks[name] = t
		if h.began != nil && !t.early {
			h.began()
			h.began = nil
		}
	}
	if t.size != stat.Size() || !t.mod.Equal(stat.ModTime()) {
		t.size, t.mod, t.changed, t.checked, t.lost = stat.Size(), stat.ModTime(), now, false, false
		h.newest = now
		if t.got != nil {
			t.got.close()
			t.got = nil
		}
	}
	// What the engine calls complete is looked at right away, but not over and over while it changes all the same.
	if t.checked || now.Sub(t.changed) < w.Stable && (h.endedAt.IsZero() || t.looked) {
		return nil
	}
	t.looked = true
	return h.inspect(name, t)
}

// statFile follows links only for a file that the engine named itself; found by its name alone, a link may be planted.
func (h *hunt) statFile(name string) (fs.FileInfo, error) {
	if h.only != "" {
		return h.dir.root.Stat(filepath.Join(h.dir.rel, name))
	}
	return h.dir.stat(name)
}

func (h *hunt) inspect(name string, t *track) error {
	f, stat, err := h.dir.openFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &failure{what: say("opening", h.place(name), cause(err)), err: err, hint: say("read_file_next")}
	}
	res, err := inspect(f, stat.Size())
	if errors.Is(err, errSize) || err == nil && stat.Size() != t.size {
		f.Close()
		return nil // it grows: the next look sees the new size
	}
	if err != nil {
		f.Close()
		return &failure{what: say("reading", h.place(name), cause(err)), err: err, hint: say("disk_failed_next")}
	}
	if res.ending == notJSON {
		f.Close()
		return &failure{what: say("no_trace", h.place(name), res.why), hint: say("left_next")}
	}
	t.checked, t.res = true, res
	if res.ending == odd && !h.endedAt.IsZero() {
		t.checked = time.Since(t.changed) >= h.s.r.cfg.Waits.Stable // it may still grow
	}
	if res.ending == whole || res.ending == odd && !h.endedAt.IsZero() && t.checked {
		t.got = &file{folder: h.dir, name: name, fileInfo: t.fileInfo, f: f, stat: stat, inspected: res}
		return nil
	}
	f.Close()
	return nil
}

// judge says whether the hunt is over.
func (h *hunt) judge(now time.Time, last bool) (bool, error) {
	w := h.s.r.cfg.Waits
	if !h.any() {
		until := h.until
		if until.IsZero() && !h.overAt.IsZero() {
			until = h.overAt.Add(w.Appear)
		}
		over := last || !until.IsZero() && now.After(until)
		switch {
		case h.settleForEarly(now, over):
		case over && len(h.tracks) == 0:
			return false, h.nothing()
		case over:
			return false, h.incomplete()
		default:
			return false, nil
		}
	}
	complete, open := 0, 0
	for name, t := range h.tracks {
		switch {
		case t.early:
		case t.got != nil:
			complete++
		case t.lost:
		case last || now.Sub(t.changed) > w.Stall:
			if err := h.giveUp(name, t, now); err != nil {
				return false, err
			}
			if t.got != nil {
				complete++
			}
		default:
			open++
		}
	}
	switch {
	case open > 0:
		return false, nil
	case h.count > 0 && complete >= h.count:
		return true, nil
	case h.only == "" && !last:
		// More ranks may come; once the engine has said that all is written, only a mount may be late.
		quiet, need := now.Sub(h.newest), w.Settle
		if !h.endedAt.IsZero() {
			quiet, need = now.Sub(h.endedAt), min(w.Stable, w.Settle)
		}
		if quiet < need {
			return false, nil
		}
	}
	if complete == 0 {
		return false, h.incomplete()
	}
	for _, name := range slices.Sorted(maps.Keys(h.tracks)) {
		if t := h.tracks[name]; t.lost && !t.early {
			h.s.warn(say("left", short(name), t.res.why))
		}
	}
	return true, nil
}

// any says whether there is a file whose name and time fit.
func (h *hunt) any() bool {
	for _, t := range h.tracks {
		if !t.early {
			return true
		}
	}
	return false
}

// settleForEarly takes new files whose names tell a time before the request, when no better ones came for a while: the
// node's clock is off, or the zone that the configuration tells. Before that they may be of an earlier recording that was
// still being written.
func (h *hunt) settleForEarly(now time.Time, over bool) bool {
	taken := false
	for name, t := range h.tracks {
		if t.got != nil && (over || now.Sub(t.changed) > h.s.r.cfg.Waits.Stall) {
			t.early, taken = false, true
			h.s.warn(say("early_name", short(name)))
		}
	}
	if taken && h.began != nil {
		h.began()
		h.began = nil
	}
	return taken
}

// giveUp ends the wait for a file that doesn't grow. When the engine says that it is written, it is taken as it is.
func (h *hunt) giveUp(name string, t *track, now time.Time) error {
	if h.endedAt.IsZero() || t.size == 0 {
		t.lost = true
		if t.res.why.Text == "" {
			t.res.why = say("grows")
		}
		return nil
	}
	f, stat, err := h.dir.openFile(name)
	if err != nil {
		return &failure{what: say("opening", h.place(name), cause(err)), err: err}
	}
	res, err := inspect(f, stat.Size())
	if err != nil {
		f.Close()
		t.lost, t.res.why = true, cause(err)
		return nil
	}
	h.s.warn(say("said_complete", short(name), res.why))
	t.got = &file{folder: h.dir, name: name, fileInfo: t.fileInfo, f: f, stat: stat, inspected: res}
	return nil
}

// files are the complete ones, by rank and name.
func (h *hunt) files() []*file {
	var all []*file
	for _, name := range slices.Sorted(maps.Keys(h.tracks)) {
		if t := h.tracks[name]; t.got != nil && !t.early {
			all = append(all, t.got)
		}
	}
	slices.SortStableFunc(all, func(a, b *file) int { return a.rank - b.rank })
	return all
}

// place is where a file lies, for people.
func (h *hunt) place(name string) string { return filepath.Join(h.dir.local, short(name)) }

// nothing says that no file came, and what came instead.
func (h *hunt) nothing() error {
	f := &failure{what: say("nothing_came", h.dir.local), hint: say("where_next")}
	if h.only != "" {
		f.what = say("not_there", h.place(h.only))
	}
	if h.dir.engine != h.dir.local {
		f.what = say("on_node", f.what, h.dir.engine)
	}
	if h.odd != "" {
		f.hint = say("odd_file_next", short(h.odd))
	}
	return f
}

// incomplete says that files came and none of them ends.
func (h *hunt) incomplete() error {
	var parts []store.Said
	for _, name := range slices.Sorted(maps.Keys(h.tracks)) {
		t := h.tracks[name]
		parts = append(parts, say("part", short(name), t.size, t.res.why))
		if len(parts) == 4 {
			break
		}
	}
	return &failure{
		what: say("incomplete", h.dir.local, wire.Join(parts)),
		hint: say("incomplete_next"),
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
