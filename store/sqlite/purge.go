package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/stepscope/stepscope/store"
)

const (
	// dropRows is the rows of one removing transaction, vacuumPages the pages
	// of one vacuuming statement: both bound how long an upload's batch waits.
	dropRows    = 64
	vacuumPages = 16 << 20 / pageSize
	// undoFloor is the time in which a delete can be undone even while the
	// quota presses.
	undoFloor = time.Minute
)

// Purge implements store.Traces.
func (s *Store) Purge(ctx context.Context, now time.Time) (store.Purged, error) {
	var p store.Purged
	err := s.purge(ctx, now, &p)
	return p, s.failure("clear away deleted traces", err)
}

func (s *Store) purge(ctx context.Context, now time.Time, p *store.Purged) error {
	s.mu.Lock()
	failed := s.failed
	s.mu.Unlock()
	err := s.write(ctx, func(tx *sql.Tx) error {
		for _, id := range failed {
			if err := markDead(tx, id); err != nil {
				return err
			}
		}
		traces, uploads, bytes, err := s.bury(tx, now)
		p.Traces, p.Uploads, p.Bytes = traces, uploads, bytes
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.failed = s.failed[len(failed):]
	s.mu.Unlock()
	var dead bool
	if err := s.r.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM blob WHERE dead = 1)`).Scan(&dead); err != nil {
		return explain(err)
	}
	if err := s.dropDead(ctx); err != nil {
		return err
	}
	return s.giveBack(ctx, dead)
}

// bury marks dead what nobody can reach any more at the time now.
func (s *Store) bury(tx *sql.Tx, now time.Time) (traces, uploads int, bytes int64, err error) {
	graceEnd := now.Add(-s.opt.Grace).UnixNano()
	if traces, bytes, err = buryAll(tx, `SELECT t.blob, b.bytes FROM trace t JOIN blob b ON b.id = t.blob WHERE t.deleted <= ?`, graceEnd); err != nil {
		return
	}
	if _, err = tx.Exec(`DELETE FROM trace WHERE deleted <= ?`, graceEnd); err != nil {
		return
	}
	var n int64
	if uploads, n, err = buryAll(tx, `SELECT u.blob, b.bytes FROM upload u JOIN blob b ON b.id = u.blob WHERE u.expires <= ?`, now.UnixNano()); err != nil {
		return
	}
	bytes += n
	if _, err = tx.Exec(`DELETE FROM upload WHERE expires <= ?`, now.UnixNano()); err != nil {
		return
	}
	// What a killed process was receiving and no upload knows. Its age keeps
	// those safe that another process receives right now.
	_, n, err = buryAll(tx, `SELECT id, bytes FROM blob WHERE sha256 IS NULL AND dead = 0 AND touched <= ?
		AND NOT EXISTS (SELECT 1 FROM upload u WHERE u.blob = blob.id)`, now.Add(-s.opt.UploadTTL).UnixNano())
	bytes += n
	return
}

// buryAll marks dead the blobs that the query gives with their sizes.
func buryAll(tx *sql.Tx, query string, arg any) (n int, bytes int64, err error) {
	rows, err := tx.Query(query, arg)
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id, size int64
		if err := rows.Scan(&id, &size); err != nil {
			return 0, 0, err
		}
		ids, bytes = append(ids, id), bytes+size
	}
	if err := rows.Err(); err != nil {
		return 0, 0, err
	}
	for _, id := range ids {
		if err := markDead(tx, id); err != nil {
			return 0, 0, err
		}
	}
	return len(ids), bytes, nil
}

// reclaim ends the grace period of the traces deleted longest ago until need
// bytes are free for a new file: a person who deletes to make room must not wait
// a day for it. If all of them together are not enough, it is ErrQuota.
func (s *Store) reclaim(ctx context.Context, need int64) error {
	err := s.write(ctx, func(tx *sql.Tx) error {
		rows, err := tx.Query(`SELECT t.blob, b.bytes FROM trace t JOIN blob b ON b.id = t.blob
			WHERE t.deleted <= ? ORDER BY t.deleted`, s.now().Add(-undoFloor).UnixNano())
		if err != nil {
			return err
		}
		defer rows.Close()
		var ids []int64
		for need > 0 && rows.Next() {
			var id, size int64
			if err := rows.Scan(&id, &size); err != nil {
				return err
			}
			ids, need = append(ids, id), need-size
		}
		if err := errors.Join(rows.Close(), rows.Err()); err != nil {
			return err
		}
		if need > 0 { // not enough: then nobody loses their undo for nothing
			return store.ErrQuota
		}
		for _, id := range ids {
			if _, err := tx.Exec(`DELETE FROM trace WHERE blob = ?`, id); err != nil {
				return err
			}
			if err := markDead(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("give up deleted traces: %w", err)
	}
	return nil
}

// dropDead removes the rows of all dead blobs.
func (s *Store) dropDead(ctx context.Context) error {
	for {
		var id int64
		err := s.r.QueryRowContext(ctx, `SELECT id FROM blob WHERE dead = 1 LIMIT 1`).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return explain(err)
		}
		for done := false; !done; {
			if done, err = s.dropSome(ctx, id); err != nil {
				return err
			}
		}
	}
}

// dropSmall removes a blob at once if it is dead and that is one short
// transaction. A larger one, or one whose removal fails, is Purge's work.
func (s *Store) dropSmall(ctx context.Context, id int64) {
	_, _ = s.dropSome(context.WithoutCancel(ctx), id)
}

// dropSome removes up to dropRows rows of a dead blob, and the blob with the
// last. A blob that isn't dead stays as it is.
func (s *Store) dropSome(ctx context.Context, id int64) (done bool, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		res, err := tx.Exec(`DELETE FROM chunk WHERE rowid IN (SELECT chunk.rowid FROM chunk
			JOIN blob b ON b.id = chunk.blob WHERE chunk.blob = ? AND b.dead = 1 LIMIT ?)`, id, dropRows)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err != nil || n == dropRows {
			return err
		}
		done = true
		_, err = tx.Exec(`DELETE FROM blob WHERE id = ? AND dead = 1`, id)
		return err
	})
	return done && err == nil, err
}

// vacuum gives free pages back to the file system, a piece at a time.
func (s *Store) vacuum(ctx context.Context) error {
	for last := int64(-1); ; {
		var free int64
		if err := s.w.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&free); err != nil {
			return explain(err)
		}
		if free == 0 || free == last {
			break
		}
		last = free
		pages := int64(vacuumPages)
		disk, known := s.free(s.path)
		if known { // each moved page, and what points to it, lies in the log once more
			pages = max(1, min(pages, disk/4/pageSize))
		}
		if _, err := s.w.ExecContext(ctx, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, pages)); err != nil {
			return explain(err)
		}
		if known && disk < tight {
			if err := s.foldLog(ctx); err != nil {
				return err
			}
		}
	}
	return s.foldLog(ctx) // only then the file gets shorter
}
