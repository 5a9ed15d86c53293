package ledger

import (
	"strings"
	"testing"
	"time"
)

func TestPlain(t *testing.T) {
	mine := func(s string) bool { return strings.Contains(s, "Decode batch") }
	for in, want := range map[string]string{
		"\x1b[36m(APIServer)\x1b[0m Decode batch, a: 1":                                        "(APIServer) Decode batch, a: 1",
		`{"log":"[2026-08-20 12:00:00] Decode batch, a: {1}\n","time":"2026-08-20T12:00:01Z"}`: "[2026-08-20 12:00:00] Decode batch, a: {1} ",
		"Decode batch {'x': 1}": "Decode batch {'x': 1}",
		"{not json":             "{not json",
	} {
		got, _ := Plain([]byte(in), mine)
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	_, stamp := Plain([]byte(`{"log":"Decode batch","time":"2026-08-20T12:00:01Z"}`), mine)
	if want := time.Date(2026, 8, 20, 12, 0, 1, 0, time.UTC); !stamp.Time.Equal(want) || !stamp.ZoneKnown {
		t.Errorf("%+v", stamp)
	}
	// A line's own time counts when it is not worse.
	stamp = FindStamp("(APIServer pid=7) INFO 08-17 12:00:05 [loggers.py:1] ", Stamp{})
	if stamp.YearKnown || stamp.ZoneKnown || stamp.Time.Month() != 8 || stamp.Time.Day() != 17 || stamp.Time.Second() != 5 {
		t.Errorf("%+v", stamp)
	}
}
