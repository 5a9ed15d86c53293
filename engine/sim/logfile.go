package sim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Rotation is how a log file is kept from growing: its text is rename:SIZE or copytruncate:SIZE, with a size in bytes or
// with KiB or MiB behind it. The zero value never rotates.
type Rotation struct {
	Copy bool  // the file is copied and cut to nothing, instead of renamed and begun anew
	Size int64 // bytes that a file may have; 0: no limit
}

// oldFiles is how many rotated files are kept, FILE.1 being the newest.
const oldFiles = 5

// UnmarshalText reads a rotation's text.
func (r *Rotation) UnmarshalText(text []byte) error {
	how, size, _ := strings.Cut(string(text), ":")
	if how != "rename" && how != "copytruncate" {
		return fmt.Errorf("rotation %q: give rename:SIZE or copytruncate:SIZE, for example rename:1MiB", text)
	}
	unit := int64(1)
	for suffix, u := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20} {
		if s, ok := strings.CutSuffix(size, suffix); ok {
			size, unit = s, u
		}
	}
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil || n < 1 || n > 1<<40/unit {
		return fmt.Errorf("rotation %q: the size must be a whole number of bytes, KiB or MiB, for example %s:1MiB", text, how)
	}
	*r = Rotation{Copy: how == "copytruncate", Size: n * unit}
	return nil
}

// logFile is a log that several engines may share. It is not safe for concurrent use.
type logFile struct {
	out    io.Writer // what is written to: the file, or a stream that has no path
	path   string
	file   *os.File
	size   int64
	rotate Rotation
}

// openLog opens a log file to append to it, or takes a stream as it is when path is empty.
func openLog(path string, stream io.Writer, r Rotation) (*logFile, error) {
	l := &logFile{path: path, rotate: r, out: stream}
	if path == "" {
		return l, nil
	}
	return l, l.open()
}

func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.out, l.size = f, f, info.Size()
	return nil
}

// write appends a whole line.
func (l *logFile) write(line []byte) error {
	if l.rotate.Size > 0 && l.size > 0 && l.size+int64(len(line)) > l.rotate.Size {
		if err := l.turn(l.rotate.Copy); err != nil {
			return err
		}
	}
	n, err := l.out.Write(line)
	l.size += int64(n)
	return err
}

// turn makes the file the newest of the old ones and begins an empty one. Streams don't rotate.
func (l *logFile) turn(byCopy bool) error {
	if l.file == nil {
		return nil
	}
	old := func(i int) string { return l.path + "." + strconv.Itoa(i) }
	for i := oldFiles - 1; i > 0; i-- {
		if err := os.Rename(old(i), old(i+1)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if byCopy {
		text, err := os.ReadFile(l.path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(old(1), text, 0o644); err != nil {
			return err
		}
		return l.truncate()
	}
	if err := errors.Join(l.file.Close(), os.Rename(l.path, old(1))); err != nil {
		return err
	}
	return l.open()
}

// truncate cuts the file to nothing.
func (l *logFile) truncate() error {
	if l.file == nil {
		return nil
	}
	l.size = 0
	return l.file.Truncate(0)
}

func (l *logFile) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
