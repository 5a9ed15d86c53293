package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes on the command line: "4GiB", "500MB", "1048576".
type Size int64

// sizeUnits are the suffixes, longest first so that "GiB" is not read as "B".
var sizeUnits = []struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"B", 1},
}

// UnmarshalText reads a whole number with an optional unit.
func (s *Size) UnmarshalText(text []byte) error {
	digits, unit := strings.TrimSpace(string(text)), int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(digits, u.suffix); ok {
			digits, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is no size: give whole bytes or a unit, as in 500MB or 4GiB", text)
	}
	*s = Size(n * unit)
	return nil
}
