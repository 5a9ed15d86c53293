package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/stepscope/stepscope/store"
)

// whenFree says when a deleted trace's bytes can be used again: as long as nobody
// needs them, the deletion can be undone for the whole grace period.
const whenFree = "from a minute after deleting on, a new file that needs the space gets it; else it comes free after the time for undoing"

// storeError gives a store's error the status and the words for the client.
// What is no fault of the client's stays as it is and becomes a bare 500.
func storeError(err error) error {
	if err == nil {
		return nil
	}
	answer := func(status int, message, hint string) error {
		return &HTTPError{Status: status, Message: message, Hint: hint, Err: err}
	}
	var limit *store.LimitError
	errors.As(err, &limit)
	var space *store.SpaceError
	errors.As(err, &space)
	var offset *store.OffsetError
	errors.As(err, &offset)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return answer(http.StatusNotFound, "nothing is kept under this id",
			"it may have been deleted for good or have expired; /traces lists what there is")
	case errors.Is(err, store.ErrNotTrace):
		return answer(http.StatusUnsupportedMediaType, "this is not a trace: its first bytes are neither JSON nor gzip nor zstd",
			"send the file that the profiler wrote, .json or .json.gz, as it is")
	case errors.Is(err, store.ErrTooLarge) && limit != nil:
		return answer(http.StatusRequestEntityTooLarge, "the file is larger than "+sizeText(limit.Limit),
			"compress it with gzip, profile fewer steps, or start the server with a larger --max-upload")
	case errors.Is(err, store.ErrQuota) && limit != nil:
		return answer(http.StatusInsufficientStorage,
			fmt.Sprintf("the store is full: %s of %s are in use and the file needs %s more", sizeText(limit.Used), sizeText(limit.Limit), sizeText(limit.Size)),
			"delete traces that nobody needs ("+whenFree+"), or start the server with a larger --quota")
	case errors.Is(err, store.ErrDiskFull):
		message := "the server's disk is full"
		if space != nil {
			message += fmt.Sprintf(": %s are free, and to go on %s must be", sizeText(space.Free), sizeText(space.Need))
		}
		return answer(http.StatusInsufficientStorage, message,
			"delete traces that nobody needs ("+whenFree+"), or make room on the disk that holds the database; then try again")
	case errors.Is(err, store.ErrTooMany):
		return answer(http.StatusTooManyRequests, "too many uploads are unfinished", "finish or cancel some; abandoned ones expire by themselves")
	case offset != nil:
		return answer(http.StatusConflict, fmt.Sprintf("the upload goes on at byte %d, not at %d", offset.Have, offset.Got),
			"ask with HEAD where it stands, and go on there")
	case errors.Is(err, store.ErrBusy):
		return answer(http.StatusLocked, "another request is writing here", "try again in a moment")
	case errors.Is(err, store.ErrInvalid):
		return answer(http.StatusBadRequest, err.Error(), "correct the request")
	case errors.Is(err, store.ErrInterrupted), errors.Is(err, context.Canceled):
		return answer(http.StatusBadRequest, "the transfer broke off before its end",
			"a resumable upload goes on where it stopped; anything else is to be sent again")
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
