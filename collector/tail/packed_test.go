package tail

import (
	"encoding/base64"
	"os"
	"testing"
	"time"
)

// What bzip2 makes of lines 0 to 2 of a rig; the standard library only reads it.
const bzip2Lines = "QlpoOTFBWSZTWYkkXmMAAA5ZgEAQQABwAAIlAEAgACI9SZPSbUIBppop3NYLEImBjNGNR8XckU4UJCJJF5jA"

func TestBzip2(t *testing.T) {
	r := newRig(t)
	r.opt.Start = WithRotated
	packed, err := base64.StdEncoding.DecodeString(bzip2Lines)
	r.check(err)
	r.check(os.WriteFile(r.path+".1.bz2", packed, 0o600))
	r.n = 3
	r.lines(2)
	r.read()
	r.want()
}

// A rotated file that can't be read is told when lines are missing that it may have, and only then.
func TestSealed(t *testing.T) {
	f := func(name, want string, lost []int, change func(r *rig)) {
		t.Helper()
		r := newRig(t)
		r.lines(3)
		r.read()
		r.stop()
		change(r)
		r.lines(2)
		r.read()
		r.want(lost...)
		if r.sealed != want {
			t.Errorf("%s: told of %q, want %q", name, r.sealed, want)
		}
	}
	seal := func(r *rig, i string) {
		r.check(os.Rename(r.path+i, r.path+i+".xz"))
		r.check(os.WriteFile(r.path+i+".xz", []byte("\xfd7zXZ\x00 …"), 0o600))
	}
	f("what was being read", "x.log.1.xz", []int{3, 4}, func(r *rig) { r.lines(2); r.rename(); seal(r, ".1") })
	f("nothing", "", nil, func(r *rig) { r.lines(2); r.rename() })
	f("an older one", "", nil, func(r *rig) {
		r.rename()
		r.check(os.WriteFile(r.path+".2.xz", nil, 0o600))
		r.check(os.Chtimes(r.path+".2.xz", time.Unix(1, 0), time.Unix(1, 0)))
	})
}

// Damaged compressed files end where they are damaged.
func TestDamagedPacked(t *testing.T) {
	for _, ending := range []string{".gz", ".zst", ".bz2"} {
		for _, text := range []string{"", "junk", "\x1f\x8b\x08", "\x28\xb5\x2f\xfd\x00", "BZh9"} {
			r := newRig(t)
			r.opt.Start = WithRotated
			r.check(os.WriteFile(r.path+".1"+ending, []byte(text), 0o600))
			r.lines(2)
			r.read()
			r.want()
		}
	}
}
