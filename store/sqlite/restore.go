package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/stepscope/stepscope/store"
)

// Restore puts the copy that Backup wrote at from in the place of the database
// at to, after checking it from end to end. A database that lies at to is only
// replaced if replace says so and nobody has it open; it is then kept under the
// name that is returned. Whatever fails, to is as it was before.
func Restore(ctx context.Context, from, to string, replace bool) (kept string, err error) {
	if err := verify(ctx, from); err != nil {
		return "", fmt.Errorf("restore from %q: %w", from, err)
	}
	there, err := exists(to)
	if err == nil && there {
		if !replace {
			return "", fmt.Errorf("restore to %q: %w: a database is there already; choose another file, or say that it is to be replaced (it is then kept beside)", to, store.ErrInvalid)
		}
		err = unused(ctx, to)
	}
	if err != nil {
		return "", fmt.Errorf("restore to %q: %w", to, err)
	}
	part := to + ".restoring"
	if err := copyFile(ctx, from, part); err != nil {
		return "", fmt.Errorf("restore from %q: %w", from, err)
	}
	if there {
		kept = fmt.Sprintf("%s.replaced-%s", to, time.Now().Format("20060102-150405.000000"))
		if err := setAside(to, kept); err != nil {
			return "", errors.Join(fmt.Errorf("restore to %q: %w", to, err), os.Remove(part))
		}
	}
	if err := os.Rename(part, to); err != nil {
		if there {
			err = errors.Join(err, setAside(kept, to))
		}
		return "", errors.Join(fmt.Errorf("restore to %q: %w", to, err), os.Remove(part))
	}
	return kept, nil
}

// exists says whether anything of a database is there.
func exists(path string) (bool, error) {
	for _, suffix := range []string{"", "-wal"} {
		if _, err := os.Lstat(path + suffix); err == nil {
			return true, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
	}
	return false, nil
}

// setAside renames a database, its log with it.
func setAside(from, to string) error {
	for _, suffix := range []string{"-wal", ""} {
		if err := os.Rename(from+suffix, to+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.Remove(from + "-shm"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// openOnce opens a database file for a few statements.
func openOnce(path, query string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.ToSlash(abs)}).EscapedPath()+"?"+query)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// verify reads a whole file and says why it is no copy that this program could open.
func verify(ctx context.Context, path string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w; give the file that the backup wrote", err)
	}
	db, err := openOnce(path, "mode=ro&_pragma=busy_timeout(1000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var id, version int64
	if err := db.QueryRowContext(ctx, `SELECT application_id FROM pragma_application_id`).Scan(&id); err != nil {
		return explain(err)
	}
	if id != applicationID {
		return fmt.Errorf("%w: the file is no database of this program", store.ErrCorrupt)
	}
	if err := db.QueryRowContext(ctx, `SELECT max(version_id) FROM goose_db_version WHERE is_applied`).Scan(&version); err != nil {
		return explain(err)
	}
	p, err := provider(db)
	if err != nil {
		return err
	}
	sources := p.ListSources()
	if newest := sources[len(sources)-1].Version; version > newest {
		return fmt.Errorf("the copy has layout %d and this program knows layouts up to %d: use the newer program that wrote it", version, newest)
	}
	var answer string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&answer); err != nil {
		return explain(err)
	}
	if answer != "ok" {
		return fmt.Errorf("%w: %s; take another copy", store.ErrCorrupt, answer)
	}
	return nil
}

// unused fails if somebody has a database open. One that is too damaged to be
// opened counts as unused: it is what restoring is for.
func unused(ctx context.Context, path string) (err error) {
	db, err := openOnce(path, "mode=rw&_pragma=busy_timeout(500)&_pragma=locking_mode(EXCLUSIVE)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, `BEGIN EXCLUSIVE; COMMIT`)
	if err = explain(err); errors.Is(err, store.ErrBusy) {
		return fmt.Errorf("%w: a server or another program has it open; stop it first", store.ErrBusy)
	}
	if errors.Is(err, store.ErrCorrupt) {
		return nil
	}
	if err == nil { // so that the log, if there is one, is in the file
		_, err = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	}
	return explain(err)
}

// copyFile copies to a new file that only its owner may read, and leaves none if it fails.
func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w; another restore is at work, or left it: then remove it", err)
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(out, readerUntil{ctx, in})
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// readerUntil reads until its context ends.
type readerUntil struct {
	ctx context.Context
	r   io.Reader
}

func (r readerUntil) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
