package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stepscope/stepscope/store"
)

// CreateUpload implements store.Uploads.
func (s *Store) CreateUpload(ctx context.Context, m store.Meta, length int64) (store.Upload, error) {
	if length <= 0 {
		return store.Upload{}, fmt.Errorf("create upload: %w: the length is %d bytes", store.ErrInvalid, length)
	}
	if length > s.maxTrace() {
		return store.Upload{}, fmt.Errorf("create upload: %w", &store.LimitError{Err: store.ErrTooLarge, Limit: s.opt.MaxTrace, Size: length})
	}
	u := store.Upload{ID: newID(), Meta: m.Clean(), Length: length}
	create := func(tx *sql.Tx) error {
		var open int
		if err := tx.QueryRow(`SELECT count(*) FROM upload WHERE trace IS NULL`).Scan(&open); err != nil {
			return err
		}
		if open >= store.MaxUploads {
			return fmt.Errorf("%w: %d", store.ErrTooMany, open)
		}
		if err := s.checkQuota(tx, length); err != nil {
			return err
		}
		if err := s.checkAhead(length); err != nil {
			return err
		}
		now := s.now()
		u.Expires = now.Add(s.opt.UploadTTL).UTC()
		blob, err := insertBlob(tx, now.UnixNano())
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO upload (id, blob, name, label, note, length, expires) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			u.ID, blob, u.Name, u.Label, u.Note, length, u.Expires.UnixNano())
		return err
	}
	err := s.withRoom(ctx, func() error { return s.write(ctx, create) })
	if err != nil {
		return store.Upload{}, fmt.Errorf("create upload: %w", err)
	}
	return u, nil
}

// newID makes an id that can't be guessed: who knows it may go on with the upload.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// uploadState is an upload and what a stage needs to go on with it.
type uploadState struct {
	store.Upload
	blob  int64
	kind  string
	state []byte
}

func (s *Store) loadUpload(ctx context.Context, id string) (u uploadState, err error) {
	var blob, bytes sql.NullInt64
	var kind, trace sql.NullString
	var expires int64
	err = s.r.QueryRowContext(ctx, `SELECT u.id, u.name, u.label, u.note, u.length, u.expires, u.trace, u.existing, b.id, b.bytes, b.kind, b.state
		FROM upload u LEFT JOIN blob b ON b.id = u.blob WHERE u.id = ?`, id).
		Scan(&u.ID, &u.Name, &u.Label, &u.Note, &u.Length, &expires, &trace, &u.Existing, &blob, &bytes, &kind, &u.state)
	if err != nil {
		return uploadState{}, fmt.Errorf("upload %.64q: %w", id, explain(err))
	}
	u.Expires, u.Trace, u.Offset = time.Unix(0, expires).UTC(), trace.String, bytes.Int64
	u.blob, u.kind = blob.Int64, kind.String
	if u.Trace != "" {
		u.Offset = u.Length
	}
	return u, nil
}

// Upload implements store.Uploads.
func (s *Store) Upload(ctx context.Context, id string) (store.Upload, error) {
	u, err := s.loadUpload(ctx, id)
	return u.Upload, err
}

// claim makes one goroutine at a time the writer of an upload.
func (s *Store) claim(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[id] {
		return false
	}
	s.active[id] = true
	return true
}

func (s *Store) unclaim(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, id)
}

// AppendUpload implements store.Uploads.
func (s *Store) AppendUpload(ctx context.Context, id string, offset int64, r io.Reader) (store.Upload, error) {
	if !s.claim(id) {
		return store.Upload{}, fmt.Errorf("upload %.64q: %w: another transfer is at work", id, store.ErrBusy)
	}
	defer s.unclaim(id)
	u, err := s.loadUpload(ctx, id)
	if err != nil {
		return store.Upload{}, err
	}
	if offset != u.Offset {
		return u.Upload, fmt.Errorf("upload %s: %w", id, &store.OffsetError{Have: u.Offset, Got: offset})
	}
	if u.Trace != "" {
		return u.Upload, nil
	}
	g, err := s.resumeStage(ctx, u.blob, u.Offset, u.kind, u.state)
	if err != nil {
		return u.Upload, fmt.Errorf("upload %s: %w", id, err)
	}
	defer g.release()
	g.also = func(tx *sql.Tx) error {
		u.Expires = s.now().Add(s.opt.UploadTTL).UTC()
		_, err := tx.Exec(`UPDATE upload SET expires = ? WHERE id = ?`, u.Expires.UnixNano(), id)
		return err
	}
	failed := g.fill(ctx, r, u.Length)
	if failed == nil || errors.Is(failed, store.ErrInterrupted) {
		var finish func(tx *sql.Tx, row int64, sha256 string) error
		if g.total() == u.Length { // then it doesn't matter how the source ended
			failed, finish = nil, func(tx *sql.Tx, row int64, sha256 string) error { return s.finishUpload(tx, g, row, sha256, &u.Upload) }
		}
		if err := g.commit(ctx, finish); err != nil {
			failed = err
		}
	}
	u.Offset = g.bytes
	if errors.Is(failed, store.ErrDiskFull) {
		failed = s.giveUp(ctx, id, failed)
	}
	if failed != nil {
		return u.Upload, fmt.Errorf("upload %s: %w", id, failed)
	}
	if u.Trace != "" {
		s.dropSmall(ctx, g.id) // if the bytes were there before
	}
	return u.Upload, nil
}

// giveUp drops an upload that the disk has no room for: kept for whoever may go
// on with it, its first half would fill the disk until it expires.
func (s *Store) giveUp(ctx context.Context, id string, err error) error {
	ctx = context.WithoutCancel(ctx)
	failed := s.DropUpload(ctx, id)
	if failed == nil {
		failed = s.clear(ctx)
	}
	return errors.Join(err, failed)
}

// finishUpload makes the upload a trace. Its row stays until it expires, for
// the client that didn't get the last reply.
func (s *Store) finishUpload(tx *sql.Tx, g *stage, row int64, sha256 string, u *store.Upload) error {
	t, existing, err := s.finish(tx, g, row, sha256, u.Meta)
	if err != nil {
		return err
	}
	u.Trace, u.Existing = t.ID, existing
	_, err = tx.Exec(`UPDATE upload SET blob = NULL, trace = ?, existing = ? WHERE id = ?`, t.ID, existing, u.ID)
	return err
}

// DropUpload implements store.Uploads.
func (s *Store) DropUpload(ctx context.Context, id string) error {
	var blob sql.NullInt64
	err := s.write(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRow(`DELETE FROM upload WHERE id = ? RETURNING blob`, id).Scan(&blob); err != nil {
			return err
		}
		if !blob.Valid {
			return nil
		}
		return markDead(tx, blob.Int64)
	})
	if err != nil {
		return fmt.Errorf("drop upload %.64q: %w", id, err)
	}
	if blob.Valid {
		s.dropSmall(ctx, blob.Int64)
	}
	return nil
}
