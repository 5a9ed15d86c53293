package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/stepscope/stepscope/store"
)

// The bytes of a batch, all integers as varints:
//
//	version   1
//	seq       unsigned
//	engines   count, then of each: deployment, name, kind, host, rank, gpu, role, model, parallel, version
//	layouts   count, then of each: section, count of columns, then of each: metric, label
//	rows      count, then of each: engine, layout, time − time of the row before, step − step of the row before,
//	          flags, values
//	events    count, then of each: engine, kind, from, to − from, from step, to step, count, detail
//	positions count, then of each: source, value
//
// A text is its length and its bytes. Values are pairs: a byte with the lengths
// of two values (low half first; the last half may be unused and is 0), then
// their bytes. A length of 0 is +0, 15 is absent (the NaN of math.NaN), else so
// many of the float's highest bytes are there, big endian, and the others are
// 0: whole numbers and short binary fractions take two or three. Everything
// else, −0 and other NaNs too, is exact.
const batchVersion = 1

// Limits of one batch, for both sides. They keep what a few hostile bytes can
// make a server allocate near what an honest batch takes.
const (
	MaxBatchBytes = 16 << 20 // encoded
	MaxValues     = 4 << 20  // in all rows
	MaxRows       = store.MaxRows
	maxEngines    = 64 << 10
	maxLayouts    = 4 << 10
	maxColumns    = 256 << 10 // in all layouts
	maxEvents     = 64 << 10
	maxPositions  = 64 << 10
)

const absentHalf = 15

var absentBits = math.Float64bits(math.NaN())

// AppendBatch appends b in its binary form to dst. It fails, with dst as it
// was, on batches that contradict themselves or are over a limit.
func AppendBatch(dst []byte, b *store.Batch) ([]byte, error) {
	if err := checkBatch(b); err != nil {
		return dst, err
	}
	at := len(dst)
	out := append(dst, batchVersion)
	out = binary.AppendUvarint(out, b.Seq)
	out = binary.AppendUvarint(out, uint64(len(b.Engines)))
	for _, e := range b.Engines {
		for _, s := range [...]string{e.Deployment, e.Name, e.Kind, e.Host} {
			out = appendText(out, s)
		}
		out = binary.AppendVarint(out, int64(e.Rank))
		out = binary.AppendVarint(out, int64(e.GPU))
		for _, s := range [...]string{e.Role, e.Model, e.Parallel, e.Version} {
			out = appendText(out, s)
		}
	}
	out = binary.AppendUvarint(out, uint64(len(b.Layouts)))
	for _, l := range b.Layouts {
		out = appendText(out, l.Section)
		out = binary.AppendUvarint(out, uint64(len(l.Columns)))
		for _, c := range l.Columns {
			out = appendText(appendText(out, c.Metric), c.Label)
		}
	}
	out = binary.AppendUvarint(out, uint64(len(b.Rows)))
	var time, step int64
	for _, r := range b.Rows {
		out = binary.AppendUvarint(out, uint64(r.Engine))
		out = binary.AppendUvarint(out, uint64(r.Layout))
		out = binary.AppendVarint(out, r.Time-time)
		out = binary.AppendVarint(out, r.Step-step)
		out = binary.AppendUvarint(out, uint64(r.Flags))
		out = appendValues(out, r.Values)
		time, step = r.Time, r.Step
	}
	out = binary.AppendUvarint(out, uint64(len(b.Events)))
	for _, e := range b.Events {
		out = binary.AppendUvarint(out, uint64(e.Engine))
		out = appendText(out, string(e.Kind))
		for _, v := range [...]int64{e.From, e.To - e.From, e.FromStep, e.ToStep, e.Count} {
			out = binary.AppendVarint(out, v)
		}
		out = appendText(out, e.Detail)
	}
	out = binary.AppendUvarint(out, uint64(len(b.Positions)))
	for _, p := range b.Positions {
		out = appendText(appendText(out, p.Source), p.Value)
	}
	if n := len(out) - at; n > MaxBatchBytes {
		return dst[:at], fmt.Errorf("%w: a batch of %d bytes; %d is the most: deliver smaller ones", store.ErrInvalid, n, MaxBatchBytes)
	}
	return out, nil
}

// checkBatch refuses what the encoding could not carry.
func checkBatch(b *store.Batch) error {
	columns, values := 0, 0
	for _, l := range b.Layouts {
		columns += len(l.Columns)
	}
	for i, r := range b.Rows {
		switch {
		case r.Engine < 0 || r.Engine >= len(b.Engines):
			return fmt.Errorf("%w: row %d is of engine %d of %d", store.ErrInvalid, i, r.Engine, len(b.Engines))
		case r.Layout < 0 || r.Layout >= len(b.Layouts):
			return fmt.Errorf("%w: row %d has layout %d of %d", store.ErrInvalid, i, r.Layout, len(b.Layouts))
		case len(r.Values) != len(b.Layouts[r.Layout].Columns):
			return fmt.Errorf("%w: row %d has %d values for %d columns", store.ErrInvalid, i, len(r.Values), len(b.Layouts[r.Layout].Columns))
		}
		values += len(r.Values)
	}
	for i, e := range b.Events {
		if e.Engine < 0 || e.Engine >= int64(len(b.Engines)) {
			return fmt.Errorf("%w: event %d is of engine %d of %d", store.ErrInvalid, i, e.Engine, len(b.Engines))
		}
	}
	for _, c := range [...]struct {
		what    string
		n, most int
	}{
		{"engines", len(b.Engines), maxEngines}, {"layouts", len(b.Layouts), maxLayouts}, {"columns", columns, maxColumns},
		{"rows", len(b.Rows), MaxRows}, {"values", values, MaxValues}, {"events", len(b.Events), maxEvents}, {"positions", len(b.Positions), maxPositions},
	} {
		if c.n > c.most {
			return fmt.Errorf("%w: a batch of %d %s; %d is the most: deliver smaller ones", store.ErrInvalid, c.n, c.what, c.most)
		}
	}
	return nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendValues(b []byte, values []float64) []byte {
	for i := 0; i < len(values); i += 2 {
		at := len(b)
		b = append(b, 0)
		var low, high byte
		b, low = appendValue(b, values[i])
		if i+1 < len(values) {
			b, high = appendValue(b, values[i+1])
		}
		b[at] = low | high<<4
	}
	return b
}

func appendValue(b []byte, v float64) ([]byte, byte) {
	u := math.Float64bits(v)
	if u == absentBits {
		return b, absentHalf
	}
	n := 8 - bits.TrailingZeros64(u)/8 // 0 for +0
	for i := range n {
		b = append(b, byte(u>>(56-8*i)))
	}
	return b, byte(n)
}

var errDamaged = errors.New("damaged batch")

// DecodeBatch reads what AppendBatch wrote. The batch shares no memory with
// data. Anything else is an error that wraps store.ErrInvalid; what it
// allocates is bounded by the limits whatever data holds.
func DecodeBatch(data []byte) (*store.Batch, error) {
	if len(data) > MaxBatchBytes {
		return nil, fmt.Errorf("%w: a batch of %d bytes; %d is the most", store.ErrInvalid, len(data), MaxBatchBytes)
	}
	d := &decoder{b: data}
	b, err := d.batch()
	if err != nil {
		return nil, fmt.Errorf("%w: %w at byte %d of %d", store.ErrInvalid, err, len(data)-len(d.b), len(data))
	}
	return b, nil
}

// decoder reads from the front of b. After the first failure it gives zeros.
type decoder struct {
	b    []byte
	fail error
}

func (d *decoder) batch() (*store.Batch, error) {
	if v := d.uint(); d.fail != nil {
		return nil, d.fail
	} else if v != batchVersion {
		return nil, fmt.Errorf("%w: version %d, want %d: update the older of collector and server", errDamaged, v, batchVersion)
	}
	b := &store.Batch{Seq: d.uint()}
	b.Engines = list(d, maxEngines, 10, func(e *store.EngineInfo) {
		e.Deployment, e.Name, e.Kind, e.Host = d.text(), d.text(), d.text(), d.text()
		e.Rank, e.GPU = int(d.int()), int(d.int())
		e.Role, e.Model, e.Parallel, e.Version = d.text(), d.text(), d.text(), d.text()
	})
	columns := maxColumns
	b.Layouts = list(d, maxLayouts, 2, func(l *store.Layout) {
		l.Section = d.text()
		l.Columns = list(d, columns, 2, func(c *store.Column) { c.Metric, c.Label = d.text(), d.text() })
		columns -= len(l.Columns)
	})
	var time, step int64
	values := MaxValues
	b.Rows = list(d, MaxRows, 5, func(r *store.Row) {
		r.Engine, r.Layout = d.index(len(b.Engines)), d.index(len(b.Layouts))
		time, step = time+d.int(), step+d.int()
		r.Time, r.Step = time, step
		flags := d.uint()
		if flags > math.MaxUint16 {
			d.failed("flags %d", flags)
		}
		if r.Flags = store.Flags(flags); d.fail == nil {
			n := len(b.Layouts[r.Layout].Columns)
			if values -= n; values < 0 {
				d.failed("more than %d values", MaxValues)
				return
			}
			r.Values = d.values(n)
		}
	})
	b.Events = list(d, maxEvents, 8, func(e *store.Event) {
		e.Engine, e.Kind = int64(d.index(len(b.Engines))), store.EventKind(d.text())
		e.From = d.int()
		e.To = e.From + d.int()
		e.FromStep, e.ToStep, e.Count, e.Detail = d.int(), d.int(), d.int(), d.text()
	})
	b.Positions = list(d, maxPositions, 2, func(p *store.Position) { p.Source, p.Value = d.text(), d.text() })
	if d.fail == nil && len(d.b) > 0 {
		d.failed("%d bytes too many", len(d.b))
	}
	return b, d.fail
}

// list reads a count and so many elements, each of at least least bytes.
func list[T any](d *decoder, most, least int, read func(*T)) []T {
	n := d.uint()
	if n > uint64(most) || n > uint64(len(d.b)/least) {
		d.failed("%d elements", n)
	}
	if d.fail != nil || n == 0 {
		return nil
	}
	l := make([]T, n)
	for i := range l {
		if read(&l[i]); d.fail != nil {
			return nil
		}
	}
	return l
}

func (d *decoder) failed(format string, args ...any) {
	if d.fail == nil {
		d.fail = fmt.Errorf("%w: "+format, append([]any{errDamaged}, args...)...)
	}
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.failed("no number")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.failed("no number")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) index(n int) int {
	v := d.uint()
	if v >= uint64(n) {
		d.failed("index %d of %d", v, n)
		return 0
	}
	return int(v)
}

func (d *decoder) text() string {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.failed("a text of %d bytes", n)
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) values(n int) []float64 {
	if n > 2*len(d.b) {
		d.failed("%d values in %d bytes", n, len(d.b))
		return nil
	}
	v := make([]float64, n)
	for i := 0; i < n && d.fail == nil; i += 2 {
		if len(d.b) == 0 {
			d.failed("a value is missing")
			break
		}
		lengths := d.b[0]
		d.b = d.b[1:]
		v[i] = d.value(lengths & 15)
		if i+1 < n {
			v[i+1] = d.value(lengths >> 4)
		} else if lengths>>4 != 0 {
			d.failed("half a byte too many")
		}
	}
	return v
}

func (d *decoder) value(n byte) float64 {
	switch {
	case n == absentHalf:
		return math.Float64frombits(absentBits)
	case n > 8 || int(n) > len(d.b):
		d.failed("a value of %d bytes", n)
		return 0
	}
	var u uint64
	for i, c := range d.b[:n] {
		u |= uint64(c) << (56 - 8*i)
	}
	d.b = d.b[n:]
	return math.Float64frombits(u)
}
