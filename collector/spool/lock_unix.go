//go:build unix

package spool

import (
	"fmt"
	"os"
	"syscall"
)

// lock takes the file for this process. The system lets go of it when the process ends, however it ends.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("%w: another process uses it", err)
	}
	return nil
}
