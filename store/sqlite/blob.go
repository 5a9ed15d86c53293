package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/stepscope/stepscope/store"
)

// PutBlob implements store.Blobs.
func (s *Store) PutBlob(ctx context.Context, r io.Reader) (string, error) {
	g := s.newStage(false)
	defer g.release()
	var id string
	err := g.fill(ctx, r, math.MaxInt64)
	if err == nil {
		err = g.commit(ctx, func(tx *sql.Tx, row int64, sha256 string) (err error) {
			id = sha256
			_, err = settle(tx, row, sha256, "")
			return err
		})
	}
	if err != nil {
		return "", fmt.Errorf("store blob: %w", g.discard(ctx, err))
	}
	s.dropSmall(ctx, g.id) // if the bytes were there before
	return id, nil
}

// settle makes a fully received blob one of the content-addressed ones and
// returns the row that holds its bytes: another one if they were there before.
func settle(tx *sql.Tx, id int64, sha256, kind string) (int64, error) {
	var old int64
	// A blob that was stored as mere bytes learns here what they are.
	err := tx.QueryRow(`UPDATE blob SET kind = coalesce(nullif(kind, ''), ?) WHERE sha256 = ? RETURNING id`, kind, sha256).Scan(&old)
	if err == nil {
		return old, markDead(tx, id)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	_, err = tx.Exec(`UPDATE blob SET sha256 = ?, state = NULL WHERE id = ?`, sha256, id)
	return id, err
}

// OpenBlob implements store.Blobs.
func (s *Store) OpenBlob(ctx context.Context, id string) (store.Blob, error) {
	b := &blob{s: s, ctx: ctx, sha256: id, n: -1}
	err := s.r.QueryRowContext(ctx, `SELECT id, bytes FROM blob WHERE sha256 = ?`, id).Scan(&b.id, &b.size)
	if err != nil {
		return nil, fmt.Errorf("open blob %.64q: %w", id, explain(err))
	}
	return b, nil
}

// RemoveBlob implements store.Blobs.
func (s *Store) RemoveBlob(ctx context.Context, id string) error {
	var row int64
	err := s.write(ctx, func(tx *sql.Tx) error {
		var used bool
		err := tx.QueryRow(`SELECT id, EXISTS (SELECT 1 FROM trace WHERE trace.blob = blob.id) FROM blob WHERE sha256 = ?`, id).Scan(&row, &used)
		if err != nil {
			return err
		}
		if used {
			return store.ErrInUse
		}
		return markDead(tx, row)
	})
	if err != nil {
		return fmt.Errorf("remove blob %.64q: %w", id, err)
	}
	s.dropSmall(ctx, row)
	return nil
}

// row reads one row into buf's memory, from its start.
func (s *Store) row(ctx context.Context, id, n int64, buf []byte) ([]byte, error) {
	rows, err := s.r.QueryContext(ctx, `SELECT data FROM chunk WHERE blob = ? AND n = ?`, id, n)
	if err != nil {
		return nil, explain(err)
	}
	defer rows.Close()
	var data sql.RawBytes
	if rows.Next() {
		if err := rows.Scan(&data); err != nil {
			return nil, err
		}
		return append(buf[:0], data...), nil
	}
	if err := rows.Err(); err != nil {
		return nil, explain(err)
	}
	return nil, fmt.Errorf("%w: row %d of blob %d was removed", store.ErrNotFound, n, id)
}

// blob reads one row at a time, each in its own short read transaction: a
// download that takes an hour must not keep the log from being checkpointed.
type blob struct {
	s      *Store
	ctx    context.Context
	id     int64
	sha256 string
	size   int64
	pos    int64

	n    int64 // the row in data; -1 is none
	data []byte
}

func (b *blob) Size() int64 { return b.size }

func (b *blob) Read(p []byte) (int, error) {
	if b.pos >= b.size {
		return 0, io.EOF
	}
	if n := b.pos / rowSize; n != b.n {
		if b.data == nil {
			b.data = make([]byte, 0, min(rowSize, b.size))
		}
		b.n = -1
		data, err := b.s.row(b.ctx, b.id, n, b.data)
		if err == nil && int64(len(data)) != min(rowSize, b.size-n*rowSize) {
			err = fmt.Errorf("%w: row %d has %d bytes", store.ErrCorrupt, n, len(data))
		}
		if err != nil {
			return 0, fmt.Errorf("read blob %s at byte %d: %w", b.sha256, b.pos, err)
		}
		b.n, b.data = n, data
	}
	c := copy(p, b.data[b.pos%rowSize:])
	b.pos += int64(c)
	return c, nil
}

func (b *blob) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += b.pos
	case io.SeekEnd:
		offset += b.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("%w: seek to %d", store.ErrInvalid, offset)
	}
	b.pos = offset
	return offset, nil
}

func (b *blob) Close() error {
	b.data, b.n, b.size = nil, -1, 0
	return nil
}
