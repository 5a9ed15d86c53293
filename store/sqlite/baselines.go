package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/stepscope/stepscope/store"
)

// Baselines implements store.Samples.
func (s *Store) Baselines(ctx context.Context, deployment string) (out []store.Baseline, err error) {
	err = s.read(ctx, func(tx *sql.Tx) error {
		return each(tx, func(scan scanner) error {
			var b store.Baseline
			err := scan(&b.ID, &b.Deployment, &b.Name, &b.Note, &b.From, &b.To)
			out = append(out, b)
			return err
		}, `SELECT b.id, d.name, b.name, b.note, b.start, b.stop FROM baseline b JOIN deployment d ON d.id = b.deployment
			WHERE d.deleted IS NULL AND (?1 = '' OR d.name = ?1) ORDER BY d.name, b.name`, deployment)
	})
	if err != nil {
		return nil, s.failure("list baselines", err)
	}
	return out, nil
}

// PutBaseline implements store.Samples. A name that the deployment has already is ErrInvalid.
func (s *Store) PutBaseline(ctx context.Context, b store.Baseline) (store.Baseline, error) {
	b.Note = cleanDetail(b.Note)
	err := store.CheckName("baseline", b.Name, store.MaxLabel)
	if err == nil && (b.From < 0 || b.To <= b.From) {
		err = fmt.Errorf("%w: it would reach from %d to %d ns", store.ErrInvalid, b.From, b.To)
	}
	if err == nil {
		err = s.write(ctx, func(tx *sql.Tx) error { return putBaseline(tx, &b) })
	}
	if err != nil {
		return store.Baseline{}, s.failure(fmt.Sprintf("keep baseline %.64q of deployment %.64q", b.Name, b.Deployment), err)
	}
	return b, nil
}

func putBaseline(tx *sql.Tx, b *store.Baseline) error {
	var deployment, same int64
	if err := tx.QueryRow(`SELECT id FROM deployment WHERE name = ? AND deleted IS NULL`, b.Deployment).Scan(&deployment); err != nil {
		return err
	}
	err := tx.QueryRow(`SELECT id FROM baseline WHERE deployment = ? AND name = ?`, deployment, b.Name).Scan(&same)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if same != 0 && same != b.ID {
		return fmt.Errorf("%w: the deployment has a baseline of this name; choose another", store.ErrInvalid)
	}
	if b.ID == 0 {
		return tx.QueryRow(`INSERT INTO baseline (deployment, name, note, start, stop) VALUES (?, ?, ?, ?, ?) RETURNING id`,
			deployment, b.Name, b.Note, b.From, b.To).Scan(&b.ID)
	}
	return tx.QueryRow(`UPDATE baseline SET deployment = ?, name = ?, note = ?, start = ?, stop = ? WHERE id = ? RETURNING id`,
		deployment, b.Name, b.Note, b.From, b.To, b.ID).Scan(&b.ID)
}

// DeleteBaseline implements store.Samples.
func (s *Store) DeleteBaseline(ctx context.Context, id int64) error {
	if err := s.change(ctx, `DELETE FROM baseline WHERE id = ?`, id); err != nil {
		return s.failure(fmt.Sprintf("delete baseline %d", id), err)
	}
	return nil
}

const eventColumns = `SELECT engine, kind, start, stop, from_step, to_step, count, detail FROM event `

func scanEvent(scan scanner) (e store.Event, err error) {
	err = scan(&e.Engine, &e.Kind, &e.From, &e.To, &e.FromStep, &e.ToStep, &e.Count, &e.Detail)
	return e, err
}

// Events implements store.Samples. An event has its last moment, so that one
// without a length overlaps the range in which it lies.
func (s *Store) Events(ctx context.Context, engines []int64, from, to int64) (out []store.Event, err error) {
	err = s.read(ctx, func(tx *sql.Tx) error {
		return each(tx, func(scan scanner) error {
			e, err := scanEvent(scan)
			out = append(out, e)
			return err
		}, eventColumns+`WHERE engine IN (SELECT e.id FROM engine e JOIN deployment d ON d.id = e.deployment
			WHERE d.deleted IS NULL AND e.id IN (SELECT value FROM json_each(?1))) AND stop >= ?2 AND start < ?3 ORDER BY start, id`, list(engines), from, to)
	})
	if err != nil {
		return nil, s.failure("list events", err)
	}
	return out, nil
}
