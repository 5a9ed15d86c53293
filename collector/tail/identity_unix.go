//go:build unix

package tail

import (
	"io/fs"
	"syscall"
)

// identity is a file's device and inode.
func identity(info fs.FileInfo) (dev, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), uint64(st.Ino)
	}
	return 0, 0
}
