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
	// packAfter is the time for which rows lie as they came at least, so that an
	// engine's newest values are found there without unpacking anything.
	packAfter = time.Minute
	// closeAfter is the time after which hours are folded: what comes later has to
	// be put in order there.
	closeAfter = time.Hour
	// dropRaw is the rows, dropBatch the blocks of one removing transaction.
	dropRaw   = 5000
	dropBatch = 8
)

// dropOldRows removes rows from before a time, up to a number of them.
const dropOldRows = `DELETE FROM sample WHERE id IN (SELECT m.id FROM stream s JOIN sample m ON m.engine = s.engine AND m.layout = s.layout AND m.time < ? LIMIT ?)`

// Maintain implements store.Samples. Rows are packed after Retention.Raw, or after
// a minute if it is zero, as long as there are enough of them: no reader can tell.
// Packed they are read some twenty times as fast, so it is to be called every few
// minutes. A block goes as a whole, so samples can be there for up to a day beyond
// Retention.Chunks.
func (s *Store) Maintain(ctx context.Context, now time.Time, r store.Retention) (m store.Maintained, err error) {
	s.maintainMu.Lock()
	defer s.maintainMu.Unlock()
	before, err := s.sampleBytes(ctx)
	if err == nil {
		err = s.maintain(ctx, now, r, &m)
	}
	if err == nil {
		var after int64
		if after, err = s.sampleBytes(ctx); err == nil {
			m.FreedBytes = max(before-after, 0)
			err = s.giveBack(ctx, m.DroppedChunks > 0)
		}
	}
	if err != nil {
		return m, s.failure("maintain samples", err)
	}
	return m, nil
}

func (s *Store) maintain(ctx context.Context, now time.Time, r store.Retention, m *store.Maintained) error {
	if r.Traces > 0 {
		if err := s.retireTraces(ctx, now, now.Add(-r.Traces), m); err != nil {
			return err
		}
	}
	if err := s.purgeDeployments(ctx, now.Add(-s.opt.Grace).UnixNano(), m); err != nil {
		return err
	}
	if r.Chunks > 0 {
		if err := s.dropSamples(ctx, now.Add(-r.Chunks).UnixNano(), m); err != nil {
			return err
		}
	}
	packed, closed := now.Add(-max(r.Raw, packAfter)).UnixNano(), now.Add(-max(r.Raw, closeAfter)).UnixNano()
	err := s.compact(ctx, packed, m)
	if err == nil {
		err = s.fold(ctx, packed, closed)
	}
	if r.MaxBytes > 0 { // what is damaged must not let the file grow
		err = errors.Join(err, s.shrink(ctx, r.MaxBytes, m))
	}
	return err
}

// sampleBytes is what the file holds beside traces.
func (s *Store) sampleBytes(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, func(tx *sql.Tx) error {
		n, err = bytesIn(tx)
		return err
	})
	return n, err
}

func bytesIn(tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRow(`SELECT ((SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)) * (SELECT page_size FROM pragma_page_size)
		- (SELECT bytes FROM usage) - (SELECT coalesce(sum(length(data)), 0) FROM summary)`).Scan(&n)
	return n, err
}

// repeat runs a removing statement until it meets fewer than limit rows, each
// time in a transaction of its own; limit is its last argument. It returns how
// many rows went.
func (s *Store) repeat(ctx context.Context, limit int64, query string, args ...any) (total int64, err error) {
	for n := limit; n == limit; {
		err := s.write(ctx, func(tx *sql.Tx) error {
			res, err := tx.Exec(query, append(args, limit)...)
			if err == nil {
				n, err = res.RowsAffected()
			}
			return err
		})
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// dropSamples removes blocks, rows and events that end before a time.
func (s *Store) dropSamples(ctx context.Context, before int64, m *store.Maintained) error {
	if err := s.dropBlocks(ctx, `last < ?`, before, nil, m); err != nil {
		return err
	}
	for _, query := range []string{
		dropOldRows,
		`DELETE FROM event WHERE id IN (SELECT id FROM event WHERE stop < ? LIMIT ?)`,
	} {
		if _, err := s.repeat(ctx, dropRaw, query, before); err != nil {
			return err
		}
	}
	return nil
}

// dropBlocks removes blocks, oldest first, a few at a time, until none is left
// that meets the condition, or until enough says so.
func (s *Store) dropBlocks(ctx context.Context, where string, arg int64, enough func(tx *sql.Tx) (bool, error), m *store.Maintained) error {
	for done := false; !done; {
		err := s.write(ctx, func(tx *sql.Tx) error {
			var ids []int64
			err := each(tx, func(scan scanner) error {
				var id int64
				err := scan(&id)
				ids = append(ids, id)
				return err
			}, `SELECT id FROM series_block WHERE `+where+` ORDER BY last LIMIT ?`, arg, dropBatch)
			if err != nil {
				return err
			}
			done = len(ids) == 0
			for _, id := range ids {
				if enough != nil {
					if done, err = enough(tx); done || err != nil {
						return err
					}
				}
				chunks, err := removeBlock(tx, id)
				if err != nil {
					return err
				}
				m.DroppedChunks += chunks
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shrink removes the oldest samples until all take at most so many bytes.
func (s *Store) shrink(ctx context.Context, limit int64, m *store.Maintained) error {
	done := false
	enough := func(tx *sql.Tx) (bool, error) {
		n, err := bytesIn(tx)
		done = n <= limit
		return done, err
	}
	if err := s.dropBlocks(ctx, `last >= ?`, 0, enough, m); err != nil || done {
		return err
	}
	for { // then raw rows, by the hour
		n, err := s.sampleBytes(ctx)
		if err != nil || n <= limit {
			return err
		}
		oldest, err := s.stale(ctx, store.MaxTime)
		if err != nil || len(oldest) == 0 {
			return err
		}
		first := oldest[0].oldest
		for _, e := range oldest {
			first = min(first, e.oldest)
		}
		if _, err := s.repeat(ctx, dropRaw, dropOldRows, first-first%hour+hour); err != nil {
			return err
		}
	}
}

// retireTraces deletes traces from before a time; they go for good when the
// grace period is over.
func (s *Store) retireTraces(ctx context.Context, now, before time.Time, m *store.Maintained) (err error) {
	m.DroppedTraces, err = s.repeat(ctx, dropRaw, `UPDATE trace SET deleted = ? WHERE id IN (SELECT id FROM trace WHERE deleted IS NULL AND created < ? ORDER BY created LIMIT ?)`,
		now.UnixNano(), before.UnixNano())
	return err
}

// purgeDeployments removes for good what was deleted before a time.
func (s *Store) purgeDeployments(ctx context.Context, before int64, m *store.Maintained) error {
	var gone, engines []int64
	collect := func(tx *sql.Tx, to *[]int64, query string, arg any) error {
		return each(tx, func(scan scanner) error {
			var id int64
			err := scan(&id)
			*to = append(*to, id)
			return err
		}, query, arg)
	}
	err := s.read(ctx, func(tx *sql.Tx) error {
		if err := collect(tx, &gone, `SELECT id FROM deployment WHERE deleted <= ?`, before); err != nil {
			return err
		}
		return collect(tx, &engines, `SELECT id FROM engine WHERE deployment IN (SELECT value FROM json_each(?))`, list(gone))
	})
	if err != nil {
		return err
	}
	for _, e := range engines {
		if err := s.dropBlocks(ctx, `engine = ?`, e, nil, m); err != nil {
			return err
		}
		for _, query := range []string{
			`DELETE FROM sample WHERE id IN (SELECT m.id FROM stream s JOIN sample m ON m.engine = s.engine AND m.layout = s.layout WHERE s.engine = ? LIMIT ?)`,
			`DELETE FROM event WHERE id IN (SELECT id FROM event WHERE engine = ? LIMIT ?)`,
		} {
			if _, err := s.repeat(ctx, dropRaw, query, e); err != nil {
				return err
			}
		}
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		for _, d := range gone {
			var err error
			// Samples that came meanwhile brought it back; then it stays, without its past.
			for _, query := range []string{
				`DELETE FROM stream WHERE engine IN (SELECT e.id FROM engine e JOIN deployment d ON d.id = e.deployment WHERE d.id = ? AND d.deleted IS NOT NULL)`,
				`DELETE FROM engine WHERE deployment IN (SELECT id FROM deployment WHERE id = ? AND deleted IS NOT NULL)`,
				`DELETE FROM deployment WHERE id = ? AND deleted IS NOT NULL`,
			} {
				if err == nil {
					_, err = tx.Exec(query, d)
				}
			}
			if err != nil {
				return fmt.Errorf("remove deployment %d: %w", d, err)
			}
		}
		return nil
	})
}

// Rows that come fill the room of those that were packed, so free pages are no
// waste as long as they are few.
const (
	fewFree   = 64 << 20 // bytes
	shareFree = 4        // a quarter of the file
)

// giveBack gives free pages back to the disk, if there are many or it is known
// that they will not be filled soon.
func (s *Store) giveBack(ctx context.Context, now bool) error {
	var free, pages, size int64
	err := s.r.QueryRowContext(ctx, `SELECT (SELECT freelist_count FROM pragma_freelist_count), (SELECT page_count FROM pragma_page_count), (SELECT page_size FROM pragma_page_size)`).
		Scan(&free, &pages, &size)
	if err != nil {
		return explain(err)
	}
	if now || free*size > fewFree && free > pages/shareFree {
		return s.vacuum(ctx)
	}
	err = s.foldLog(ctx)
	if errors.Is(err, store.ErrBusy) { // the next round is soon enough
		err = nil
	}
	return err
}
