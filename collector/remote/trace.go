package remote

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// The server's resumable uploads, by tus 1.0.
const (
	tracesPath  = "/api/traces"
	uploadsPath = "/api/uploads"
	tusVersion  = "1.0.0"
	traceHeader = "X-Trace-Id"
	// moves is how often in one call an upload may go on elsewhere than thought,
	// or come back unfinished, before that is an error.
	moves = 5
)

var errStalled = errors.New("no byte of the trace went out for a minute: the network or the server is stuck; the upload goes on where it stopped")

// PutTrace implements wire.Link. After a failure the next call with the same
// sum goes on where the server stands.
func (l *Link) PutTrace(ctx context.Context, f wire.TraceFile) (string, error) {
	if f.Size <= 0 || !isSum(f.SHA256) {
		return "", fmt.Errorf("%w: a trace of %d bytes with the SHA-256 %.64q", store.ErrInvalid, f.Size, f.SHA256)
	}
	if kept, err := l.kept(ctx, f.SHA256); err != nil || kept {
		return f.SHA256, err
	}
	for range moves {
		id, offset, err := l.upload(ctx, f)
		if err != nil {
			return "", err
		}
		trace := ""
		if offset < f.Size {
			trace, err = l.send(ctx, id, offset, f)
		} else {
			trace, err = l.finished(ctx, id)
		}
		if status(err) == http.StatusConflict {
			continue // it goes on elsewhere: ask again
		}
		if code := status(err); code == http.StatusNotFound || code == http.StatusGone {
			l.uploads.forget(f.SHA256) // it expired meanwhile
			continue
		}
		if err != nil {
			return "", fmt.Errorf("sending trace %q: %w", f.Meta.Name, err)
		}
		if trace == "" {
			continue
		}
		l.uploads.forget(f.SHA256)
		if trace == f.SHA256 {
			return trace, nil
		}
		// Only bytes that differ have another sum. They are nobody's trace.
		err = fmt.Errorf("%w: the trace %q changed while it was read: the server received %s, announced was %s; capture again", store.ErrInvalid, f.Meta.Name, trace, f.SHA256)
		return "", errors.Join(err, l.remove(ctx, trace))
	}
	return "", fmt.Errorf("sending trace %q to %s: the upload did not end after %d pieces; try again later", f.Meta.Name, l.base.Redacted(), moves)
}

func isSum(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// status is the status of a refusal, else 0.
func status(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// kept asks whether the server has the trace: then nothing is sent.
func (l *Link) kept(ctx context.Context, sum string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	res, err := l.do(ctx, call{method: http.MethodHead, path: tracesPath + "/" + sum})
	if status(err) == http.StatusNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, res.Body.Close()
}

func tus() http.Header { return http.Header{"Tus-Resumable": {tusVersion}} }

// upload finds out where the trace's upload goes on, or begins one.
func (l *Link) upload(ctx context.Context, f wire.TraceFile) (id string, offset int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if id := l.uploads.get(f.SHA256); id != "" {
		res, err := l.do(ctx, call{method: http.MethodHead, path: uploadsPath + "/" + id, header: tus()})
		if err == nil {
			defer res.Body.Close()
			offset, bad := strconv.ParseInt(res.Header.Get("Upload-Offset"), 10, 64)
			if length := res.Header.Get("Upload-Length"); bad == nil && offset >= 0 && offset <= f.Size && length == strconv.FormatInt(f.Size, 10) {
				return id, offset, nil
			}
		} else if status(err) == 0 || status(err) >= 500 || status(err) == http.StatusUnauthorized || status(err) == http.StatusLocked {
			return "", 0, err
		}
		l.uploads.forget(f.SHA256)
	}
	header := tus()
	header.Set("Upload-Length", strconv.FormatInt(f.Size, 10))
	if m := metadata(f.Meta); m != "" {
		header.Set("Upload-Metadata", m)
	}
	res, err := l.do(ctx, call{method: http.MethodPost, path: uploadsPath, header: header})
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close()
	// Behind a proxy the address may lack the proxy's path: its last part is the id.
	id = path.Base(res.Header.Get("Location"))
	if !isUpload(id) {
		return "", 0, fmt.Errorf("server %s began an upload without saying where it goes (Location %.200q)", l.base.Redacted(), res.Header.Get("Location"))
	}
	l.uploads.put(f.SHA256, id)
	return id, 0, nil
}

func metadata(m store.Meta) string {
	var pairs []string
	for _, p := range [...]struct{ key, value string }{{"filename", m.Name}, {"label", m.Label}, {"note", m.Note}} {
		if p.value != "" {
			pairs = append(pairs, p.key+" "+base64.StdEncoding.EncodeToString([]byte(p.value)))
		}
	}
	return strings.Join(pairs, ",")
}

// send sends the rest of the file. The trace's id is "" if the server took only a part.
func (l *Link) send(ctx context.Context, id string, offset int64, f wire.TraceFile) (trace string, err error) {
	r, err := f.Open(offset)
	if err != nil {
		return "", err
	}
	defer r.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body := &moving{r: io.LimitReader(r, f.Size-offset), after: l.stall, stalled: time.AfterFunc(l.stall, func() { cancel(errStalled) })}
	defer body.stalled.Stop()
	// net/http waits for a read under way; closing the source ends one that is stuck.
	defer context.AfterFunc(ctx, func() { r.Close() })()
	header := tus()
	header.Set("Upload-Offset", strconv.FormatInt(offset, 10))
	header.Set("Content-Type", "application/offset+octet-stream")
	res, err := l.do(ctx, call{method: http.MethodPatch, path: uploadsPath + "/" + id, header: header, body: body, length: f.Size - offset})
	if err != nil {
		return "", err
	}
	return res.Header.Get(traceHeader), res.Body.Close()
}

// moving is a body that says when it stops moving.
type moving struct {
	r       io.Reader
	after   time.Duration
	stalled *time.Timer
}

func (m *moving) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if err == io.EOF {
		m.stalled.Reset(finishTime)
	} else {
		m.stalled.Reset(m.after)
	}
	return n, err
}

// finished asks a complete upload for its trace.
func (l *Link) finished(ctx context.Context, id string) (trace string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	res, err := l.do(ctx, call{method: http.MethodHead, path: uploadsPath + "/" + id, header: tus()})
	if err != nil {
		return "", err
	}
	return res.Header.Get(traceHeader), res.Body.Close()
}

// remove deletes a trace that should not be.
func (l *Link) remove(ctx context.Context, id string) error {
	if !isSum(id) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	res, err := l.do(ctx, call{method: http.MethodDelete, path: tracesPath + "/" + id})
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// uploads remembers the unfinished uploads: by the file's sum, where it goes.
// The server keeps them for a day; so does this.
type uploads struct {
	file string

	mu   sync.Mutex
	byID map[string]begun
}

type begun struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

const uploadLife = 24 * time.Hour

// loadUploads reads the file; whatever is wrong with it costs a repeated transfer only.
func loadUploads(file string) *uploads {
	u := &uploads{file: file, byID: map[string]begun{}}
	if file == "" {
		return u
	}
	if b, err := os.ReadFile(file); err != nil || json.Unmarshal(b, &u.byID) != nil || u.byID == nil {
		u.byID = map[string]begun{}
	}
	return u
}

func (u *uploads) get(sum string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if b := u.byID[sum]; isUpload(b.ID) && time.Since(b.At) < uploadLife {
		return b.ID
	}
	return ""
}

func isUpload(id string) bool {
	return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
}

func (u *uploads) put(sum, id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.byID[sum] = begun{ID: id, At: time.Now()}
	u.save()
}

func (u *uploads) forget(sum string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.byID[sum]; ok {
		delete(u.byID, sum)
		u.save()
	}
}

// save writes the file anew. A failure is not told: the uploads are known in
// memory all the same, and a restart costs a repeated transfer.
func (u *uploads) save() {
	if u.file == "" {
		return
	}
	for sum, b := range u.byID {
		if time.Since(b.At) >= uploadLife {
			delete(u.byID, sum)
		}
	}
	b, err := json.Marshal(u.byID)
	if err != nil {
		return
	}
	temp := u.file + ".new"
	if os.WriteFile(temp, b, 0o600) == nil {
		_ = os.Rename(temp, u.file)
	}
}
