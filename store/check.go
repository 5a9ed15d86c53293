package store

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Bounds of what a Batch may hold. Names and texts in bytes of UTF-8.
const (
	MaxEngineName = 255
	MaxMetric     = 255
	MaxSeries     = 1000 // a column's label
	MaxColumns    = 20_000
	MaxRows       = 256 << 10 // of a batch
	MaxDetail     = 4000      // of an event; more is cut
	MaxSource     = 4096      // a position's source and its value
)

// CheckName says what is wrong with the name of a deployment, an engine or a
// collector: it must be a line of text as Clean leaves it, not empty, of at
// most max bytes. The error is ErrInvalid.
func CheckName(what, name string, max int) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: %s has no name", ErrInvalid, what)
	case len(name) > max:
		return fmt.Errorf("%w: the name of %s %.40q… has %d bytes, at most %d are allowed", ErrInvalid, what, name, len(name), max)
	case cleanLine(name, max) != name:
		return fmt.Errorf("%w: the name of %s %q has control characters or spaces around it", ErrInvalid, what, name)
	}
	return nil
}

// Check says why a batch can't be stored, whatever the backend, as ErrInvalid.
func (b *Batch) Check() error {
	if b.Seq > math.MaxInt64 {
		return fmt.Errorf("%w: sequence number %d", ErrInvalid, b.Seq)
	}
	if len(b.Rows) > MaxRows {
		return fmt.Errorf("%w: a batch of %d rows, at most %d are allowed; deliver them in pieces", ErrInvalid, len(b.Rows), MaxRows)
	}
	for _, e := range b.Engines {
		if err := CheckName("deployment", e.Deployment, MaxLabel); err != nil {
			return err
		}
		if err := CheckName("engine", e.Name, MaxEngineName); err != nil {
			return err
		}
	}
	for i, l := range b.Layouts {
		if err := l.check(); err != nil {
			return fmt.Errorf("layout %d: %w", i, err)
		}
	}
	for i, r := range b.Rows {
		switch {
		case r.Engine < 0 || r.Engine >= len(b.Engines):
			return fmt.Errorf("%w: row %d is of engine %d of %d", ErrInvalid, i, r.Engine, len(b.Engines))
		case r.Layout < 0 || r.Layout >= len(b.Layouts):
			return fmt.Errorf("%w: row %d has layout %d of %d", ErrInvalid, i, r.Layout, len(b.Layouts))
		case len(r.Values) != len(b.Layouts[r.Layout].Columns):
			return fmt.Errorf("%w: row %d has %d values for %d columns", ErrInvalid, i, len(r.Values), len(b.Layouts[r.Layout].Columns))
		case r.Time < 0 || r.Time > MaxTime:
			return fmt.Errorf("%w: row %d has the time %d ns", ErrInvalid, i, r.Time)
		}
	}
	for i, e := range b.Events {
		if e.Engine < 0 || e.Engine >= int64(len(b.Engines)) {
			return fmt.Errorf("%w: event %d is of engine %d of %d", ErrInvalid, i, e.Engine, len(b.Engines))
		}
		if e.From < 0 || e.From > e.To || e.To > MaxTime {
			return fmt.Errorf("%w: event %d is from %d to %d ns", ErrInvalid, i, e.From, e.To)
		}
	}
	for i, p := range b.Positions {
		if p.Source == "" || len(p.Source) > MaxSource || len(p.Value) > MaxSource {
			return fmt.Errorf("%w: position %d has a source of %d bytes and a value of %d", ErrInvalid, i, len(p.Source), len(p.Value))
		}
	}
	return nil
}

// MaxTime is the latest time a row may have, in ns since 1970: the year 2200.
// It keeps sums of times and lengths far from overflowing.
const MaxTime = 7_258_118_400 * 1_000_000_000

func (l *Layout) check() error {
	if err := CheckName("section", l.Section, MaxLabel); err != nil {
		return err
	}
	if len(l.Columns) > MaxColumns {
		return fmt.Errorf("%w: %d columns, at most %d are allowed", ErrInvalid, len(l.Columns), MaxColumns)
	}
	seen := make(map[Column]bool, len(l.Columns))
	for _, c := range l.Columns {
		if err := CheckName("metric", c.Metric, MaxMetric); err != nil {
			return err
		}
		if len(c.Label) > MaxSeries || !utf8.ValidString(c.Label) {
			return fmt.Errorf("%w: the label of metric %q has %d bytes or is no UTF-8", ErrInvalid, c.Metric, len(c.Label))
		}
		if seen[c] {
			return fmt.Errorf("%w: metric %q with label %q is there twice", ErrInvalid, c.Metric, c.Label)
		}
		seen[c] = true
	}
	return nil
}
