package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/stepscope/stepscope/store"
)

// Maintain implements store.Samples.
func (s *Store) Maintain(ctx context.Context, now time.Time, r store.Retention) (m store.Maintained, err error) {
	if r.Chunks > 0 {
		err = s.dropSamples(ctx, now.Add(-r.Chunks).UnixNano())
	}
	if err == nil {
		err = s.vacuum(ctx)
	}
	if err != nil {
		return m, s.failure("maintain samples", err)
	}
	return m, nil
}

// dropBatch is the rows of one removing transaction.
const dropBatch = 5000

// dropSamples removes rows and events from before a time, a piece at a time.
func (s *Store) dropSamples(ctx context.Context, before int64) error {
	for _, query := range []string{
		`DELETE FROM sample WHERE id IN (SELECT m.id FROM stream s JOIN sample m ON m.engine = s.engine AND m.layout = s.layout AND m.time < ? LIMIT ?)`,
		`DELETE FROM event WHERE id IN (SELECT id FROM event WHERE stop < ? LIMIT ?)`,
	} {
		for n := int64(dropBatch); n == dropBatch; {
			err := s.write(ctx, func(tx *sql.Tx) error {
				res, err := tx.Exec(query, before, dropBatch)
				if err == nil {
					n, err = res.RowsAffected()
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
