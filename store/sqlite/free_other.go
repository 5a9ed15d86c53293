//go:build !linux && !darwin

package sqlite

// freeSpace can't tell here: a full disk is met when a write fails.
func freeSpace(string) (free int64, ok bool) { return 0, false }
