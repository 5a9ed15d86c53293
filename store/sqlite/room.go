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
	// tight: with less than this free, vacuum works in pieces of tightPages
	// and folds the log after each, because each moved page lies in the log
	// once more.
	tight      = 128 << 20
	tightPages = 1 << 20 / pageSize
)

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
	if errors.As(err, &limit) && errors.Is(err, store.ErrQuota) && s.reclaim(ctx, limit.Used+limit.Size-limit.Limit) {
		err = f()
	}
	// What is dead already goes first; it costs nobody an undo.
	for _, reclaim := range []bool{false, true} {
		var space *store.SpaceError
		if !errors.As(err, &space) || reclaim && !s.reclaim(ctx, space.Need-space.Free) {
			return err
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
	s.foldLog(ctx)
	if err := s.dropDead(ctx); err != nil {
		return err
	}
	return s.vacuum(ctx)
}
