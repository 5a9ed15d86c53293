package sqlite

import (
	"context"
	"errors"

	"github.com/stepscope/stepscope/store"
)

// A disk that is full to the last byte is a trap: folding the log must make the
// file longer, removing rows must make the log longer, and neither can. So
// what comes in stops while both still have room.
const (
	// reserve is the bytes that stay free for removing and folding.
	reserve = 16 << 20
	// With less than tight bytes free, the log is folded from tightLog bytes
	// on, so that hardly any of it waits when another program takes the rest
	// of the disk.
	tight    = 128 << 20
	tightLog = 1 << 20
)

// logLimit is the length of the log in bytes from which on it is folded back.
func (s *Store) logLimit() int64 {
	if free, ok := s.free(s.path); ok && free < tight {
		return tightLog
	}
	return maxLog
}

// checkDisk fails if add more bytes would use up the reserve. Until the log is
// folded they lie on the disk twice, and so does what the log holds already.
// It is called in the writer's transaction, where nobody else can write.
func (s *Store) checkDisk(add int64) error {
	if add == 0 {
		return nil
	}
	free, ok := s.free(s.path)
	if need := logSize(s.path) + 2*add + reserve; ok && free < need {
		return &store.SpaceError{Free: free, Need: need}
	}
	return nil
}

// checkAhead fails if a file of the given size can't fit at all.
func (s *Store) checkAhead(size int64) error {
	free, ok := s.free(s.path)
	if need := size + reserve; ok && free < need {
		return &store.SpaceError{Free: free, Need: need}
	}
	return nil
}

// withRoom runs f again after making room, if it failed for want of room and
// there is some to be had: under the quota or on the disk.
func (s *Store) withRoom(ctx context.Context, f func() error) error {
	err := f()
	var limit *store.LimitError
	if errors.As(err, &limit) && errors.Is(err, store.ErrQuota) && s.reclaim(ctx, limit.Used+limit.Size-limit.Limit) == nil {
		err = f()
	}
	// What is dead already goes first; it costs nobody an undo.
	for _, reclaim := range []bool{false, true} {
		var space *store.SpaceError
		if !errors.As(err, &space) {
			return err
		}
		if reclaim {
			if failed := s.reclaim(ctx, space.Need-space.Free); errors.Is(failed, store.ErrQuota) {
				return err // no deleted traces that would do
			} else if failed != nil {
				return errors.Join(err, failed)
			}
		}
		if cleared := s.clear(ctx); cleared != nil {
			return errors.Join(err, cleared)
		}
		err = f()
	}
	return err
}

// clear removes all dead blobs and gives their space back to the disk.
func (s *Store) clear(ctx context.Context) error {
	if err := s.foldLog(ctx); err != nil {
		return err
	}
	if err := s.dropDead(ctx); err != nil {
		return err
	}
	return s.vacuum(ctx)
}
