package tail

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// Any order of writing, rotating, reading and crashing gives each line once. A crash goes back to the last position that was
// stored, together with the lines that were stored with it.
func TestRandomHistories(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			r := newRig(t)
			r.opt.Start = WithRotated
			stored, kept := "", 0
			unread := 0 // rotations since the last look: what is deleted at the end must have been read
			for range 120 {
				switch n := random.IntN(20); {
				case n < 8:
					r.lines(1 + random.IntN(40))
				case n < 10 && unread < 5:
					if r.n > 0 && exists(r.path) {
						r.rename()
						unread++
					}
				case n < 12 && unread < 5:
					if r.n > 0 && exists(r.path) {
						r.copy()
						if random.IntN(4) == 0 {
							r.read() // between the copy and the truncation
						}
						r.truncate()
						unread++
					}
				case n < 16:
					r.now = r.now.Add(time.Duration(random.IntN(4)) * time.Second)
					r.read()
				case n < 18:
					stored, kept, unread = r.saved, len(r.got), 0
					if r.file == nil {
						unread = 5
					}
				case n < 20:
					r.stop()
					r.saved, r.got = stored, r.got[:kept]
					unread = 5 // until something is stored again
				}
				if unread == 5 {
					r.read()
					stored, kept, unread = r.saved, len(r.got), 0
				}
			}
			r.read()
			r.want()
		})
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("2026-08-20T10:00:00.000000000Z stdout P RANK 0,\n2026-08-20T10:00:00.000000001Z stderr F x\n2026-08-20T10:00:00.000000002Z stdout F  GPU 0\n"))
	f.Add([]byte(`{"log":"RANK 0,","stream":"stdout","time":"2026-08-20T10:00:00Z"}` + "\n" + `{"log":" GPU 0\n","stream":"stdout","time":"2026-08-20T10:00:00Z"}` + "\n"))
	f.Add([]byte("plain\r\n\n\x00\n"))
	f.Add([]byte(`{"log":"\`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := Whole(data)
		if n < 0 || n > len(data) || n > 0 && data[n-1] != '\n' {
			t.Fatalf("whole: %d of %d bytes", n, len(data))
		}
		lines, bytes := 0, 0
		Lines(data, func(at int, line []byte) {
			if at < 0 || at >= len(data) {
				t.Fatalf("a line at %d of %d bytes", at, len(data))
			}
			lines++
			bytes += len(line)
		})
		if bytes > 3*len(data)+lines { // a bad byte of JSON text becomes a rune of three
			t.Fatalf("%d lines of %d bytes from %d bytes", lines, bytes, len(data))
		}
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
