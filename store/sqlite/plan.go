package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/store"
)

// layout is a stored layout; it never changes.
type layout struct {
	section string
	ids     []int64 // of its columns' series
	columns []store.Column
}

// place is where a column's values lie in the rows of one layout.
type place struct{ layout, pos int64 }

// column is one series that an engine has had.
type column struct {
	id int64
	store.Column
	places []place
}

// plan is what to read of an engine.
type plan struct {
	engine  int64
	columns []column // by metric and label
}

// layouts returns stored layouts. They are kept: they are few and never change.
func (s *Store) layouts(tx *sql.Tx, ids []int64) (map[int64]*layout, error) {
	s.layoutMu.Lock()
	defer s.layoutMu.Unlock()
	var missing []int64
	for _, id := range ids {
		if s.layoutOf[id] == nil {
			missing = append(missing, id)
		}
	}
	found := map[int64]*layout{}
	names := map[int64]store.Column{}
	if len(missing) > 0 {
		err := each(tx, func(scan scanner) error {
			var id int64
			var columns string
			l := &layout{}
			if err := scan(&id, &l.section, &columns); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(columns), &l.ids); err != nil {
				return fmt.Errorf("%w: columns of layout %d: %w", store.ErrCorrupt, id, err)
			}
			for _, c := range l.ids {
				names[c] = store.Column{}
			}
			found[id] = l
			return nil
		}, `SELECT id, section, columns FROM layout WHERE id IN (SELECT value FROM json_each(?))`, list(missing))
		if err != nil {
			return nil, err
		}
		columns := make([]int64, 0, len(names))
		for id := range names {
			columns = append(columns, id)
		}
		err = each(tx, func(scan scanner) error {
			var id int64
			var c store.Column
			err := scan(&id, &c.Metric, &c.Label)
			names[id] = c
			return err
		}, `SELECT id, metric, label FROM series WHERE id IN (SELECT value FROM json_each(?))`, list(columns))
		if err != nil {
			return nil, err
		}
	}
	for id, l := range found {
		for _, c := range l.ids {
			l.columns = append(l.columns, names[c])
		}
		s.layoutOf[id] = l
	}
	out := make(map[int64]*layout, len(ids))
	for _, id := range ids {
		if out[id] = s.layoutOf[id]; out[id] == nil {
			return nil, fmt.Errorf("%w: layout %d is missing", store.ErrCorrupt, id)
		}
	}
	return out, nil
}

// plans finds what the chosen engines may have of the chosen metrics, engines
// of deleted deployments left out.
func (s *Store) plans(ctx context.Context, engines []int64, metrics []string) (out []plan, err error) {
	err = s.read(ctx, func(tx *sql.Tx) error {
		type stream struct {
			engine, layout int64
			seen           []byte
		}
		var streams []stream
		var ids []int64
		seen := map[int64]bool{}
		err := each(tx, func(scan scanner) error {
			var st stream
			err := scan(&st.engine, &st.layout, &st.seen)
			streams = append(streams, st)
			if !seen[st.layout] {
				seen[st.layout], ids = true, append(ids, st.layout)
			}
			return err
		}, `SELECT s.engine, s.layout, s.seen FROM stream s JOIN engine e ON e.id = s.engine JOIN deployment d ON d.id = e.deployment
			WHERE d.deleted IS NULL AND s.engine IN (SELECT value FROM json_each(?)) ORDER BY s.engine, s.layout`, list(engines))
		if err != nil {
			return err
		}
		layouts, err := s.layouts(tx, ids)
		if err != nil {
			return err
		}
		wanted := wantedColumns(layouts, metrics)
		for _, st := range streams {
			if len(out) == 0 || out[len(out)-1].engine != st.engine {
				out = append(out, plan{engine: st.engine})
			}
			p := &out[len(out)-1]
			l := layouts[st.layout]
			for _, pos := range wanted[st.layout] {
				if pos/8 >= len(st.seen) || st.seen[pos/8]>>(pos%8)&1 == 0 {
					continue // never had a value
				}
				p.columns = append(p.columns, column{l.ids[pos], l.columns[pos], []place{{st.layout, int64(pos)}}})
			}
		}
		return nil
	})
	for i := range out {
		out[i].columns = mergeColumns(out[i].columns)
	}
	return slices.DeleteFunc(out, func(p plan) bool { return len(p.columns) == 0 }), err
}

// wantedColumns finds the chosen metrics in each layout.
func wantedColumns(layouts map[int64]*layout, metrics []string) map[int64][]int {
	out := make(map[int64][]int, len(layouts))
	chosen := make(map[string]bool, len(metrics))
	for _, m := range metrics {
		chosen[m] = true
	}
	for id, l := range layouts {
		for pos := range l.columns {
			if len(metrics) == 0 || chosen[l.columns[pos].Metric] {
				out[id] = append(out[id], pos)
			}
		}
	}
	return out
}

// mergeColumns sorts columns and gives those that several layouts have all their places.
func mergeColumns(columns []column) []column {
	slices.SortStableFunc(columns, func(a, b column) int {
		return cmp.Or(cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Label, b.Label))
	})
	out := columns[:0]
	for _, c := range columns {
		if n := len(out); n > 0 && out[n-1].id == c.id {
			out[n-1].places = append(out[n-1].places, c.places...)
		} else {
			out = append(out, c)
		}
	}
	return out
}
