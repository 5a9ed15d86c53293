package sim

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRotation(t *testing.T) {
	good := func(text string, want Rotation) {
		t.Helper()
		var r Rotation
		if err := r.UnmarshalText([]byte(text)); err != nil || r != want {
			t.Errorf("%s: %+v, error %v", text, r, err)
		}
	}
	good("rename:100", Rotation{Size: 100})
	good("copytruncate:2KiB", Rotation{Copy: true, Size: 2048})
	good("rename:3MiB", Rotation{Size: 3 << 20})
	for _, text := range []string{"", "rename", "rename:", "rename:0", "rename:-1", "rename:1GB", "move:1", "rename:9999999999999MiB"} {
		var r Rotation
		if err := r.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "rotation ") {
			t.Errorf("%q: %+v, error %v", text, r, err)
		}
	}
}

// However a file is rotated, each line is in exactly one of the files, in order, and no file is over its size.
func TestLogRotation(t *testing.T) {
	for _, byCopy := range []bool{false, true} {
		t.Run(fmt.Sprint("by copy: ", byCopy), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "engine.log")
			l, err := openLog(path, nil, Rotation{Copy: byCopy, Size: 100})
			if err != nil {
				t.Fatal(err)
			}
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			var want []byte
			for i := range 40 {
				line := fmt.Appendf(nil, "line %02d\n", i) // 12 of 8 bytes in a file
				want = append(want, line...)
				if err := l.write(line); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.close(); err != nil {
				t.Fatal(err)
			}
			var got []byte
			for _, suffix := range []string{".3", ".2", ".1", ""} {
				text, err := os.ReadFile(path + suffix)
				if err != nil || len(text) > 100 {
					t.Fatalf("%s has %d bytes, error %v", suffix, len(text), err)
				}
				got = append(got, text...)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the files have\n%s", got)
			}
			after, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if os.SameFile(before, after) != byCopy {
				t.Errorf("the file is the same one: %v, want %v", !byCopy, byCopy)
			}
		})
	}
}

func TestLogAppendsAndForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engine.log")
	write := func(f func(l *logFile) error) {
		t.Helper()
		l, err := openLog(path, nil, Rotation{})
		if err != nil {
			t.Fatal(err)
		}
		if err := f(l); err != nil {
			t.Fatal(err)
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
	}
	want := func(name, want string) {
		t.Helper()
		if text, err := os.ReadFile(name); err != nil || string(text) != want {
			t.Errorf("%s has %q, error %v; want %q", name, text, err, want)
		}
	}
	write(func(l *logFile) error { return l.write([]byte("a\n")) })
	write(func(l *logFile) error { return l.write([]byte("b\n")) })
	want(path, "a\nb\n")
	write(func(l *logFile) error { return l.turn(false) })
	want(path, "")
	want(path+".1", "a\nb\n")
	for i := range 8 {
		write(func(l *logFile) error {
			if err := l.write(fmt.Appendf(nil, "%d\n", i)); err != nil {
				return err
			}
			return l.turn(true)
		})
	}
	want(path+".1", "7\n")
	want(path+".5", "3\n")
	if _, err := os.Stat(path + ".6"); err == nil {
		t.Error("a sixth old file")
	}
	write(func(l *logFile) error {
		if err := l.write([]byte("lost\n")); err != nil {
			return err
		}
		if err := l.truncate(); err != nil {
			return err
		}
		return l.write([]byte("kept\n"))
	})
	want(path, "kept\n")
	if _, err := openLog(filepath.Join(path, "below"), nil, Rotation{}); err == nil {
		t.Error("a log below a file was opened")
	}
}
