package compare

import (
	"strings"
	"testing"
	"time"
)

func TestParseColumn(t *testing.T) {
	ten := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	f := func(text string, want ColumnSpec) {
		t.Helper()
		got, err := ParseColumn(text)
		if err != nil {
			t.Fatalf("ParseColumn(%q): %v", text, err)
		}
		if got != want {
			t.Errorf("ParseColumn(%q) = %+v, want %+v", text, got, want)
		}
		again, err := ParseColumn(got.String())
		if err != nil || again != want {
			t.Errorf("ParseColumn(%q): String gives %q, which is read as %+v, %v", text, got.String(), again, err)
		}
	}
	f("prod", ColumnSpec{Deployment: "prod"})
	f("prod@", ColumnSpec{Deployment: "prod"})
	f("a@b@", ColumnSpec{Deployment: "a@b"})
	f("prod@-1h", ColumnSpec{Deployment: "prod", Since: time.Hour})
	f("a@b@-90s", ColumnSpec{Deployment: "a@b", Since: 90 * time.Second})
	f("prod@-7d", ColumnSpec{Deployment: "prod", Since: 168 * time.Hour})
	f("prod@2026-11-29T10:00Z..2026-11-29T11:00Z", ColumnSpec{Deployment: "prod", From: ten, To: ten.Add(time.Hour)})
	f("prod@2026-11-29T11:00:00+01:00..2026-11-29T10:00:00.25Z", ColumnSpec{Deployment: "prod", From: ten, To: ten.Add(250 * time.Millisecond)})
	f("prod@baseline:before the update", ColumnSpec{Deployment: "prod", Baseline: "before the update"})
	f("生产@baseline:a@b", ColumnSpec{Deployment: "生产", Baseline: "a@b"})
}

func TestParseColumnRefuses(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := ParseColumn(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("ParseColumn(%.60q) = %v, want an error with %q", text, err, want)
		}
		if !strings.Contains(err.Error(), ColumnForms) {
			t.Errorf("ParseColumn(%.60q): the error does not show the allowed forms: %v", text, err)
		}
	}
	f("", "does not name a deployment")
	f("@-1h", "does not name a deployment")
	f("prod@1h", "neither a length")
	f("prod@-1x", "not a length of time")
	f("prod@-0s", "not between")
	f("prod@-99999d", "is not a length of time")
	f("prod@-500d", "not between")
	f("prod@10:00..11:00", "not a time")
	f("prod@2026-11-29T11:00Z..2026-11-29T10:00Z", "ends before it begins")
	f("prod@2020-11-29T11:00Z..2026-11-29T10:00Z", "longer than 400 days")
	f("prod@0001-01-01T00:00Z..2026-11-29T10:00Z", "outside 1971")
	f("prod@baseline:", "needs the deployment's name")
	f("@baseline:x", "needs the deployment's name")
	f(strings.Repeat("x", 2000), "at most 1024")
}

func TestParseColumns(t *testing.T) {
	if _, err := ParseColumns([]string{"a"}); err == nil || !strings.Contains(err.Error(), "2 to 6") {
		t.Errorf("one column: %v", err)
	}
	if _, err := ParseColumns(make([]string, 7)); err == nil {
		t.Error("seven columns were taken")
	}
	if _, err := ParseColumns([]string{"a", "b@x"}); err == nil {
		t.Error("a bad column was taken")
	}
	got, err := ParseColumns([]string{"a", "b@-2h"})
	if err != nil || len(got) != 2 || got[1].Since != 2*time.Hour {
		t.Errorf("two columns: %+v, %v", got, err)
	}
}

func FuzzParseColumn(f *testing.F) {
	for _, s := range []string{"prod", "a@b@", "prod@-1h", "prod@2026-11-29T10:00Z..2026-11-29T11:00Z", "p@baseline:x", "@", "p@-", "p@..", "p@-9223372036s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseColumn(s)
		if err != nil {
			return
		}
		again, err := ParseColumn(c.String())
		if err != nil || again != c {
			t.Fatalf("%q is read as %+v, whose text %q is read as %+v, %v", s, c, c.String(), again, err)
		}
	})
}
