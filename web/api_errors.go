package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views/i18n"
)

// whenFree says when a deleted trace's bytes can be used again: as long as nobody
// needs them, the deletion can be undone for the whole grace period.
var whenFree = i18n.Phrase{Key: "refuse.undo_room"}

// storeError gives a store's error the status and the words for the client.
// What is no fault of the client's stays as it is and becomes a bare 500.
func storeError(err error) error {
	if err == nil {
		return nil
	}
	var limit *store.LimitError
	errors.As(err, &limit)
	var space *store.SpaceError
	errors.As(err, &space)
	var offset *store.OffsetError
	errors.As(err, &offset)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return refuse(http.StatusNotFound, "trace_unknown", err)
	case errors.Is(err, store.ErrNotTrace):
		return refuse(http.StatusUnsupportedMediaType, "not_trace", err)
	case errors.Is(err, store.ErrTooLarge) && limit != nil:
		return refuse(http.StatusRequestEntityTooLarge, "too_large", err, sizeText(limit.Limit))
	case errors.Is(err, store.ErrQuota) && limit != nil:
		return refuse(http.StatusInsufficientStorage, "store_full", err, sizeText(limit.Used), sizeText(limit.Limit), sizeText(limit.Size), whenFree)
	case errors.Is(err, store.ErrDiskFull) && space != nil:
		return refuse(http.StatusInsufficientStorage, "disk_space", err, whenFree, sizeText(space.Free), sizeText(space.Need))
	case errors.Is(err, store.ErrDiskFull):
		return refuse(http.StatusInsufficientStorage, "disk_full", err, whenFree)
	case errors.Is(err, store.ErrTooMany):
		return refuse(http.StatusTooManyRequests, "uploads_many", err)
	case offset != nil:
		return refuse(http.StatusConflict, "upload_offset", err, offset.Have, offset.Got)
	case errors.Is(err, store.ErrBusy):
		return refuse(http.StatusLocked, "busy", err)
	case errors.Is(err, store.ErrInvalid):
		return refuse(http.StatusBadRequest, "invalid", err, err)
	case errors.Is(err, store.ErrInterrupted), errors.Is(err, context.Canceled):
		return refuse(http.StatusBadRequest, "broken_off", err)
	}
	return err
}

// sizeText prints bytes in the largest binary unit that fits them, exactly
// where a limit is a round number.
func sizeText(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n < u.bytes {
			continue
		}
		if n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + " " + u.name
		}
		return strconv.FormatFloat(float64(n)/float64(u.bytes), 'f', 2, 64) + " " + u.name
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
