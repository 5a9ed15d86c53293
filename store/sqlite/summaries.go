package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/stepscope/stepscope/store"
)

// maxSummary is the most bytes of a summary: the largest real ones have a few MB.
const maxSummary = 64 << 20

// PutSummary implements store.Summaries. The trace must be there: ErrNotFound.
func (s *Store) PutSummary(ctx context.Context, trace string, summary []byte) error {
	var err error
	if len(summary) == 0 {
		err = fmt.Errorf("%w: it is empty", store.ErrInvalid)
	} else if len(summary) > maxSummary {
		err = &store.LimitError{Err: store.ErrTooLarge, Limit: maxSummary, Size: int64(len(summary))}
	} else {
		err = s.withRoom(ctx, func() error {
			return s.write(ctx, func(tx *sql.Tx) error {
				if err := s.checkDisk(int64(len(summary))); err != nil {
					return err
				}
				var id string
				return tx.QueryRow(`INSERT INTO summary (trace, data) SELECT id, ?2 FROM trace WHERE id = ?1
					ON CONFLICT (trace) DO UPDATE SET data = excluded.data RETURNING trace`, trace, summary).Scan(&id)
			})
		})
	}
	if err != nil {
		return s.failure(fmt.Sprintf("keep summary of trace %.64q", trace), err)
	}
	return nil
}

// Summary implements store.Summaries.
func (s *Store) Summary(ctx context.Context, trace string) (b []byte, err error) {
	if err = s.r.QueryRowContext(ctx, `SELECT data FROM summary WHERE trace = ?`, trace).Scan(&b); err != nil {
		return nil, s.failure(fmt.Sprintf("summary of trace %.64q", trace), explain(err))
	}
	return b, nil
}

// Unsummarised implements store.Summaries.
func (s *Store) Unsummarised(ctx context.Context, limit int) (out []string, err error) {
	err = s.read(ctx, func(tx *sql.Tx) error {
		return each(tx, func(scan scanner) error {
			var id string
			err := scan(&id)
			out = append(out, id)
			return err
		}, `SELECT id FROM trace t WHERE deleted IS NULL AND NOT EXISTS (SELECT 1 FROM summary WHERE trace = t.id)
			ORDER BY created, id LIMIT ?`, max(limit, 0))
	})
	if err != nil {
		return nil, s.failure("list traces without summary", err)
	}
	return out, nil
}
