package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views/i18n"
)

// What a store refuses is told with its figures in their places, in both languages.
func TestStoreErrorsInWords(t *testing.T) {
	for _, c := range [...]struct {
		err           error
		status        int
		code          string
		message, hint string
		zh, zhHint    string
	}{
		{&store.LimitError{Err: store.ErrTooLarge, Limit: 2 << 30}, http.StatusRequestEntityTooLarge, "too_large",
			"larger than 2 GiB", "--max-upload", "文件超过 2 GiB", "--max-upload"},
		{&store.LimitError{Err: store.ErrQuota, Used: 3 << 20, Limit: 4 << 20, Size: 5 << 20}, http.StatusInsufficientStorage, "store_full",
			"3 MiB of 4 MiB are in use and the file needs 5 MiB more", "(from a minute after deleting on,", "已用 3 MiB，上限 4 MiB，该文件还需 5 MiB", "（删除一分钟后，"},
		{&store.SpaceError{Free: 1 << 20, Need: 64 << 20}, http.StatusInsufficientStorage, "disk_space",
			"1 MiB are free, and to go on 64 MiB must be", "(from a minute after deleting on,", "剩余 1 MiB，至少需要 64 MiB", "（删除一分钟后，"},
		{&store.OffsetError{Have: 10, Got: 7}, http.StatusConflict, "upload_offset", "at byte 10, not at 7", "HEAD", "字节 10 继续，而不是 7", "HEAD"},
	} {
		he := asHTTPError(storeError(c.err))
		if he.Status != c.status || he.Code != c.code {
			t.Errorf("%v: %d %s, want %d %s", c.err, he.Status, he.Code, c.status, c.code)
		}
		for l, want := range map[i18n.Lang][2]string{i18n.English: {c.message, c.hint}, i18n.Chinese: {c.zh, c.zhHint}} {
			if message, hint := he.In(l); !strings.Contains(message, want[0]) || !strings.Contains(hint, want[1]) {
				t.Errorf("%s in %s: %q, %q; want %q", c.code, l, message, hint, want)
			}
		}
	}
}
