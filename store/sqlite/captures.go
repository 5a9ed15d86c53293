package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/stepscope/stepscope/store"
)

var captureStates = map[store.CaptureState]bool{store.Queued: true, store.Asked: true, store.PickedUp: true, store.Captured: true,
	store.Found: true, store.Stored: true, store.Failed: true, store.Cancelled: true}

const captureColumns = `SELECT id, grp, deployment, engine, collector, asker, steps, output_dir, state, times, warning, error, hint, path, bytes, trace, more, note, told FROM capture `

func scanCapture(scan scanner) (c store.Capture, err error) {
	var times, more, told string
	err = scan(&c.ID, &c.Group, &c.Engine.Deployment, &c.Engine.Name, &c.Collector, &c.By, &c.Steps, &c.OutputDir, &c.State, &times,
		&c.Warning, &c.Error, &c.Hint, &c.Path, &c.Bytes, &c.TraceID, &more, &c.Note, &told)
	if err != nil {
		return store.Capture{}, err
	}
	var at map[store.CaptureState]int64
	if err := errors.Join(json.Unmarshal([]byte(times), &at), json.Unmarshal([]byte(more), &c.More), json.Unmarshal([]byte(told), &c.Told)); err != nil {
		return store.Capture{}, fmt.Errorf("%w: times, traces or texts of capture %d: %w", store.ErrCorrupt, c.ID, err)
	}
	if len(c.More) == 0 {
		c.More = nil
	}
	c.Times = make(map[store.CaptureState]time.Time, len(at))
	for state, ns := range at {
		c.Times[state] = time.Unix(0, ns).UTC()
	}
	return c, nil
}

// captureTimes is the times of the states as they are stored.
func captureTimes(times map[store.CaptureState]time.Time) (string, error) {
	at := make(map[store.CaptureState]int64, len(times))
	for state, t := range times {
		if captureStates[state] && !t.IsZero() {
			at[state] = t.UnixNano()
		}
	}
	b, err := json.Marshal(at)
	return string(b), err
}

// cleanCapture bounds the texts of a capture, which come from engines and people.
func cleanCapture(c store.Capture) (store.Capture, error) {
	if !captureStates[c.State] {
		return c, fmt.Errorf("%w: a capture has no state %.40q", store.ErrInvalid, c.State)
	}
	for _, text := range []*string{&c.Group, &c.Collector, &c.By, &c.OutputDir, &c.Warning, &c.Error, &c.Hint, &c.Path, &c.Note} {
		*text = cleanDetail(*text)
	}
	c.Told = c.Told.Clean(cleanDetail)
	if len(c.More) > maxMore {
		return c, fmt.Errorf("%w: a capture with %d traces", store.ErrInvalid, len(c.More))
	}
	return c, nil
}

// maxMore is the most traces of a capture beside its own: an engine has not so many ranks.
const maxMore = 1024

// CreateCapture implements store.Captures. Without a state it is queued; the time of its state is now unless given.
func (s *Store) CreateCapture(ctx context.Context, c store.Capture) (store.Capture, error) {
	c.State = cmp.Or(c.State, store.Queued)
	c, err := cleanCapture(c)
	err = errors.Join(err, store.CheckName("deployment", c.Engine.Deployment, store.MaxLabel), store.CheckName("engine", c.Engine.Name, store.MaxEngineName))
	if err == nil {
		c.Times = maps.Clone(c.Times)
		if c.Times == nil {
			c.Times = map[store.CaptureState]time.Time{}
		}
		if c.Times[c.State].IsZero() {
			c.Times[c.State] = s.now()
		}
		err = s.write(ctx, func(tx *sql.Tx) error {
			times, err := captureTimes(c.Times)
			if err != nil {
				return err
			}
			told, err := json.Marshal(c.Told)
			if err != nil {
				return err
			}
			var id int64
			err = tx.QueryRow(`INSERT INTO capture (grp, deployment, engine, collector, asker, steps, output_dir, state, times, warning, error, hint, path, bytes, trace, more, note, told)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`, c.Group, c.Engine.Deployment, c.Engine.Name, c.Collector, c.By, c.Steps,
				c.OutputDir, c.State, times, c.Warning, c.Error, c.Hint, c.Path, c.Bytes, c.TraceID, list(c.More), c.Note, string(told)).Scan(&id)
			if err != nil {
				return err
			}
			c, err = scanCapture(tx.QueryRow(captureColumns+`WHERE id = ?`, id).Scan)
			return err
		})
	}
	if err != nil {
		return store.Capture{}, s.failure(fmt.Sprintf("create capture of %.64q", c.Engine.Name), err)
	}
	return c, nil
}

// UpdateCapture implements store.Captures. Who asked for what, that is Group,
// Engine, By and Steps, stays as it was.
func (s *Store) UpdateCapture(ctx context.Context, c store.Capture) error {
	c, err := cleanCapture(c)
	if err == nil {
		err = s.write(ctx, func(tx *sql.Tx) error {
			old, err := scanCapture(tx.QueryRow(captureColumns+`WHERE id = ?`, c.ID).Scan)
			if err != nil {
				return err
			}
			if old.State.Done() {
				return fmt.Errorf("%w: it is %s already", store.ErrInvalid, old.State)
			}
			all := maps.Clone(c.Times)
			if all == nil {
				all = map[store.CaptureState]time.Time{}
			}
			maps.Copy(all, old.Times)
			if all[c.State].IsZero() {
				all[c.State] = s.now()
			}
			times, err := captureTimes(all)
			if err != nil {
				return err
			}
			told, err := json.Marshal(c.Told)
			if err != nil {
				return err
			}
			_, err = tx.Exec(`UPDATE capture SET collector = ?, output_dir = ?, state = ?, times = ?, warning = ?, error = ?, hint = ?, path = ?, bytes = ?, trace = ?, more = ?, note = ?, told = ? WHERE id = ?`,
				c.Collector, c.OutputDir, c.State, times, c.Warning, c.Error, c.Hint, c.Path, c.Bytes, c.TraceID, list(c.More), c.Note, string(told), c.ID)
			return err
		})
	}
	if err != nil {
		return s.failure(fmt.Sprintf("update capture %d", c.ID), err)
	}
	return nil
}

// Capture implements store.Captures.
func (s *Store) Capture(ctx context.Context, id int64) (store.Capture, error) {
	c, err := scanCapture(s.r.QueryRowContext(ctx, captureColumns+`WHERE id = ?`, id).Scan)
	if err != nil {
		return c, s.failure(fmt.Sprintf("capture %d", id), explain(err))
	}
	return c, nil
}

// ListCaptures implements store.Captures.
func (s *Store) ListCaptures(ctx context.Context, q store.CaptureQuery) (out []store.Capture, err error) {
	where, args := []string{"1"}, []any{}
	if q.Deployment != "" {
		where, args = append(where, "deployment = ?"), append(args, q.Deployment)
	}
	if q.Group != "" {
		where, args = append(where, "grp = ?"), append(args, q.Group)
	}
	if q.Active { // as the index capture_active has it
		where = append(where, "state NOT IN ('stored', 'failed', 'cancelled')")
	}
	if q.Before > 0 {
		where, args = append(where, "id < ?"), append(args, q.Before)
	}
	limit := min(cmp.Or(max(q.Limit, 0), store.DefaultPage), store.MaxPage)
	err = s.read(ctx, func(tx *sql.Tx) error {
		return each(tx, func(scan scanner) error {
			c, err := scanCapture(scan)
			out = append(out, c)
			return err
		}, captureColumns+"WHERE "+strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT ?", append(args, limit)...)
	})
	if err != nil {
		return nil, s.failure("list captures", err)
	}
	return out, nil
}
