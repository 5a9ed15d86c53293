package profile

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestFileName(t *testing.T) {
	shanghai := time.FixedZone("CST", 8*3600)
	f := func(name string, want FileName) {
		t.Helper()
		got, err := ParseFileName(name, shanghai)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if got.IP != want.IP || got.GPU != want.GPU || got.Rank != want.Rank || !got.Time.Equal(want.Time) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
		if s := want.String(); s != name {
			t.Errorf("written as %s, want %s", s, name)
		}
	}
	at := func(y, mo, d, h, mi, s, ms int) time.Time {
		return time.Date(y, time.Month(mo), d, h, mi, s, ms*1e6, shanghai)
	}
	f("profile-10.1.2.3-gpu0-rank17-20260302-090507-041.json",
		FileName{netip.MustParseAddr("10.1.2.3"), 0, 17, at(2026, 3, 2, 9, 5, 7, 41)})
	f("profile-2001:db8::7-gpu15-rank4095-20241231-235959-999.json",
		FileName{netip.MustParseAddr("2001:db8::7"), 15, 4095, at(2024, 12, 31, 23, 59, 59, 999)})
	f("profile-::ffff:10.0.0.1-gpu7-rank0-20240229-000000-000.json",
		FileName{netip.MustParseAddr("::ffff:10.0.0.1"), 7, 0, at(2024, 2, 29, 0, 0, 0, 0)})

	// Below a millisecond is cut, as a clock with fewer digits shows it; a zone of the address stays out of the name.
	cut := FileName{netip.MustParseAddr("fe80::1%eth0"), 1, 2, time.Date(2026, 1, 2, 3, 4, 5, 6_999_999, time.UTC)}
	if got, want := cut.String(), "profile-fe80::1-gpu1-rank2-20260102-030405-006.json"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFileNameRefuses(t *testing.T) {
	f := func(name, part string) {
		t.Helper()
		_, err := ParseFileName(name, time.UTC)
		if !errors.Is(err, ErrFileName) || !strings.Contains(err.Error(), "wrong "+part) {
			t.Errorf("%q: got %v, want the wrong %s", name, err, part)
		}
	}
	f("", "beginning")
	f("trace-10.1.2.3-gpu0-rank1-20260302-090507-041.json", "beginning")
	f("/tmp/profile-10.1.2.3-gpu0-rank1-20260302-090507-041.json", "beginning")
	f("profile-10.1.2.3-gpu0-rank1-20260302-090507-041.json.gz", "ending")
	f("profile-10.1.2.3-gpu0-rank1-20260302-090507-041.json\x00", "ending")
	f("profile-.json", "order of parts")
	f("profile-10.1.2.3-rank1-gpu0-20260302-090507-041.json", "order of parts")
	f("profile-10.1.2.3-gpu0-rank1.json", "order of parts")
	f("profile-../../etc/passwd-gpu0-rank1-20260302-090507-041.json", "address")
	f("profile--gpu0-rank1-20260302-090507-041.json", "address")
	f("profile-host-gpu0-rank1-20260302-090507-041.json", "address")
	f("profile-10.1.2.256-gpu0-rank1-20260302-090507-041.json", "address")
	f(`profile-fe80::1%..\..\x-gpu0-rank1-20260302-090507-041.json`, "address")
	f("profile-fe80::1%/../x-gpu0-rank1-20260302-090507-041.json", "address")
	f("profile-10.1.2.3-gpu-rank1-20260302-090507-041.json", "GPU")
	f("profile-10.1.2.3-gpu-1-rank1-20260302-090507-041.json", "GPU")
	f("profile-10.1.2.3-gpu01-rank1-20260302-090507-041.json", "GPU")
	f("profile-10.1.2.3-gpu٣-rank1-20260302-090507-041.json", "GPU")
	f("profile-10.1.2.3-gpu0-rank1000000000-20260302-090507-041.json", "rank")
	f("profile-10.1.2.3-gpu0-rank+1-20260302-090507-041.json", "rank")
	f("profile-10.1.2.3-gpu0-rank1-20260302-090507.json", "time")
	f("profile-10.1.2.3-gpu0-rank1-2026.json", "time")
	f("profile-10.1.2.3-gpu0-rank1-20260302-090507-41.json", "time")
	f("profile-10.1.2.3-gpu0-rank1-20260302-090507-0411.json", "time")
	f("profile-10.1.2.3-gpu0-rank1-20260302-090507.041.json", "time")
	f("profile-10.1.2.3-gpu0-rank1-20260302-090507-+41.json", "time")
	f("profile-10.1.2.3-gpu0-rank1-20260230-090507-041.json", "time")
	f("profile-10.1.2.3-gpu0-rank1-20260302-240000-041.json", "time")
	f("profile-10.1.2.3-gpu0-rank1-20260302-090507-041/../x.json", "time")
}

func FuzzFileName(f *testing.F) {
	for _, s := range []string{
		"profile-10.1.2.3-gpu0-rank17-20260302-090507-041.json",
		"profile-2001:db8::7-gpu15-rank4095-20241231-235959-999.json",
		"profile-fe80::1%eth0-gpu0-rank0-20240229-000000-000.json",
		"profile-../x-gpu0-rank0-20240229-000000-000.json",
		"profile--gpu-rank-.json",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := ParseFileName(name, time.UTC)
		if err != nil {
			if !errors.Is(err, ErrFileName) {
				t.Fatalf("error without kind: %v", err)
			}
			return
		}
		if strings.ContainsAny(name, "/\\\x00%") {
			t.Fatalf("accepted %q, which leads elsewhere", name)
		}
		// Addresses have several spellings; all else has one.
		again, err := ParseFileName(got.String(), time.UTC)
		if err != nil || again != got {
			t.Fatalf("%q read as %+v, written and read again as %+v (%v)", name, got, again, err)
		}
		if i := strings.Index(name, "-gpu"); !strings.HasSuffix(got.String(), name[i:]) {
			t.Fatalf("%q was written back as %q", name, got)
		}
	})
}
