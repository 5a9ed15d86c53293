package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// Backup implements store.Store: the copy is the state of one moment, compacted.
// The file must not be there; it is readable by its owner only. While the copy
// is written the log can't be folded and grows by what comes in.
func (s *Store) Backup(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("back up to %q: %w; give another name or move it away", path, os.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("back up: %w; check the folder and who may write there", err)
	}
	defer f.Close()
	if err = s.vacuumInto(ctx, path); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return s.failure(fmt.Sprintf("back up to %q", path), errors.Join(explain(err), os.Remove(path)))
	}
	return nil
}

// vacuumInto uses a connection of its own: the writer's would keep all that
// comes in waiting, and the readers' may write nowhere.
func (s *Store) vacuumInto(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.ToSlash(s.path)}).EscapedPath())
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, path)
	return errors.Join(err, db.Close())
}
