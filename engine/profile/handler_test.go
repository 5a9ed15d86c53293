package profile

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBadRequests(t *testing.T) {
	f := func(body, reason string) {
		t.Helper()
		inBubble(t, "", func(t *testing.T) {
			r := newRig(t)
			c := r.post(body)
			c.answered(http.StatusBadRequest, reason)
			if got := c.rec.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("content type %q", got)
			}
			r.step(2)
			r.p.counts(0, 0)
			if len(r.files.prepared) != 0 {
				t.Errorf("prepared %q for a bad request", r.files.prepared)
			}
		})
	}
	const steps = "must be an integer from 1 to 50"
	f(`{"num_steps":0}`, "num_steps is 0; it "+steps)
	f(`{"num_steps":51}`, "num_steps is 51; it "+steps)
	f(`{"num_steps":-1}`, steps)
	f(`{"num_steps":20.0}`, "num_steps is 20.0; it "+steps)
	f(`{"num_steps":2e1}`, steps)
	f(`{"num_steps":"20"}`, steps)
	f(`{"num_steps":true}`, steps)
	f(`{"num_steps":null}`, steps)
	f(`{"num_steps":[20]}`, steps)
	f(`{"num_steps":123456789012345678901234567890}`, steps)
	f(`{"num_steps":NaN}`, "not JSON")
	f(`{"output_dir":""}`, "must be the path of a folder")
	f(`{"output_dir":7}`, "must be the path of a folder")
	f(`{"output_dir":null}`, "must be the path of a folder")
	f(`[1,2]`, "not a JSON object")
	f(`"/tmp"`, "not a JSON object")
	f(`{"num_steps":2`, "not JSON")
	f(`{"num_steps":2} {"num_steps":3}`, "not JSON")
	f(`{"x":"`+strings.Repeat("y", maxBody)+`"}`, "over 65536 bytes")
}

func TestGoodRequests(t *testing.T) {
	f := func(method, target, body string, steps int, dir string) {
		t.Helper()
		q, err := readRequest(httptest.NewRequest(method, target, strings.NewReader(body)), DefaultOutputDir)
		if err != nil || q != (Request{steps, dir}) {
			t.Errorf("%s %s %s: got %+v, %v; want %d steps into %s", method, target, body, q, err, steps, dir)
		}
	}
	f("POST", "/profile", ``, 20, "/tmp")
	f("POST", "/profile", " \n", 20, "/tmp")
	f("POST", "/profile", `{}`, 20, "/tmp")
	f("POST", "/profile", `{"num_steps":50}`, 50, "/tmp")
	f("POST", "/profile", `{"num_steps":1,"output_dir":"/mnt/traces","with_stack":true}`, 1, "/mnt/traces")
	f("POST", "/profile?num_steps=7", `{}`, 20, "/tmp")
	f("GET", "/profile", ``, 20, "/tmp")
	f("GET", "/profile", `{"num_steps":3}`, 3, "/tmp")
	f("GET", "/profile?num_steps=7&output_dir=/a%22b", ``, 7, `/a"b`)
	f("GET", "/profile?num_steps=7", `{"num_steps":3}`, 3, "/tmp")

	for _, query := range []string{"num_steps=", "num_steps=x", "num_steps=51", "output_dir="} {
		if q, err := readRequest(httptest.NewRequest("GET", "/profile?"+query, nil), DefaultOutputDir); err == nil {
			t.Errorf("%s was accepted as %+v", query, q)
		}
	}
	broken := httptest.NewRequest("POST", "/profile", brokenReader{})
	if _, err := readRequest(broken, DefaultOutputDir); err == nil || !strings.Contains(err.Error(), "could not be read") {
		t.Errorf("got %v for a body that broke off", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("reset") }

func TestFolderCantBeUsed(t *testing.T) {
	inBubble(t, "answers at once, before the slot", func(t *testing.T) {
		r := newRig(t)
		r.files.prepareErr = errors.New("mkdir /proc/x: permission denied")
		r.post(`{"output_dir":"/proc/x"}`).answered(http.StatusBadRequest, "output_dir can't be created or written: mkdir /proc/x: permission denied")
		r.files.prepareErr = nil
		c := r.post(`{"num_steps":1}`)
		r.step(2)
		c.answered(http.StatusOK, "trace_file")
	})
}

func TestOtherCalls(t *testing.T) {
	f := func(method, target, fetchSite string, status int, text string) {
		t.Helper()
		r := newRig(t)
		rec := httptest.NewRecorder()
		req := httptest.NewRequest(method, target, nil)
		if fetchSite != "" {
			req.Header.Set("Sec-Fetch-Site", fetchSite)
		}
		r.m.ServeHTTP(rec, req)
		if rec.Code != status || !strings.Contains(rec.Body.String(), text) {
			t.Errorf("%s %s: got %d %s, want %d with %q", method, target, rec.Code, rec.Body, status, text)
		}
		r.rawStep()
		r.p.counts(0, 0)
	}
	f("GET", "/", "", 404, "Not Found")
	f("POST", "/profile/", "", 404, "Not Found")
	f("POST", "/start_profile", "", 404, "Not Found")
	f("HEAD", "/profile", "", 405, "Not Allowed")
	f("DELETE", "/profile", "", 405, "Not Allowed")
	f("GET", "/profile", "cross-site", 403, "another site")
	f("POST", "/profile", "same-site", 403, "another site")
	// A person's own address bar passes and meets the next check.
	f("GET", "/profile?num_steps=0", "none", 400, "num_steps")
}

func TestDisk(t *testing.T) {
	var d Disk
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := d.Prepare(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the folder holds %v (%v), want nothing", left, err)
	}
	path := filepath.Join(dir, "x.json")
	f, err := d.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v for a file that exists", err)
	}
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if _, err := d.Create(link); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v for a planted link", err)
	}
	if err := d.Prepare(path); err == nil {
		t.Error("a file passed for a folder")
	}
	if err := d.Prepare(filepath.Join(path, "below")); err == nil {
		t.Error("a folder below a file passed")
	}
	if err := d.Prepare("/proc"); err == nil {
		t.Error("a folder that takes no files passed")
	}
	if err := d.Remove(path); err != nil {
		t.Error(err)
	}
}
