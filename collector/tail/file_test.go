package tail

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Whatever happens between two readings, each line is read once: with the reader running, and with it stopped meanwhile.
func TestRotations(t *testing.T) {
	cases := map[string]func(r *rig){
		"nothing":                func(r *rig) {},
		"lines":                  func(r *rig) { r.lines(3) },
		"rename":                 func(r *rig) { r.lines(3); r.rename(); r.lines(2) },
		"rename, nothing new":    func(r *rig) { r.lines(3); r.rename() },
		"rename, empty new file": func(r *rig) { r.lines(3); r.rename(); r.write("") },
		"rename twice":           func(r *rig) { r.lines(3); r.rename(); r.lines(2); r.rename(); r.lines(4) },
		"rename three times": func(r *rig) {
			r.rename()
			r.lines(2)
			r.rename()
			r.lines(4)
			r.rename()
			r.lines(1)
		},
		"copytruncate":               func(r *rig) { r.lines(3); r.copy(); r.truncate(); r.lines(2) },
		"copytruncate, nothing new":  func(r *rig) { r.lines(3); r.copy(); r.truncate() },
		"copytruncate, longer after": func(r *rig) { r.lines(3); r.copy(); r.truncate(); r.lines(90) },
		"copytruncate twice": func(r *rig) {
			r.lines(3)
			r.copy()
			r.truncate()
			r.lines(2)
			r.copy()
			r.truncate()
			r.lines(2)
		},
		"both": func(r *rig) {
			r.lines(3)
			r.copy()
			r.truncate()
			r.lines(2)
			r.rename()
			r.lines(5)
		},
		"both, the other way": func(r *rig) {
			r.lines(3)
			r.rename()
			r.lines(2)
			r.copy()
			r.truncate()
			r.lines(5)
		},
		"copied, not yet truncated": func(r *rig) { r.lines(3); r.copy() },
		"compressed":                func(r *rig) { r.lines(3); r.rename(); r.compress(1); r.lines(2) },
		"compressed with zstd":      func(r *rig) { r.lines(3); r.rename(); r.compressAs(1, ".zst"); r.lines(2) },
		"compressed behind another": func(r *rig) {
			r.lines(3)
			r.rename()
			r.lines(4)
			r.rename()
			r.compress(2)
			r.lines(2)
		},
		"half a line": func(r *rig) { r.write(fmt.Sprintf("line %04d ", r.n)) },
	}
	for name, change := range cases {
		for _, running := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, running %v", name, running), func(t *testing.T) {
				r := newRig(t)
				r.lines(40)
				r.read()
				for range 3 {
					before := r.n
					change(r)
					if !running {
						r.stop()
					}
					r.read()
					if half := strings.HasPrefix(name, "half"); half {
						r.write(strings.Repeat("x", before%7) + "\n")
						r.n++
						r.read()
					}
				}
				r.want()
			})
		}
	}
}

// What is written between the copy and the truncation is in neither file; nothing else is lost.
func TestLostBetweenCopyAndTruncation(t *testing.T) {
	for _, running := range []bool{true, false} {
		r := newRig(t)
		r.lines(10)
		r.read()
		r.copy()
		r.lines(2) // 10 and 11
		r.truncate()
		r.lines(3)
		if !running {
			r.stop()
		}
		r.read()
		r.want(10, 11)
	}
}

// A line that was read from the file is not read again from a copy that ends before it.
func TestCopyEndsBeforeWhatWasRead(t *testing.T) {
	for _, running := range []bool{true, false} {
		r := newRig(t)
		r.lines(10)
		r.copy()
		r.lines(2)
		// A clock's tick can hold all of it.
		tick := time.Now().Truncate(time.Second)
		for _, name := range []string{r.path, r.path + ".1"} {
			r.check(os.Chtimes(name, tick, tick))
		}
		r.read()
		r.truncate()
		r.lines(3)
		if !running {
			r.stop()
		}
		r.read()
		r.want()
	}
}

// A writer that goes on writing to the renamed file for a while loses nothing.
func TestStraggler(t *testing.T) {
	for _, running := range []bool{true, false} {
		r := newRig(t)
		r.lines(5)
		r.read()
		old, err := os.OpenFile(r.path, os.O_APPEND|os.O_WRONLY, 0)
		r.check(err)
		r.rename()
		r.lines(2)
		r.read()
		if !running {
			r.stop()
		}
		_, err = old.WriteString("late\nwithout end")
		r.check(err)
		r.read()
		if got := r.got[len(r.got)-1]; got != "late" {
			t.Errorf("running %v: last line %q", running, got)
		}
		r.now = r.now.Add(2 * straggle)
		r.read()
		if r.cut != 1 {
			t.Errorf("running %v: %d lines without an end, want 1", running, r.cut)
		}
		r.check(old.Close())
	}
}

func TestDeletedWhileOpen(t *testing.T) {
	r := newRig(t)
	r.lines(5)
	r.read()
	r.lines(3)
	r.rename()
	r.check(os.Remove(r.path + ".1"))
	r.lines(2)
	r.read()
	r.want()
}

// With the collector down, a deleted generation is lost, the ones after it are not.
func TestDeletedWhileDown(t *testing.T) {
	r := newRig(t)
	r.lines(5)
	r.read()
	r.lines(3) // 5, 6, 7
	r.stop()
	r.rename()
	time.Sleep(20 * time.Millisecond) // file times have a grain
	r.lines(2)
	r.rename()
	r.check(os.Remove(r.path + ".2"))
	r.lines(2)
	r.read()
	r.want(5, 6, 7)
}

func TestLongLines(t *testing.T) {
	r := newRig(t)
	r.opt.MaxLine = 100
	r.write("a\n" + strings.Repeat("y", 9000))
	r.read()
	r.stop()
	r.write(strings.Repeat("y", 9000))
	r.read()
	r.write("\nb\n")
	r.read()
	if !slices.Equal(r.got, []string{"a", "b"}) || r.long != 1 {
		t.Errorf("lines %q, %d too long", r.got, r.long)
	}
}

func TestStarts(t *testing.T) {
	f := func(start Start, want ...int) {
		t.Helper()
		r := newRig(t)
		r.opt.Start = start
		r.lines(2)
		r.rename()
		time.Sleep(20 * time.Millisecond)
		r.lines(2)
		r.write("line 0004") // without its end
		r.read()
		r.stop()
		r.write(" xxxx\n")
		r.n = 5
		r.lines(1)
		r.read()
		var lost []int
		for i := range 6 {
			if !slices.Contains(want, i) {
				lost = append(lost, i)
			}
		}
		r.want(lost...)
	}
	f(WithRotated, 0, 1, 2, 3, 4, 5)
	f(AtBeginning, 2, 3, 4, 5)
	f(AtEnd, 4, 5)
}

// A position from elsewhere is an error, and reading begins anew.
func TestBadPosition(t *testing.T) {
	for _, saved := range []string{"x", "{}", `{"v":9}`, `{"v":1,"c":{"o":-5}}`, `{"v":1,"c":{"o":5}}`, strings.Repeat("x", 1<<20)} {
		r := newRig(t)
		r.lines(2)
		file, err := Open(r.path, saved, r.opt)
		if err == nil {
			t.Errorf("%.30q was accepted", saved)
		}
		r.file = file
		r.read()
		r.want()
	}
}
