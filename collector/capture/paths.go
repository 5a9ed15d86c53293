package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/store"
)

// Path maps a folder of an engine's node to where the collector sees it. Local is an allowed root: what lies below it
// may be read and sent to the server.
type Path struct {
	Engine string `yaml:"engine"` // absolute, with slashes
	Local  string `yaml:"local"`  // absolute; "" is the same as Engine
}

// Paths are the folders of one engine's node.
type Paths []Path

// maxPath is Linux's own limit, in bytes.
const maxPath = 4096

// errOutside says that a path is not below any mapped folder.
var errOutside = errors.New("not below a folder that the collector may read")

// Check says what is wrong with the paths, or nil.
func (p Paths) Check() error {
	for _, m := range p {
		if !path.IsAbs(m.Engine) {
			return fmt.Errorf("path %q of the engine's node is not absolute", m.Engine)
		}
		if m.Local != "" && !filepath.IsAbs(m.Local) {
			return fmt.Errorf("local path %q is not absolute", m.Local)
		}
	}
	return nil
}

// Allows says why a folder of the engine's node can't be one that traces are fetched from, or nil.
func (p Paths) Allows(enginePath string) error {
	_, _, err := p.find(enginePath)
	return err
}

// find maps a path of the engine's node to an allowed root and the rest below it, by the longest mapped folder.
func (p Paths) find(enginePath string) (root, rel string, err error) {
	quoted := fmt.Sprintf("%.200q", enginePath)
	switch {
	case len(enginePath) > maxPath:
		return "", "", &saidError{Said: say("path_long", len(enginePath), maxPath, fmt.Sprintf("%.80q…", enginePath))}
	case strings.ContainsRune(enginePath, 0):
		return "", "", &saidError{Said: say("path_zero", quoted)}
	case !path.IsAbs(enginePath):
		return "", "", &saidError{Said: say("path_relative", quoted)}
	}
	clean := path.Clean(enginePath)
	best := -1
	for _, m := range p {
		prefix := path.Clean(m.Engine)
		below, ok := cutFolder(clean, prefix)
		if !ok || len(prefix) <= best {
			continue
		}
		best, rel, root = len(prefix), below, m.Local
		if root == "" {
			root = m.Engine
		}
	}
	if best < 0 {
		return "", "", &saidError{p.outside(quoted), errOutside}
	}
	if rel = filepath.FromSlash(rel); !filepath.IsLocal(rel) {
		return "", "", &saidError{say("path_outside", quoted), errOutside}
	}
	return root, rel, nil
}

// cutFolder returns the part of p below folder; "." for the folder itself.
func cutFolder(p, folder string) (string, bool) {
	if p == folder {
		return ".", true
	}
	if folder != "/" {
		folder += "/"
	}
	return strings.CutPrefix(p, folder)
}

// outside says that a path is not below any of the engine's folders.
func (p Paths) outside(quoted string) store.Said {
	if len(p) == 0 {
		return say("path_outside_none", quoted)
	}
	names := make([]string, len(p))
	for i, m := range p {
		names[i] = m.Engine
	}
	return say("path_outside_of", quoted, strings.Join(names, ", "))
}

// paths are the engine's own, or, when it is on this host, its output folder as it is.
func (e Engine) paths() (Paths, error) {
	if len(e.Paths) > 0 {
		return e.Paths, nil
	}
	if !isLocal(e.Addr) {
		return nil, &saidError{Said: say("not_local", e.Addr)}
	}
	dir := e.OutputDir
	if dir == "" {
		dir = profile.DefaultOutputDir
	}
	return Paths{{Engine: dir}}, nil
}

// isLocal says whether addr is one of this host's.
func isLocal(addr string) bool {
	if _, rest, ok := strings.Cut(addr, "://"); ok {
		addr, _, _ = strings.Cut(rest, "/")
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	if host == "localhost" {
		return true
	}
	if own, err := os.Hostname(); err == nil && host == own {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip = ip.Unmap(); ip.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap() == ip {
			return true
		}
	}
	return false
}

// folder is one folder below an allowed root. It need not exist yet.
type folder struct {
	root   *os.Root
	rel    string // of the folder, below root
	engine string // as the engine's node names it
	local  string // as this host names it, for people
}

// open opens the allowed root of a folder of the engine's node.
func (p Paths) open(engineDir string) (*folder, error) {
	local, rel, err := p.find(engineDir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(local)
	if err != nil {
		return nil, err
	}
	return &folder{root: root, rel: rel, engine: path.Clean(engineDir), local: filepath.Join(local, rel)}, nil
}

func (f *folder) close() { _ = f.root.Close() } // only read through

// maxListed bounds a folder's listing: /tmp of a busy node may hold very many files.
const maxListed = 200_000

// list returns the names that keep wants; none when the folder isn't there (yet).
func (f *folder) list(keep func(name string) bool) ([]string, error) {
	dir, err := f.root.Open(f.rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var names []string
	for seen := 0; seen < maxListed; {
		some, err := dir.Readdirnames(1024)
		seen += len(some)
		for _, name := range some {
			if keep(name) {
				names = append(names, name)
			}
		}
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, &saidError{Said: say("folder_full", f.local, maxListed)}
}

// stat looks at a file without opening it and follows no link in its place.
func (f *folder) stat(name string) (fs.FileInfo, error) {
	return f.root.Lstat(filepath.Join(f.rel, name))
}

// openFile opens a regular file. Links below the root are followed inside it only. What isn't regular is not opened at
// all if that can be known: to open a device may have effects, and a FIFO would wait for its writer.
func (f *folder) openFile(name string) (*os.File, fs.FileInfo, error) {
	rel := filepath.Join(f.rel, name)
	before, err := f.root.Stat(rel)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, notRegular(f, name, before)
	}
	file, err := f.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	// The open file is what counts: the name may have changed hands since.
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(f, name, info)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func notRegular(f *folder, name string, info fs.FileInfo) error {
	return &saidError{Said: say("not_regular", filepath.Join(f.local, short(name)), info.Mode().Type())}
}

// remove removes a file if it still is the one that info tells of.
func (f *folder) remove(name string, info fs.FileInfo) error {
	now, err := f.stat(name)
	if err != nil {
		return err
	}
	if !os.SameFile(now, info) {
		return fmt.Errorf("%s has been replaced since it was read; it is left alone", filepath.Join(f.local, short(name)))
	}
	return f.root.Remove(filepath.Join(f.rel, name))
}
