package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/stepscope/stepscope/store"
)

// read runs f on one consistent state of the database. f must be short: as long
// as it runs, the log can't be folded.
func (s *Store) read(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := s.r.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return explain(err)
	}
	defer tx.Rollback() // nothing to commit
	return explain(f(tx))
}

// readersAtOnce is the connections that one large question may take of those that
// read: others must not wait until it is answered.
const readersAtOnce = readers / 2

// atOnce calls f for 0 … n−1 on a few goroutines, until one fails.
func atOnce(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	if n == 1 {
		return f(ctx, 0)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var work sync.WaitGroup
	for range min(n, readersAtOnce, runtime.GOMAXPROCS(0)) {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := f(ctx, i); err != nil {
					stop(err)
				}
			}
		})
	}
	work.Wait()
	return context.Cause(ctx)
}

type scanner func(dest ...any) error

// each calls f for every row of a query.
func each(tx *sql.Tx, f func(scan scanner) error, query string, args ...any) error {
	rows, err := tx.Query(query, args...)
	return scanAll(rows, err, f)
}

// eachOf is each for a prepared query.
func eachOf(query *sql.Stmt, f func(scan scanner) error, args ...any) error {
	rows, err := query.Query(args...)
	return scanAll(rows, err, f)
}

func scanAll(rows *sql.Rows, err error, f func(scan scanner) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	scan := rows.Scan // once: a method as a value is an allocation
	for rows.Next() {
		if err := f(scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list is a list of numbers or texts as one parameter, for json_each.
func list[T any](items []T) string {
	if len(items) == 0 {
		return "[]"
	}
	b, err := json.Marshal(items)
	if err != nil {
		panic(err) // only numbers and texts come here
	}
	return string(b)
}

// failure says where something failed and what to do about it; no error stays none.
func (s *Store) failure(what string, err error) error {
	if err == nil {
		return nil
	}
	next := ""
	switch {
	case errors.Is(err, store.ErrDiskFull):
		next = "; make room on that disk and try again, nothing of it was stored"
	case errors.Is(err, store.ErrBusy):
		next = "; another program holds the database: end it or wait, then try again"
	case errors.Is(err, store.ErrCorrupt):
		next = "; put back a backup, or rescue the file with sqlite3's .recover"
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrInvalid):
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s in database %q: %w%s", what, s.path, err, next)
}
