package profile

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// ErrFileName says that a name is not one that an engine gives to its traces.
var ErrFileName = errors.New("not the name of an engine's trace: profile-{ip}-gpu{gpu}-rank{rank}-{YYYYmmdd-HHMMSS-mmm}.json")

const (
	stampLayout = "20060102-150405"
	// Longer numbers than any fleet has; they fit an int everywhere.
	maxNumberDigits = 9
)

// FileName is what the name of a trace says. GPU ids are unique on one host only and ranks in one deployment only,
// therefore both are in it, with the host's address.
type FileName struct {
	IP        netip.Addr // without zone
	GPU, Rank int        // driver GPU's id, global rank; not negative
	// Time is when the profiler stopped, in whole milliseconds. A name holds the wall clock of the engine's node without
	// its zone: twice a year an hour is ambiguous.
	Time time.Time
}

// String is the file's name without its folder. The time is written as its location shows it, cut to milliseconds.
func (f FileName) String() string {
	return fmt.Sprintf("profile-%s-gpu%d-rank%d-%s-%03d.json",
		f.IP.WithZone(""), f.GPU, f.Rank, f.Time.Format(stampLayout), f.Time.Nanosecond()/int(time.Millisecond))
}

// ParseFileName reads the name of a trace, given without its folder. The time is taken as the wall clock of loc, which
// is the engine's node's zone. Whatever isn't exactly such a name is ErrFileName, with the part that is wrong; a name
// that passes has no separators and can't lead out of its folder.
func ParseFileName(name string, loc *time.Location) (FileName, error) {
	bad := func(part string) (FileName, error) {
		return FileName{}, fmt.Errorf("%w: wrong %s in %.120q", ErrFileName, part, name)
	}
	rest, ok := strings.CutPrefix(name, "profile-")
	if !ok {
		return bad("beginning")
	}
	if rest, ok = strings.CutSuffix(rest, ".json"); !ok {
		return bad("ending")
	}
	host, rest, ok := strings.Cut(rest, "-gpu")
	if !ok {
		return bad("order of parts")
	}
	gpuText, rest, ok := strings.Cut(rest, "-rank")
	if !ok {
		return bad("order of parts")
	}
	rankText, stamp, ok := strings.Cut(rest, "-")
	if !ok {
		return bad("order of parts")
	}

	var f FileName
	var err error
	// A zone may hold anything, slashes too.
	if f.IP, err = netip.ParseAddr(host); err != nil || f.IP.Zone() != "" {
		return bad("address")
	}
	if f.GPU, ok = parseNumber(gpuText); !ok {
		return bad("GPU")
	}
	if f.Rank, ok = parseNumber(rankText); !ok {
		return bad("rank")
	}
	if f.Time, ok = parseStamp(stamp, loc); !ok {
		return bad("time")
	}
	return f, nil
}

// parseNumber reads decimal digits as a program writes them: no sign, no leading zeros.
func parseNumber(s string) (int, bool) {
	if len(s) > maxNumberDigits || !digits(s) || (len(s) > 1 && s[0] == '0') {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

func parseStamp(s string, loc *time.Location) (time.Time, bool) {
	sec, ms, ok := cutAt(s, len(stampLayout))
	if !ok || len(ms) != 4 || ms[0] != '-' || !digits(ms[1:]) {
		return time.Time{}, false
	}
	t, err := time.ParseInLocation(stampLayout, sec, loc)
	if err != nil {
		return time.Time{}, false
	}
	n, err := strconv.Atoi(ms[1:])
	return t.Add(time.Duration(n) * time.Millisecond), err == nil
}

func cutAt(s string, n int) (before, after string, ok bool) {
	if len(s) < n {
		return "", "", false
	}
	return s[:n], s[n:], true
}

// digits reports whether s is one or more ASCII digits.
func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
