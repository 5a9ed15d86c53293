package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"time"
)

// The system's usual reasons have codes, so that pages tell them in their languages; other words stand in parentheses.
func TestWhyAFileCannotBeRead(t *testing.T) {
	const path = "/log/a"
	in := func(err error) error {
		return fmt.Errorf("%s: %w", path, &fs.PathError{Op: "read", Path: path, Err: err})
	}
	for _, c := range []struct {
		err        error
		code, what string
	}{
		{in(syscall.EACCES), "log.permission", "/log/a may not be read: permission denied"},
		{in(syscall.EISDIR), "log.folder", "/log/a is a folder, not a file"},
		{in(syscall.EIO), "log.disk", "/log/a could not be read: the disk or mount reports an error"},
		{in(syscall.ESTALE), "log.stale", "/log/a could not be read: its network mount lost the file"},
		{in(syscall.ETIMEDOUT), "log.timeout", "/log/a could not be read: its network mount does not answer"},
		{in(syscall.ELOOP), "log.failed", "/log/a could not be read (too many levels of symbolic links)"},
		{errors.New("/log/a: files are being renamed"), "log.failed", "/log/a could not be read (files are being renamed)"},
	} {
		p := problemOf(time.Now(), path, c.err)
		if p.Code != c.code || p.What != c.what || p.Hint == "" || p.Args[0] != path {
			t.Errorf("%v: %+v, want %q", c.err, p, c.what)
		}
	}
}
