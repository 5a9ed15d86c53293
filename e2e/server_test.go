package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is a running stepscope.
type server struct {
	addr string // host:port
	db   string // path of its database
	cmd  *exec.Cmd
	log  *lockedBuffer
	done chan error
}

// lockedBuffer keeps what a process prints while others look at it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var addressLine = regexp.MustCompile(`http://(\S+)`)

// startServer runs stepscope serve and waits until it has printed its address.
func startServer(db, addr string, flags ...string) (*server, error) {
	s := &server{db: db, log: &lockedBuffer{}, done: make(chan error, 1)}
	s.cmd = exec.Command(program, append([]string{"serve", "--addr", addr, "--db", db}, flags...)...)
	s.cmd.Stderr = s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	first := make(chan string, 1)
	go func() {
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, lines)
		s.done <- s.cmd.Wait()
	}()
	select {
	case line := <-first:
		found := addressLine.FindStringSubmatch(line)
		if found == nil {
			return nil, fmt.Errorf("the server said %q instead of its address; %s", line, s.log)
		}
		s.addr = found[1]
		return s, nil
	case <-time.After(30 * time.Second):
		return nil, errors.Join(fmt.Errorf("the server printed no address; %s", s.log), s.cmd.Process.Kill())
	}
}

// stop ends the server as an operator would.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case err := <-s.done:
		if err != nil {
			return fmt.Errorf("the server ended badly: %w; %s", err, s.log)
		}
		return nil
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("the server did not stop"), s.cmd.Process.Kill())
	}
}

// kill ends the server without giving it a chance to tidy up.
func (s *server) kill() error {
	err := s.cmd.Process.Kill()
	<-s.done
	return err
}

func (s *server) url(path string) string { return "http://" + s.addr + path }

// newServer starts a server of the test's own with an empty store.
func newServer(t testing.TB, flags ...string) *server {
	t.Helper()
	db := filepath.Join(t.TempDir(), "stepscope.db")
	s, err := startServer(db, "127.0.0.1:0", flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// get fetches a path of the server and returns its body; any status but 200 fails the test.
func (s *server) get(t testing.TB, path string) []byte {
	t.Helper()
	res, err := http.Get(s.url(path))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s: %s", path, res.Status, body)
	}
	return body
}

// cli runs a stepscope command and returns its standard output.
func cli(t testing.TB, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("stepscope %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}
