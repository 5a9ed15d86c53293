package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// command runs a command line and returns its exit code and output.
func command(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, &IO{In: strings.NewReader(""), Out: &o, Err: &e})
	return code, o.String(), e.String()
}

func TestExitCodes(t *testing.T) {
	f := func(want int, stream string, args ...string) {
		t.Helper()
		code, out, errOut := command(t, args...)
		if code != want || !strings.Contains(out+errOut, stream) {
			t.Errorf("stepscope %s: exit code %d, want %d; output %q %q, want %q in it", strings.Join(args, " "), code, want, out, errOut, stream)
		}
		if want != 0 && out != "" {
			t.Errorf("stepscope %s: the error went to standard output: %q", strings.Join(args, " "), out)
		}
	}
	f(0, "serve", "--help")
	f(0, "\n", "--version")
	f(2, "--help", "no-such-command")
	f(2, "expected", "trace")
	f(2, "size", "serve", "--quota", "lots")
	f(2, "stepscope serve --help", "serve", "--quota", "lots")
	f(2, "stepscope trace summary --help", "trace", "summary", "--rows", "-1", "a.json")
	f(2, "--token", "serve", "--addr", "0.0.0.0:0", "--db", filepath.Join(t.TempDir(), "a.db"))
	f(2, "give host:port", "serve", "--addr", "foo")
	f(2, "port up to 65535", "serve", "--addr", "127.0.0.1:99999")
	f(2, "give --server, or --db", "collect", "--config", "main.go")
	f(1, "give a file that stepscope backup wrote", "restore", "main.go", "--db", filepath.Join(t.TempDir(), "b.db"))
}

func TestWhereabouts(t *testing.T) {
	for bound, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080",
		"[::1]:80":       "http://[::1]:80",
		"[::]:8080":      "http://localhost:8080, and at that port of every other address of this machine",
	} {
		if got := whereabouts(netip.MustParseAddrPort(bound)); got != want {
			t.Errorf("%s is at %q, want %q", bound, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		var s Size
		err := s.UnmarshalText([]byte(text))
		if want < 0 {
			if err == nil || !strings.Contains(err.Error(), "no size") {
				t.Errorf("%q reads as %d, error %v; want an error", text, s, err)
			}
			return
		}
		if err != nil || int64(s) != want {
			t.Errorf("%q reads as %d, error %v; want %d", text, s, err, want)
		}
	}
	f("0", 0)
	f("1048576", 1048576)
	f("4GiB", 4<<30)
	f("500 MB", 500_000_000)
	f("7B", 7)
	f("8388607TiB", 8388607<<40)
	f("8388608TiB", -1) // 2^63
	f("-1", -1)
	f("1.5GiB", -1)
	f("", -1)
	f("GiB", -1)
}

// The whole server, as make run starts it: says where it is, answers, stops.
func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	var errOut bytes.Buffer
	done := make(chan int, 1)
	go func() {
		defer w.Close()
		done <- run(ctx, []string{"serve", "--addr", "127.0.0.1:0", "--db", filepath.Join(t.TempDir(), "s.db")}, &IO{Out: w, Err: &errOut})
	}()
	line := make([]byte, 200)
	n, err := r.Read(line)
	if err != nil {
		t.Fatalf("the server said nothing: %v, %s", err, errOut.String())
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(string(line[:n]))
	if address == "" {
		t.Fatalf("no address in %q", line[:n])
	}
	res, err := http.Get(address + "/traces")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != 200 || !strings.Contains(string(body), "Kept traces") {
		t.Errorf("GET /traces: %d, %v", res.StatusCode, err)
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("stopped with exit code %d: %s", code, errOut.String())
	}
}
