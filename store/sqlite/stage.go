package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"github.com/stepscope/stepscope/store"
)

const (
	rowSize = 1 << 20 // bytes of a full row
	// batchRows is the rows of one transaction: enough that its fixed cost
	// doesn't matter, few enough that other writers get their turn soon.
	batchRows = 4
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, batchRows*rowSize); return &b }}

// stage receives one blob. Its memory is one batch, whatever the blob's size,
// and it holds no transaction while it waits for bytes.
type stage struct {
	s     *Store
	id    int64 // the blob's row; 0 until something is stored
	bytes int64 // stored so far
	kind  string
	sniff bool // refuse what is no trace
	sum   hash.Hash

	// buf begins at a row's first byte. After a resume its first `stored`
	// bytes are the row that was left unfilled; they are in the hash already.
	buf    *[]byte
	stored int
	hashed int

	// also runs in the transaction of each batch; it may be nil.
	also func(tx *sql.Tx) error
}

func (s *Store) newStage(sniff bool) *stage {
	return &stage{s: s, sniff: sniff, sum: sha256.New(), buf: buffers.Get().(*[]byte)}
}

// resumeStage goes on where the stored rows of a blob end.
func (s *Store) resumeStage(ctx context.Context, id, bytes int64, kind string, state []byte) (*stage, error) {
	g := s.newStage(true)
	g.id, g.bytes, g.kind = id, bytes, kind
	if bytes == 0 {
		return g, nil
	}
	if err := g.sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
		g.release()
		return nil, fmt.Errorf("%w: hash state of blob %d: %w", store.ErrCorrupt, id, err)
	}
	if tail := int(bytes % rowSize); tail > 0 {
		row, err := s.row(ctx, id, bytes/rowSize, *g.buf)
		if err == nil && len(row) != tail {
			err = fmt.Errorf("%w: last row of blob %d has %d bytes, not %d", store.ErrCorrupt, id, len(row), tail)
		}
		if err != nil {
			g.release()
			return nil, err
		}
		*g.buf, g.stored, g.hashed = row, tail, tail
	}
	return g, nil
}

func (g *stage) release() {
	*g.buf = (*g.buf)[:0]
	buffers.Put(g.buf)
	g.buf = nil
}

// total is the bytes received, stored or not.
func (g *stage) total() int64 { return g.bytes + int64(len(*g.buf)-g.stored) }

// fill receives r to its end and stores all full batches; the rest waits for
// commit. One byte beyond max is ErrTooLarge. If r fails (ErrInterrupted), what
// came before is in the buffer.
func (g *stage) fill(ctx context.Context, r io.Reader, max int64) error {
	for {
		b := *g.buf
		room := b[len(b):cap(b)]
		left := max - g.total()
		// One byte more than allowed is asked for, to see that it isn't there.
		if left < int64(len(room)) {
			room = room[:left+1]
		}
		n, err := r.Read(room)
		if int64(n) > left {
			return &store.LimitError{Err: store.ErrTooLarge, Limit: max, Size: max + 1}
		}
		*g.buf = b[:len(b)+n]
		if n > 0 && g.sniff && g.kind == "" {
			// The decision falls within the first row: SniffLimit is less.
			kind, decided := store.Sniff(*g.buf)
			if decided && kind == "" {
				return fmt.Errorf("%w: the file begins with %q; traces are JSON, gzip or zstd", store.ErrNotTrace, (*g.buf)[:min(8, len(*g.buf))])
			}
			g.kind = kind
		}
		if len(*g.buf) == cap(*g.buf) {
			if err := g.commit(ctx, nil); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("%w at byte %d: %w", store.ErrInterrupted, g.total(), err)
		}
	}
}

// commit stores what is buffered in one transaction and runs finish, if there is
// one, in the same. Received bytes are worth keeping even if the client has gone,
// so ctx's cancellation doesn't count.
func (g *stage) commit(ctx context.Context, finish func(tx *sql.Tx, id int64, sha256 string) error) error {
	ctx = context.WithoutCancel(ctx)
	g.sum.Write((*g.buf)[g.hashed:])
	g.hashed = len(*g.buf)
	if err := g.s.withRoom(ctx, func() error { return g.try(ctx, finish) }); err != nil {
		return err
	}
	b := *g.buf
	g.bytes = g.total()
	tail := len(b) % rowSize
	copy(b, b[len(b)-tail:])
	*g.buf, g.stored, g.hashed = b[:tail], tail, tail
	return nil
}

func (g *stage) try(ctx context.Context, finish func(tx *sql.Tx, id int64, sha256 string) error) error {
	state, err := g.sum.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return fmt.Errorf("save hash state: %w", err)
	}
	id := g.id
	err = g.s.write(ctx, func(tx *sql.Tx) (err error) {
		if err := g.s.checkQuota(tx, int64(len(*g.buf)-g.stored)); err != nil {
			return err
		}
		if len(*g.buf) > g.stored { // the row left unfilled is written anew
			if err := g.s.checkDisk(int64(len(*g.buf))); err != nil {
				return err
			}
		}
		now := g.s.now().UnixNano()
		if id == 0 {
			id, err = insertBlob(tx, now)
			if err != nil {
				return err
			}
		}
		// The old size is part of the condition: if another process stored
		// to this blob or dropped it, nothing is written.
		res, err := tx.Exec(`UPDATE blob SET bytes = ?, kind = ?, state = ?, touched = ?
			WHERE id = ? AND bytes = ? AND sha256 IS NULL AND dead = 0`, g.total(), g.kind, state, now, id, g.bytes)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return fmt.Errorf("%w: the upload was removed or changed while it was received", store.ErrNotFound)
		}
		if err := g.insertRows(tx, id); err != nil {
			return err
		}
		if g.also != nil {
			if err := g.also(tx); err != nil {
				return err
			}
		}
		if finish != nil {
			return finish(tx, id, hex.EncodeToString(g.sum.Sum(nil)))
		}
		return nil
	})
	if err == nil {
		g.id = id
	}
	return err
}

func (g *stage) insertRows(tx *sql.Tx, id int64) error {
	b := *g.buf
	if len(b) == g.stored {
		return nil
	}
	first := g.bytes / rowSize
	for i := 0; i*rowSize < len(b); i++ {
		row := b[i*rowSize : min((i+1)*rowSize, len(b))]
		_, err := tx.Exec(`INSERT INTO chunk (blob, n, data) VALUES (?, ?, ?)
			ON CONFLICT (blob, n) DO UPDATE SET data = excluded.data`, id, first+int64(i), row)
		if err != nil {
			return err
		}
	}
	return nil
}

// discard removes what a transfer that failed with err stored, and returns err
// with what went wrong in that; then the next Purge tries it again. On a full
// disk all of it goes at once, else large transfers leave the most to Purge.
func (g *stage) discard(ctx context.Context, err error) error {
	if g.id == 0 {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if failed := g.s.write(ctx, func(tx *sql.Tx) error { return markDead(tx, g.id) }); failed != nil {
		g.s.mu.Lock()
		defer g.s.mu.Unlock()
		g.s.failed = append(g.s.failed, g.id)
		return errors.Join(err, fmt.Errorf("removing its bytes: %w", failed))
	}
	if !errors.Is(err, store.ErrDiskFull) {
		g.s.dropSmall(ctx, g.id)
		return err
	}
	if failed := g.s.clear(ctx); failed != nil {
		return errors.Join(err, fmt.Errorf("removing its bytes: %w", failed))
	}
	return err
}

func insertBlob(tx *sql.Tx, now int64) (int64, error) {
	res, err := tx.Exec(`INSERT INTO blob (touched) VALUES (?)`, now)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// markDead takes a blob out of use. It stops counting at once; its rows are
// removed later, in pieces.
func markDead(tx *sql.Tx, id int64) error {
	_, err := tx.Exec(`UPDATE blob SET dead = 1, sha256 = NULL, state = NULL, bytes = 0 WHERE id = ?`, id)
	return err
}

// checkQuota fails if add more bytes don't fit.
func (s *Store) checkQuota(tx *sql.Tx, add int64) error {
	if s.opt.Quota <= 0 || add == 0 {
		return nil
	}
	var used int64
	if err := tx.QueryRow(`SELECT bytes FROM usage`).Scan(&used); err != nil {
		return err
	}
	if used+add > s.opt.Quota {
		return &store.LimitError{Err: store.ErrQuota, Limit: s.opt.Quota, Used: used, Size: add}
	}
	return nil
}
