package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/stepscope/stepscope/store"
)

// Deliver implements store.Samples.
func (s *Store) Deliver(ctx context.Context, collector string, b *store.Batch) (applied bool, err error) {
	if err = errors.Join(store.CheckName("collector", collector, store.MaxEngineName), b.Check()); err == nil {
		err = s.withRoom(ctx, func() error {
			return s.write(ctx, func(tx *sql.Tx) (err error) {
				applied, err = s.deliver(tx, collector, b)
				return err
			})
		})
	}
	if err != nil {
		return false, s.failure(fmt.Sprintf("deliver batch %d of collector %.64q", b.Seq, collector), err)
	}
	return applied, nil
}

func (s *Store) deliver(tx *sql.Tx, collector string, b *store.Batch) (bool, error) {
	var id, seq int64
	err := tx.QueryRow(`SELECT id, seq FROM collector WHERE name = ?`, collector).Scan(&id, &seq)
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRow(`INSERT INTO collector (name) VALUES (?) RETURNING id`, collector).Scan(&id)
	}
	if err != nil {
		return false, err
	}
	if b.Seq != 0 && int64(b.Seq) <= seq {
		return false, nil
	}
	if err := s.checkDisk(batchSize(b)); err != nil {
		return false, err
	}
	engines, err := s.putEngines(tx, b)
	if err != nil {
		return false, err
	}
	layouts, err := putLayouts(tx, b.Layouts)
	if err != nil {
		return false, err
	}
	if err := putRows(tx, b.Rows, engines, layouts); err != nil {
		return false, err
	}
	if err := putEvents(tx, b.Events, engines); err != nil {
		return false, err
	}
	if b.Seq != 0 {
		if _, err := tx.Exec(`UPDATE collector SET seq = ? WHERE id = ?`, int64(b.Seq), id); err != nil {
			return false, err
		}
	}
	return true, putPositions(tx, id, b.Positions)
}

// rowCost is about what a row takes in the file beside its values: its record,
// its entry in the index.
const rowCost = 64

// batchSize is about the bytes that a batch will take.
func batchSize(b *store.Batch) int64 {
	n := int64(1 << 16)
	for i := range b.Rows {
		n += rowCost + 8*int64(len(b.Rows[i].Values))
	}
	for i := range b.Events {
		n += rowCost + int64(len(b.Events[i].Detail))
	}
	return n
}

// putEngines makes engines and deployments that are new, learns what is newly
// known, and brings deleted deployments back for which something came. It
// returns the ids by the batch's index.
func (s *Store) putEngines(tx *sql.Tx, b *store.Batch) ([]int64, error) {
	used := make([]bool, len(b.Engines))
	for i := range b.Rows {
		used[b.Rows[i].Engine] = true
	}
	for i := range b.Events {
		used[b.Events[i].Engine] = true
	}
	find, err := tx.Prepare(`SELECT e.id, d.deleted IS NOT NULL, e.kind, e.host, e.rank, e.gpu, e.role, e.model, e.parallel, e.version
		FROM deployment d JOIN engine e ON e.deployment = d.id WHERE d.name = ? AND e.name = ?`)
	if err != nil {
		return nil, err
	}
	defer find.Close()
	ids := make([]int64, len(b.Engines))
	for i := range b.Engines {
		e := cleanEngine(b.Engines[i])
		var deleted bool
		var old store.EngineInfo
		err := find.QueryRow(e.Deployment, e.Name).Scan(&ids[i], &deleted, &old.Kind, &old.Host, &old.Rank, &old.GPU, &old.Role, &old.Model, &old.Parallel, &old.Version)
		if errors.Is(err, sql.ErrNoRows) {
			ids[i], err = s.insertEngine(tx, &e)
			deleted = true // maybe: an engine is new, its deployment need not be
		} else if err == nil {
			old.EngineKey = e.EngineKey
			if known := learn(old, e); known != old {
				_, err = tx.Exec(`UPDATE engine SET kind = ?, host = ?, rank = ?, gpu = ?, role = ?, model = ?, parallel = ?, version = ? WHERE id = ?`,
					known.Kind, known.Host, known.Rank, known.GPU, known.Role, known.Model, known.Parallel, known.Version, ids[i])
			}
		}
		if err == nil && deleted && used[i] {
			_, err = tx.Exec(`UPDATE deployment SET deleted = NULL WHERE name = ? AND deleted IS NOT NULL`, e.Deployment)
		}
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (s *Store) insertEngine(tx *sql.Tx, e *store.EngineInfo) (id int64, err error) {
	_, err = tx.Exec(`INSERT INTO deployment (name, created) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`, e.Deployment, s.now().UnixNano())
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(`INSERT INTO engine (deployment, name, kind, host, rank, gpu, role, model, parallel, version)
		SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM deployment WHERE name = ? RETURNING id`,
		e.Name, e.Kind, e.Host, e.Rank, e.GPU, e.Role, e.Model, e.Parallel, e.Version, e.Deployment).Scan(&id)
	return id, err
}

// cleanEngine bounds the texts about an engine.
func cleanEngine(e store.EngineInfo) store.EngineInfo {
	for _, text := range []*string{&e.Kind, &e.Host, &e.Role, &e.Model, &e.Parallel, &e.Version} {
		*text = store.Meta{Name: "", Label: *text}.Clean().Label
	}
	e.Rank, e.GPU = max(e.Rank, -1), max(e.GPU, -1)
	return e
}

// learn is what is known of an engine after e came.
func learn(old, e store.EngineInfo) store.EngineInfo {
	text := func(was *string, is string) {
		if is != "" {
			*was = is
		}
	}
	text(&old.Kind, e.Kind)
	text(&old.Host, e.Host)
	text(&old.Role, e.Role)
	text(&old.Model, e.Model)
	text(&old.Parallel, e.Parallel)
	text(&old.Version, e.Version)
	if e.Rank >= 0 {
		old.Rank = e.Rank
	}
	if e.GPU >= 0 {
		old.GPU = e.GPU
	}
	return old
}

// putLayouts returns the layouts' ids by the batch's index.
func putLayouts(tx *sql.Tx, layouts []store.Layout) ([]int64, error) {
	ids := make([]int64, len(layouts))
	for i := range layouts {
		l := &layouts[i]
		key := layoutKey(l)
		err := tx.QueryRow(`SELECT id FROM layout WHERE key = ?`, key).Scan(&ids[i])
		if errors.Is(err, sql.ErrNoRows) {
			ids[i], err = insertLayout(tx, l, key)
		}
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func layoutKey(l *store.Layout) []byte {
	var b []byte
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	text(l.Section)
	for _, c := range l.Columns {
		text(c.Metric)
		text(c.Label)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

func insertLayout(tx *sql.Tx, l *store.Layout, key []byte) (id int64, err error) {
	put, err := tx.Prepare(`INSERT INTO series (metric, label) VALUES (?, ?) ON CONFLICT (metric, label) DO UPDATE SET metric = excluded.metric RETURNING id`)
	if err != nil {
		return 0, err
	}
	defer put.Close()
	columns := make([]int64, len(l.Columns))
	for i, c := range l.Columns {
		if err := put.QueryRow(c.Metric, c.Label).Scan(&columns[i]); err != nil {
			return 0, err
		}
	}
	list, err := json.Marshal(columns)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(`INSERT INTO layout (key, section, columns) VALUES (?, ?, ?) RETURNING id`, key, l.Section, string(list)).Scan(&id)
	return id, err
}

// insertRows is the rows of one statement: the driver's work per statement is
// spread over so many.
const insertRows = 32

func putRows(tx *sql.Tx, rows []store.Row, engines, layouts []int64) error {
	// OR FAIL: a failed statement is not taken back by itself, the transaction is.
	// Otherwise SQLite journals the pages of each statement: a quarter of its time.
	const insert, values = `INSERT OR FAIL INTO sample (engine, layout, time, step, flags, vals) VALUES `, `(?, ?, ?, ?, ?, ?)`
	if err := putStreams(tx, rows, engines, layouts); err != nil {
		return err
	}
	full, err := tx.Prepare(insert + strings.Repeat(values+", ", insertRows-1) + values)
	if err != nil {
		return err
	}
	defer full.Close()
	args := make([]any, 0, insertRows*6)
	packed := make([]byte, 0, 1<<15)
	for len(rows) > 0 {
		n := min(len(rows), insertRows)
		args, packed = args[:0], packed[:0]
		for i := range rows[:n] {
			r, start := &rows[i], len(packed)
			packed = appendValues(packed, r.Values)
			args = append(args, engines[r.Engine], layouts[r.Layout], r.Time, max(r.Step, -1), int64(r.Flags&^store.Perturbed), packed[start:len(packed):len(packed)])
		}
		if n == insertRows {
			_, err = full.Exec(args...)
		} else {
			_, err = tx.Exec(insert+strings.Repeat(values+", ", n-1)+values, args...)
		}
		if err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// putStreams notes which layouts engines have, and which of their columns have values.
func putStreams(tx *sql.Tx, rows []store.Row, engines, layouts []int64) error {
	type stream struct{ engine, layout int }
	streams := map[stream][]byte{}
	for i := range rows {
		r := &rows[i]
		k := stream{r.Engine, r.Layout}
		seen := streams[k]
		if seen == nil {
			seen = make([]byte, (len(r.Values)+7)/8)
			streams[k] = seen
		}
		for pos, v := range r.Values {
			if v == v {
				seen[pos/8] |= 1 << (pos % 8)
			}
		}
	}
	find, err := tx.Prepare(`SELECT seen FROM stream WHERE engine = ? AND layout = ?`)
	if err != nil {
		return err
	}
	defer find.Close()
	for k, seen := range streams {
		var old []byte
		err := find.QueryRow(engines[k.engine], layouts[k.layout]).Scan(&old)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err == nil && !merge(seen, old) {
			continue
		}
		_, err = tx.Exec(`INSERT INTO stream (engine, layout, seen) VALUES (?, ?, ?) ON CONFLICT (engine, layout) DO UPDATE SET seen = excluded.seen`,
			engines[k.engine], layouts[k.layout], seen)
		if err != nil {
			return err
		}
	}
	return nil
}

// merge adds old's bits to seen's and says whether it had others.
func merge(seen, old []byte) (more bool) {
	for i := range seen {
		var was byte
		if i < len(old) {
			was = old[i]
		}
		more = more || seen[i]&^was != 0
		seen[i] |= was
	}
	return more
}

// appendValues packs a row's values.
func appendValues(b []byte, values []float64) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

func putEvents(tx *sql.Tx, events []store.Event, engines []int64) error {
	for _, e := range events {
		_, err := tx.Exec(`INSERT INTO event (engine, kind, start, stop, from_step, to_step, count, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			engines[e.Engine], string(e.Kind), e.From, e.To, max(e.FromStep, -1), max(e.ToStep, -1), e.Count, cleanDetail(e.Detail))
		if err != nil {
			return err
		}
	}
	return nil
}

func cleanDetail(text string) string { return store.Meta{Note: text}.Clean().Note }

func putPositions(tx *sql.Tx, collector int64, positions []store.Position) error {
	for _, p := range positions {
		var err error
		if p.Value == "" {
			_, err = tx.Exec(`DELETE FROM position WHERE collector = ? AND source = ?`, collector, p.Source)
		} else {
			_, err = tx.Exec(`INSERT INTO position (collector, source, value) VALUES (?, ?, ?)
				ON CONFLICT (collector, source) DO UPDATE SET value = excluded.value`, collector, p.Source, p.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Positions implements store.Samples.
func (s *Store) Positions(ctx context.Context, collector string) (out []store.Position, seq uint64, err error) {
	err = s.read(ctx, func(tx *sql.Tx) error {
		var id int64
		err := tx.QueryRow(`SELECT id, seq FROM collector WHERE name = ?`, collector).Scan(&id, &seq)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return each(tx, func(scan scanner) error {
			var p store.Position
			err := scan(&p.Source, &p.Value)
			out = append(out, p)
			return err
		}, `SELECT source, value FROM position WHERE collector = ? ORDER BY source`, id)
	})
	if err != nil {
		return nil, 0, s.failure(fmt.Sprintf("positions of collector %.64q", collector), err)
	}
	return out, seq, nil
}
