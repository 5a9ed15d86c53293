package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/store"
)

// Bounds of a search, so that no query can be made arbitrarily dear.
const (
	maxQuery = 400 // bytes
	maxWords = 16
)

// KeepTrace implements store.Traces.
func (s *Store) KeepTrace(ctx context.Context, m store.Meta, r io.Reader) (t store.Trace, existing bool, err error) {
	g := s.newStage(true)
	defer g.release()
	if err = g.fill(ctx, r, s.maxTrace()); err == nil {
		err = g.commit(ctx, func(tx *sql.Tx, row int64, sha256 string) (err error) {
			t, existing, err = s.finish(tx, g, row, sha256, m)
			return err
		})
	}
	if err != nil {
		return store.Trace{}, false, fmt.Errorf("keep trace: %w", g.discard(ctx, err))
	}
	s.dropSmall(ctx, g.id) // if the bytes were there before
	return t, existing, nil
}

// maxTrace is the size limit of one file as a number that can be compared.
func (s *Store) maxTrace() int64 {
	if s.opt.MaxTrace > 0 {
		return s.opt.MaxTrace
	}
	return math.MaxInt64 - 1
}

// finish makes a received blob a trace.
func (s *Store) finish(tx *sql.Tx, g *stage, row int64, sha256 string, m store.Meta) (t store.Trace, existing bool, err error) {
	if g.total() == 0 {
		return t, false, fmt.Errorf("%w: the file is empty", store.ErrNotTrace)
	}
	if g.kind == "" {
		return t, false, fmt.Errorf("%w: the file holds %d bytes and no JSON", store.ErrNotTrace, g.total())
	}
	m = m.Clean()
	m.Name = cmp.Or(m.Name, "trace"+extensions[g.kind])
	kept, err := settle(tx, row, sha256, g.kind)
	if err != nil {
		return t, false, err
	}
	old, err := getTrace(tx, sha256)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		_, err = tx.Exec(`INSERT INTO trace (id, blob, name, label, note, search, created) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			sha256, kept, m.Name, m.Label, m.Note, searchText(m), s.now().UnixNano())
	case err != nil:
		return t, false, err
	case old.Live():
		return old, true, nil
	default:
		existing = true
		_, err = tx.Exec(`UPDATE trace SET name = ?, label = ?, note = ?, search = ?, created = ?, deleted = NULL WHERE id = ?`,
			m.Name, m.Label, m.Note, searchText(m), s.now().UnixNano(), sha256)
	}
	if err != nil {
		return t, false, err
	}
	t, err = getTrace(tx, sha256)
	return t, existing, err
}

var extensions = map[string]string{store.TypeJSON: ".json", store.TypeGzip: ".json.gz", store.TypeZstd: ".json.zst"}

func searchText(m store.Meta) string {
	return store.Fold(m.Name + "\n" + m.Label + "\n" + m.Note)
}

const traceColumns = `SELECT t.id, t.name, t.label, t.note, b.bytes, b.kind, t.created, t.deleted
	FROM trace t JOIN blob b ON b.id = t.blob `

func getTrace(tx *sql.Tx, id string) (store.Trace, error) {
	return scanTrace(tx.QueryRow(traceColumns+`WHERE t.id = ?`, id).Scan)
}

func scanTrace(scan func(dest ...any) error) (t store.Trace, err error) {
	var created int64
	var deleted sql.NullInt64
	if err := scan(&t.ID, &t.Name, &t.Label, &t.Note, &t.Bytes, &t.ContentType, &created, &deleted); err != nil {
		return store.Trace{}, err
	}
	t.Created = time.Unix(0, created).UTC()
	if deleted.Valid {
		t.Deleted = time.Unix(0, deleted.Int64).UTC()
	}
	return t, nil
}

// Trace implements store.Traces.
func (s *Store) Trace(ctx context.Context, id string) (store.Trace, error) {
	t, err := scanTrace(s.r.QueryRowContext(ctx, traceColumns+`WHERE t.id = ?`, id).Scan)
	if err != nil {
		return t, fmt.Errorf("trace %.64q: %w", id, explain(err))
	}
	return t, nil
}

// ListTraces implements store.Traces. Pages follow each other by key, not by
// count: a trace that comes in between shifts nothing.
func (s *Store) ListTraces(ctx context.Context, q store.Query) (store.Page, error) {
	limit := min(cmp.Or(max(q.Limit, 0), store.DefaultPage), store.MaxPage)
	where, args := []string{"t.deleted IS NULL"}, []any{}
	if q.After != "" {
		created, id, err := parseCursor(q.After)
		if err != nil {
			return store.Page{}, err
		}
		where, args = append(where, "(t.created, t.id) < (?, ?)"), append(args, created, id)
	}
	words := strings.Fields(store.Fold(q.Text))
	if len(q.Text) > maxQuery || len(words) > maxWords {
		return store.Page{}, fmt.Errorf("%w: a search has at most %d words and %d bytes", store.ErrInvalid, maxWords, maxQuery)
	}
	for _, w := range words { // instr, not LIKE: no character has a meaning
		where, args = append(where, "instr(t.search, ?) > 0"), append(args, w)
	}
	rows, err := s.r.QueryContext(ctx, traceColumns+"WHERE "+strings.Join(where, " AND ")+
		" ORDER BY t.created DESC, t.id DESC LIMIT ?", append(args, limit+1)...)
	if err != nil {
		return store.Page{}, fmt.Errorf("list traces: %w", explain(err))
	}
	defer rows.Close()
	var p store.Page
	for rows.Next() {
		t, err := scanTrace(rows.Scan)
		if err != nil {
			return store.Page{}, fmt.Errorf("list traces: %w", explain(err))
		}
		if len(p.Traces) == limit {
			last := p.Traces[limit-1]
			p.Next = fmt.Sprintf("%d-%s", last.Created.UnixNano(), last.ID)
			break
		}
		p.Traces = append(p.Traces, t)
	}
	if err := rows.Err(); err != nil {
		return store.Page{}, fmt.Errorf("list traces: %w", explain(err))
	}
	return p, nil
}

func parseCursor(c string) (created int64, id string, err error) {
	a, id, ok := strings.Cut(c, "-")
	created, err = strconv.ParseInt(a, 10, 64)
	if err != nil || !ok || len(id) != 64 {
		return 0, "", fmt.Errorf("%w: malformed page cursor; start at the first page", store.ErrInvalid)
	}
	return created, id, nil
}

// UpdateTrace implements store.Traces.
func (s *Store) UpdateTrace(ctx context.Context, id string, p store.Patch) (t store.Trace, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		old, err := getTrace(tx, id)
		if err != nil {
			return err
		}
		if !old.Live() {
			return fmt.Errorf("deleted: %w", store.ErrNotFound)
		}
		m, err := old.Apply(p)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE trace SET name = ?, label = ?, note = ?, search = ? WHERE id = ?`,
			m.Name, m.Label, m.Note, searchText(m), id)
		t, t.Meta = old, m
		return err
	})
	if err != nil {
		return store.Trace{}, fmt.Errorf("update trace %.64q: %w", id, err)
	}
	return t, nil
}

// DeleteTrace implements store.Traces.
func (s *Store) DeleteTrace(ctx context.Context, id string) error {
	_, err := s.mark(ctx, `UPDATE trace SET deleted = coalesce(deleted, ?2) WHERE id = ?1`, id, s.now().UnixNano())
	if err != nil {
		return fmt.Errorf("delete trace %.64q: %w", id, err)
	}
	return nil
}

// RestoreTrace implements store.Traces.
func (s *Store) RestoreTrace(ctx context.Context, id string) (store.Trace, error) {
	t, err := s.mark(ctx, `UPDATE trace SET deleted = NULL WHERE id = ?1`, id)
	if err != nil {
		return store.Trace{}, fmt.Errorf("restore trace %.64q: %w", id, err)
	}
	return t, nil
}

func (s *Store) mark(ctx context.Context, update, id string, args ...any) (t store.Trace, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.Exec(update, append([]any{id}, args...)...); err != nil {
			return err
		}
		t, err = getTrace(tx, id)
		return err
	})
	return t, err
}

// Usage implements store.Traces.
func (s *Store) Usage(ctx context.Context) (store.Usage, error) {
	u := store.Usage{Quota: s.opt.Quota}
	err := s.r.QueryRowContext(ctx, `SELECT (SELECT bytes FROM usage), (SELECT count(*) FROM trace WHERE deleted IS NULL)`).Scan(&u.Bytes, &u.Traces)
	if err != nil {
		return u, fmt.Errorf("storage usage: %w", explain(err))
	}
	return u, nil
}
