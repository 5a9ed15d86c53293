package capture

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/engine/sim"
	"github.com/stepscope/stepscope/store"
)

func TestFindPath(t *testing.T) {
	t.Parallel()
	p := Paths{{Engine: "/data", Local: "/mnt/all"}, {Engine: "/data/traces/", Local: "/mnt/node7"}, {Engine: "/tmp"}}
	for _, c := range []struct{ path, root, rel string }{
		{"/data/x.json", "/mnt/all", "x.json"},
		{"/data", "/mnt/all", "."},
		{"/data/traces", "/mnt/node7", "."},
		{"/data/traces/a/b.json", "/mnt/node7", "a/b.json"}, // the longest folder counts
		{"/data/tracesX/b.json", "/mnt/all", "tracesX/b.json"},
		{"/data/traces/../y", "/mnt/all", "y"},
		{"//data///traces//z", "/mnt/node7", "z"},
		{"/tmp/./f", "/tmp", "f"},
		{"/datax", "", ""}, {"/", "", ""}, {"", "", ""}, {"data/x", "", ""}, {"/data/../etc/passwd", "", ""}, {"/data/\x00", "", ""},
		{"/tmp/" + strings.Repeat("y", 4096), "", ""},
	} {
		root, rel, err := p.find(c.path)
		if root != c.root || rel != c.rel || (err == nil) != (c.root != "") {
			t.Errorf("%.60q is %q below %q (%v), want %q below %q", c.path, rel, root, err, c.rel, c.root)
		}
	}
	if _, rel, err := (Paths{{Engine: "/"}}).find("/etc/x"); err != nil || rel != "etc/x" {
		t.Errorf("below the root: %q, %v", rel, err)
	}
	for _, bad := range []Paths{{{Engine: "x"}}, {{Engine: ""}}, {{Engine: "/x", Local: "y"}}} {
		if bad.Check() == nil {
			t.Errorf("%v passes", bad)
		}
	}
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}

func TestIsLocal(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]bool{
		"127.0.0.1:6070": true, "localhost:1": true, "[::1]:1": true, "http://127.0.0.9:8000/x": true, host + ":6070": true,
		"203.0.113.9:6070": false, "gpu7.example:6070": false, "https://203.0.113.9": false, "": false,
	} {
		if got := isLocal(addr); got != want {
			t.Errorf("%q is on this host: %v", addr, got)
		}
	}
}

// liar is an engine that answers with any path.
func liar(t *testing.T, dir string, path func() string) *rig {
	t.Helper()
	l := listen(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 4096)
				if _, err := c.Read(buf); err != nil {
					return
				}
				body := fmt.Sprintf(`{"trace_file":%s}`, jsonText(path()))
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			}()
		}
	}()
	return newRig(t, Engine{Kind: DeepInfer, Addr: l.Addr().String(), GPU: 2, Rank: 3, Part: -1, OutputDir: dir, Paths: Paths{{Engine: dir}}})
}

func jsonText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String() + `"`
}

// Whatever path an engine names, nothing outside of the mapped folder is read, nothing that is no regular file is opened,
// and nothing that is no trace is sent.
func TestHostilePaths(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir, out := filepath.Join(base, "traces"), filepath.Join(base, "secret")
	mkdir(t, dir, "sub")
	mkdir(t, out)
	write(t, doc, out, "key.json")
	write(t, doc, dir, "good.json")
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(out, "key.json"), "absolute.json")
	link("../secret/key.json", "relative.json")
	link("../secret", "folder")
	link("good.json", "inside.json")
	link("loop.json", "loop.json")
	link("/dev/zero", "zero.json")
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	sock, err := net.Listen("unix", filepath.Join(dir, "sock.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	write(t, "root:x:0:0:", dir, "passwd.json")
	write(t, gz(t, "root:x:0:0:"), dir, "passwd.json.gz")
	for id, c := range []struct{ path, reason string }{
		{filepath.Join(out, "key.json"), "not below a folder"},
		{dir + "/../secret/key.json", "not below a folder"},
		{dir + "/absolute.json", "escapes"},
		{dir + "/relative.json", "escapes"},
		{dir + "/folder/key.json", "escapes"},
		{dir + "/loop.json", ""},
		{dir + "/zero.json", "escapes"},
		{dir + "/fifo.json", "no regular file"},
		{dir + "/sock.json", "no regular file"},
		{dir + "/sub", "no regular file"},
		{dir, ""},
		{dir + "/passwd.json", "is no trace"},
		{dir + "/passwd.json.gz", "is no trace"},
		{dir + "/missing.json", "is not there"},
		{dir + "/" + strings.Repeat("n", 3000), "name too long"},
		{dir + "/" + strings.Repeat("n", 9000), "has 9"},
		{dir + "/x\x00y", "zero byte"},
		{"good.json", "not an absolute path"},
		{"/dev/zero", "not below a folder"},
		{"/proc/self/mem", "not below a folder"},
		{"http://10.0.0.1/x", "not an absolute path"},
	} {
		g := liar(t, dir, func() string { return c.path })
		g.r.Do(g.capture(int64(id + 1)))
		got := g.failed(int64(id+1), c.reason, "")
		if len(g.traces) != 0 {
			t.Errorf("%.60q: a trace was sent", c.path)
		}
		if strings.ContainsAny(got.Path+got.Error, "\x00\n") {
			t.Errorf("%.60q: path %.60q or error %.60q is not one clean line", c.path, got.Path, got.Error)
		}
	}
	for _, path := range []string{dir + "/good.json", dir + "/inside.json", dir + "/sub/../good.json"} {
		g := liar(t, dir, func() string { return path })
		g.r.Do(g.capture(1))
		if c := g.done(1); c.State != store.Stored || g.content(c.TraceID) != doc {
			t.Errorf("%q: %s %s", path, c.State, c.Error)
		}
	}
}

// Files found by their names are no links, however they are called: in /tmp anybody can plant one.
func TestPlantedLink(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.json")
	write(t, doc, secret)
	a.stop = func(http.ResponseWriter) {
		write(t, gz(t, doc), dir, "elsewhere.json.gz")
		for i, target := range []string{secret, "elsewhere.json.gz"} {
			if err := os.Symlink(target, filepath.Join(dir, vllmFile(fmt.Sprintf("rank%d", i)))); err != nil {
				t.Error(err)
			}
		}
	}
	g := newRig(t, a.engine(VLLM, dir))
	g.r.Do(g.capture(1))
	g.failed(1, "no trace appeared", "no regular file")
	if len(g.traces) != 0 {
		t.Error("a trace was sent")
	}
}

// A file that is swapped for a link while it is looked at: never a byte of the other file.
func TestSwappedFile(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "traces")
	mkdir(t, dir)
	secret := filepath.Join(base, "secret.json")
	write(t, `{"secret":1}`, secret)
	name := filepath.Join(dir, "t.json")
	stop := make(chan struct{})
	var swap sync.WaitGroup
	swap.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			tmp := filepath.Join(dir, fmt.Sprintf("tmp%d", i%2))
			os.Remove(tmp)
			if i%2 == 0 {
				os.Symlink(secret, tmp)
			} else {
				os.WriteFile(tmp, []byte(doc), 0o600)
			}
			os.Rename(tmp, name)
		}
	})
	f, err := Paths{{Engine: dir}}.open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	// Until both kinds of file were met often enough, however the goroutines take turns.
	read, refused := 0, 0
	for range 10_000_000 {
		if read >= 300 && refused >= 300 {
			break
		}
		file, _, err := f.openFile("t.json")
		if err != nil {
			if strings.Contains(err.Error(), "escapes") {
				refused++
			}
			continue
		}
		b, err := io.ReadAll(file)
		file.Close()
		if err != nil || strings.Contains(string(b), "secret") {
			t.Fatalf("read %q, %v", b, err)
		}
		read++
	}
	close(stop)
	swap.Wait()
	if read < 300 || refused < 300 {
		t.Errorf("read %d times, refused %d times: the test shows nothing", read, refused)
	}
}

// The source is removed only if it still is what was stored.
func TestRemoveIsCareful(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := Paths{{Engine: dir}}.open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	write(t, doc, dir, "t.json")
	file, info, err := f.openFile("t.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	write(t, doc, dir, "other")
	if err := os.Rename(filepath.Join(dir, "other"), filepath.Join(dir, "t.json")); err != nil {
		t.Fatal(err)
	}
	if err := f.remove("t.json", info); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "t.json")); err != nil {
		t.Error(err)
	}
	if err := f.remove("gone.json", info); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A listing is bounded, and a folder that isn't there has no files.
func TestList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := Paths{{Engine: dir}}.open(dir + "/later")
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	all := func(string) bool { return true }
	if names, err := f.list(all); err != nil || len(names) != 0 {
		t.Errorf("%q, %v", names, err)
	}
	mkdir(t, dir, "later")
	for i := range 3000 {
		write(t, "", dir, "later", fmt.Sprint(i))
	}
	if names, err := f.list(func(n string) bool { return len(n) == 4 }); err != nil || len(names) != 2000 {
		t.Errorf("%d names, %v", len(names), err)
	}
}

// A new file whose name tells a time before the request is taken when no better one comes: clocks and zones differ.
func TestWrongZone(t *testing.T) {
	t.Parallel()
	var e *engine
	e = newEngine(t, func(c *sim.Capture, w io.Writer) error {
		e.m.Close(canceled())
		_, err := c.Write(w)
		return err
	})
	target := e.target()
	target.Zone = time.FixedZone("east", 8*3600) // names are read eight hours too early
	g := newRig(t, target)
	g.r.Do(g.capture(1))
	c := g.done(1)
	if c.State != store.Stored || !strings.Contains(c.Warning, "check the node's clock and its zone") {
		t.Errorf("%s: %s; warning %q", c.State, c.Error, c.Warning)
	}
}

// An earlier recording that is still being written when the request comes is not taken for ours.
func TestEarlierRecording(t *testing.T) {
	t.Parallel()
	var e *engine
	ours := make(chan struct{})
	e = newEngine(t, func(c *sim.Capture, w io.Writer) error {
		e.m.Close(canceled())
		<-ours
		_, err := c.Write(w)
		return err
	})
	g := newRig(t, e.target())
	g.r.Do(g.capture(1))
	g.wait(1, func(c store.Capture) bool { return strings.Contains(c.Warning, "watching") })
	// Ours has its name already and is empty; the earlier one comes now and is whole at once.
	early := profile.FileName{IP: ip("127.0.0.1"), GPU: 2, Rank: 3, Time: time.Now().Add(-10 * time.Second)}.String()
	write(t, doc, e.dir, early)
	time.Sleep(100 * time.Millisecond)
	close(ours)
	c := g.done(1)
	if c.State != store.Stored || filepath.Base(c.Path) == early {
		t.Errorf("%s: %s; path %q", c.State, c.Error, c.Path)
	}
}
