package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/chunk"
)

// checkedTables are read from end to end after an unclean end. They are small,
// or bounded as the raw rows are. Trace bytes, chunks and their sums are not:
// that would take minutes on a large file.
var checkedTables = []string{"blob", "usage", "trace", "upload", "deployment", "engine", "series", "layout", "stream",
	"sample", "event", "collector", "position", "baseline", "capture"}

// checkSpan is how far back from the newest one blocks are checked: what was
// written shortly before an unclean end lies there.
const checkSpan = 2 * day

// check looks for damage after an unclean end. SQLite's log already makes a
// killed process harmless; this finds what a failing disk or a half-copied file
// does. Of traces the rows are counted in the index, and each download ends where
// its size says; of newer blocks the chunks and their sums are counted. What lies
// deeper fails when it is read: chunks are unpacked with all lengths checked.
func (s *Store) check(ctx context.Context) error {
	for _, table := range checkedTables {
		var answer string
		if err := s.w.QueryRowContext(ctx, "PRAGMA quick_check('"+table+"')").Scan(&answer); err != nil {
			return explain(err)
		}
		if answer != "ok" {
			return fmt.Errorf("%w: table %s: %s; put back a copy of the file, or rescue it with sqlite3's .recover", store.ErrCorrupt, table, answer)
		}
	}
	for _, c := range []struct {
		what, query string
		arg         int64
	}{
		{"blob %d should have %d bytes and has %d rows of 1 MiB", `SELECT * FROM (
			SELECT id, bytes, (SELECT count(*) FROM chunk WHERE blob = blob.id) AS rows FROM blob WHERE dead = 0)
			WHERE rows <> (bytes + ?1 - 1) / ?1 LIMIT 1`, rowSize},
		{"block %d should have %d chunks and has %d", `SELECT * FROM (
			SELECT id, chunks, (SELECT count(*) FROM series_chunk c JOIN series_sum s ON s.engine = b.engine AND s.series = c.series AND s.first = b.first
				AND s.block = b.id AND s.chunk = c.id WHERE c.id >= b.chunk AND c.id < b.chunk + b.chunks) AS found
			FROM series_block b WHERE chunk > 0 AND last > (SELECT max(last) FROM series_block) - ?)
			WHERE found <> chunks LIMIT 1`, checkSpan},
	} {
		var id, want, have int64
		err := s.w.QueryRowContext(ctx, c.query, c.arg).Scan(&id, &want, &have)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return explain(err)
		}
		return fmt.Errorf("%w: "+c.what+"; put back a copy of the file", store.ErrCorrupt, id, want, have)
	}
	return s.checkWide(ctx)
}

// checkWide reads the wide blocks, which are of the newest hours.
func (s *Store) checkWide(ctx context.Context) error {
	rows, err := s.w.QueryContext(ctx, `SELECT id, chunks, data FROM series_block WHERE chunk = 0 AND last > (SELECT max(last) FROM series_block) - ?`, checkSpan)
	var w chunk.Wide
	var data sql.RawBytes
	err = scanAll(rows, err, func(scan scanner) error {
		var id int64
		var series int
		if err := scan(&id, &series, &data); err != nil {
			return err
		}
		if err := w.Decode(data); err != nil || len(w.IDs) != series {
			return fmt.Errorf("%w: block %d should have %d series and has %d (%v); put back a copy of the file", store.ErrCorrupt, id, series, len(w.IDs), err)
		}
		return nil
	})
	return explain(err)
}
