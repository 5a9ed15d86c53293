// Package sqlite keeps traces and statistics in one SQLite file: one file to copy or to back
// up is the whole state of the product.
//
// One connection writes and a small pool reads. In WAL mode readers never wait
// for the writer, and no transaction is held open over a network read or
// between two rows of a download: uploads interleave batch by batch, and the
// log can always be checkpointed.
//
// Statistics come as one packed row a log line. Every few minutes Maintain packs
// those of an engine into one block by columns, and joins these by the hour; hours
// get a chunk for each series and sums of it, by three hours and then by the day.
// Every query gives the same answer whatever form the samples have.
//
// Trace bytes lie in rows of 1 MiB, written in batches of a few rows. The state
// of the SHA-256 is written in the transaction of the rows that it covers, so
// a killed server goes on at the byte where it stopped.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver, pure Go: the binary needs no C compiler

	"github.com/stepscope/stepscope/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// applicationID marks the file as ours ("STEP"), so that no other
	// program's database is ever migrated by mistake.
	applicationID = 0x53544550
	readers       = 6
	busyTimeout   = 10 * time.Second
	// pageSize in bytes. Larger pages make the chains that hold a 1 MiB row
	// shorter; against 4 KiB an upload takes a fifth less CPU (measured).
	pageSize = 8192
	// maxLog is the length in bytes at which the log is folded back even
	// while others read; at half of it SQLite tries by itself.
	maxLog = 32 << 20
	// openTries: the switch to WAL and the first migration can collide with
	// another process that opens the same new file.
	openTries = 20
)

// Store is a database file. It implements store.Store.
type Store struct {
	path string
	opt  store.Options
	w    *sql.DB // exactly one connection
	r    *sql.DB // read-only connections
	now  func() time.Time
	free func(path string) (bytes int64, ok bool) // of the disk

	foldAt atomic.Int64 // size in bytes from which on the log is folded back

	mu     sync.Mutex
	active map[string]bool // uploads that somebody appends to right now
	failed []int64         // blobs of failed transfers that could not be removed then

	maintainMu sync.Mutex      // one round at a time
	newest     map[int64]int64 // times of engines' newest rows that waited in the last round
	behind     map[int64]int64 // ns by which the clocks of engines are behind that still send

	layoutMu sync.Mutex
	layoutOf map[int64]*layout // by id; read so far
}

var _ store.Store = (*Store)(nil)

// Open opens the database file at path and creates it, readable by its owner
// only, if it isn't there. After an unclean end it checks the file first.
func Open(ctx context.Context, path string, opt store.Options) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database %q: %w", path, err)
	}
	// SQLite would create the file with everybody's read permission.
	f, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		hint := "check who may write there"
		if errors.Is(err, fs.ErrNotExist) {
			hint = "make the folder first"
		}
		return nil, fmt.Errorf("open database: %w; %s", err, hint)
	}
	f.Close()
	// SQLite removes the log when the last connection closes, so one that lies
	// there marks an unclean end, or another process, for which a check does
	// no harm.
	unclean := logSize(abs) > 0

	s := &Store{path: abs, opt: opt.WithDefaults(), now: time.Now, free: freeSpace, active: map[string]bool{}, layoutOf: map[int64]*layout{}, behind: map[int64]int64{}}
	s.foldAt.Store(s.logLimit())
	if err := s.connect(); err != nil {
		return nil, err
	}
	err = s.prepare(ctx)
	if err == nil && unclean {
		err = s.check(ctx)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("open database %q: %w", path, err)
	}
	return s, nil
}

// logSize is the size of the write-ahead log in bytes, 0 if there is none.
func logSize(path string) int64 {
	fi, err := os.Stat(path + "-wal")
	if err != nil {
		return 0
	}
	return fi.Size()
}

// connect opens the two pools.
//
// synchronous=FULL: what was answered with an offset or an id survives a power
// cut. It costs one fsync per batch of 4 MiB, about a seventh of an upload's time
// (measured); NORMAL would save that and could lose what was acknowledged.
func (s *Store) connect() (err error) {
	open := func(conns int, pragmas ...string) (*sql.DB, error) {
		q := url.Values{"_txlock": {"immediate"}, "_error_rc": {"1"}, "_dqs": {"0"}}
		q["_pragma"] = append(pragmas, fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))
		name := "file:" + (&url.URL{Path: filepath.ToSlash(s.path)}).EscapedPath() + "?" + q.Encode()
		db, err := sql.Open("sqlite", name)
		if err != nil {
			return nil, fmt.Errorf("open database %q: %w", s.path, err)
		}
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		return db, nil
	}
	s.w, err = open(1, "foreign_keys(1)", "synchronous(FULL)", "cache_size(-8000)",
		fmt.Sprintf("wal_autocheckpoint(%d)", maxLog/2/pageSize))
	if err != nil {
		return err
	}
	// What a day of 64 engines is read from barely fits: with 8 MB it took a tenth
	// more CPU (measured).
	s.r, err = open(readers, "query_only(1)", "cache_size(-16000)")
	return err
}

// prepare brings the file to this program's layout.
func (s *Store) prepare(ctx context.Context) (err error) {
	for range openTries {
		if err = s.identify(ctx); err == nil {
			err = s.migrate(ctx)
		}
		if err == nil || !errors.Is(err, store.ErrBusy) && !errors.Is(err, errMigrate) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return err
}

// identify refuses other programs' databases and gives a new file its settings.
func (s *Store) identify(ctx context.Context) error {
	var id, tables int
	err := s.w.QueryRowContext(ctx,
		`SELECT (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)`).Scan(&id, &tables)
	if err != nil {
		return explain(err)
	}
	if id != applicationID && (id != 0 || tables > 0) {
		return fmt.Errorf("%w: the file is another program's database; choose another file", store.ErrCorrupt)
	}
	pragmas := []string{"journal_mode=WAL"}
	if id == 0 {
		// Page size and vacuum mode only take effect before the first page is
		// written, which application_id does.
		pragmas = []string{fmt.Sprintf("page_size=%d", pageSize), "auto_vacuum=INCREMENTAL",
			fmt.Sprintf("application_id=%d", applicationID), "journal_mode=WAL"}
	}
	for _, p := range pragmas {
		if _, err := s.w.ExecContext(ctx, "PRAGMA "+p); err != nil {
			return explain(err)
		}
	}
	return nil
}

// provider is what changes a database's layout.
func provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}

func (s *Store) migrate(ctx context.Context) error {
	p, err := provider(s.w)
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return explain(err)
	}
	if have > want {
		return fmt.Errorf("the database has layout %d and this program knows layouts up to %d: use the newer program that wrote it", have, want)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("%w: %w", errMigrate, explain(err))
	}
	return nil
}

// errMigrate: a migration failed, maybe because another process was faster.
// The unique index over the versions makes sure that none is applied twice; the
// next try finds it done.
var errMigrate = errors.New("change the database's layout")

// Close ends the store and folds the log into the file. Readers close first: the
// last connection to close removes the log, and only a writing one can.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.r, s.w} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// write runs f in the writer's transaction.
func (s *Store) write(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return explain(err)
	}
	defer tx.Rollback() // does nothing after Commit
	if err = f(tx); err == nil {
		err = tx.Commit()
	}
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		err = ctx.Err() // the caller went away, and database/sql ended the transaction
	}
	if err != nil {
		return explain(err)
	}
	if logSize(s.path) > s.foldAt.Load() {
		_ = s.foldLog(ctx) // what was written is safe in the log as well
	}
	return nil
}

// foldLog copies the log back into the file and empties it. SQLite does this by
// itself only in moments without readers: beside six constant downloads the log
// grew to 260 MiB while 300 MiB were uploaded. This waits for the readers under
// way, each of which reads one row; new ones already read the file. A reader
// that stays, such as another program's backup, would make each batch wait in
// vain, so the next try comes when the log has grown by as much again.
func (s *Store) foldLog(ctx context.Context) error {
	var busy, frames, folded int
	err := s.w.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &folded)
	if err == nil && busy != 0 {
		err = fmt.Errorf("%w: another program reads the database", store.ErrBusy)
	}
	if err != nil {
		s.foldAt.Store(logSize(s.path) + s.logLimit())
		return fmt.Errorf("fold the log: %w", explain(err))
	}
	s.foldAt.Store(s.logLimit())
	return nil
}
