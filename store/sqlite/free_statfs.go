//go:build linux || darwin

package sqlite

import "syscall"

// freeSpace is the bytes that this user may still write to the disk under path.
// ok is false where the file system doesn't say.
func freeSpace(path string) (free int64, ok bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil || st.Blocks == 0 {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
