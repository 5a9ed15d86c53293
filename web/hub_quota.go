package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/stepscope/stepscope/store"
)

// quotaTime is the time over which captures are counted.
const quotaTime = 24 * time.Hour

// maxRecent bounds how many rows are read at the start to know what was captured lately.
const maxRecent = 100 * store.MaxPage

// recentCaptures reads the newest rows, as far back as a quota or a cool-down can reach.
func (h *Hub) recentCaptures(ctx context.Context) (recent []store.Capture, err error) {
	since := h.opt.Now().Add(-max(quotaTime, h.opt.Cooldown) - forgetfulAfter) // an end counts, the row is from the beginning
	for before := int64(0); len(recent) < maxRecent; {
		page, err := h.st.ListCaptures(ctx, store.CaptureQuery{Limit: store.MaxPage, Before: before})
		if err != nil {
			return nil, fmt.Errorf("recent captures: %w", err)
		}
		recent = append(recent, page...)
		if len(page) < store.MaxPage || page[len(page)-1].Times[store.Queued].Before(since) {
			break
		}
		before = page[len(page)-1].ID
	}
	return recent, nil
}

// remember counts a capture, unless it has ended without having reached its engine.
func (q *captureQueue) remember(c store.Capture) {
	if _, reached := c.Times[store.Asked]; c.State.Done() && !reached {
		delete(q.asked, c.ID)
		return
	}
	q.asked[c.ID] = c.Times[store.Queued]
}

// checkQuota refuses more captures within a day than are allowed. The hub is locked.
func (h *Hub) checkQuota(more int) error {
	now := h.opt.Now()
	maps.DeleteFunc(h.captures.asked, func(_ int64, at time.Time) bool { return now.Sub(at) >= quotaTime })
	if h.opt.Quota <= 0 {
		return nil
	}
	used := len(h.captures.asked)
	over := used + more - h.opt.Quota
	switch {
	case over <= 0:
		return nil
	case more > h.opt.Quota:
		return refuse(http.StatusTooManyRequests, "capture_quota_small", store.ErrInvalid, more, h.opt.Quota)
	}
	times := slices.SortedFunc(maps.Values(h.captures.asked), time.Time.Compare)
	wait := times[over-1].Add(quotaTime).Sub(now).Round(time.Second)
	return refuse(http.StatusTooManyRequests, "capture_quota", store.ErrInvalid, used, h.opt.Quota, more, wait)
}
