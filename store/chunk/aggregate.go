package chunk

import (
	"encoding/binary"
	"math"

	"github.com/stepscope/stepscope/store"
)

// Aggregate sums up the values of a series in one piece, apart by the kind of
// step of their rows: queries that want one kind only need no value.
type Aggregate struct {
	Piece               int         // index of the piece in its pack
	Kind                store.Flags // PromptStep, DecodeStep, both or neither
	N                   int64
	First, Last         int64 // times of the first and the last value, ns since 1970
	FirstStep, LastStep int64 // theirs, −1 without
	Min, Max, Sum       float64
	LastValue           float64
}

// Kinds are the flags by which aggregates are kept apart.
const Kinds = store.PromptStep | store.DecodeStep

// Add counts a value that is not absent and comes after those before it.
func (a *Aggregate) Add(time, step int64, v float64) {
	if a.N == 0 {
		a.First, a.FirstStep, a.Min, a.Max = time, step, v, v
	}
	a.N++
	a.Min, a.Max, a.Sum = min(a.Min, v), max(a.Max, v), a.Sum+v
	a.Last, a.LastStep, a.LastValue = time, step, v
}

// Merge counts what b did, which arrived later: of equal times b's is the last.
func (a *Aggregate) Merge(b *Aggregate) {
	if b.N == 0 {
		return
	}
	if a.N == 0 {
		*a = *b
		return
	}
	if b.First < a.First {
		a.First, a.FirstStep = b.First, b.FirstStep
	}
	if b.Last >= a.Last {
		a.Last, a.LastStep, a.LastValue = b.Last, b.LastStep, b.LastValue
	}
	a.N += b.N
	a.Min, a.Max, a.Sum = min(a.Min, b.Min), max(a.Max, b.Max), a.Sum+b.Sum
}

// Aggregates sums up one series in a piece; absent values don't count.
func Aggregates(dst []Aggregate, piece int, r *Rows, v []float64) []Aggregate {
	var by [Kinds + 1]Aggregate
	for i, x := range v {
		if x == x {
			by[r.Flags[i]&Kinds].Add(r.Times[i], r.Steps[i], x)
		}
	}
	for kind := range by {
		if by[kind].N > 0 {
			by[kind].Piece, by[kind].Kind = piece, store.Flags(kind)
			dst = append(dst, by[kind])
		}
	}
	return dst
}

// maxAggregates bounds what DecodeAggregates makes of a few bytes.
const maxAggregates = 1 << 14

// AppendAggregates appends a list of aggregates to dst, field by field:
// neighbours are alike.
func (e *Encoder) AppendAggregates(dst []byte, list []Aggregate) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	ints := make([]int64, len(list))
	for _, field := range []func(a *Aggregate) int64{
		func(a *Aggregate) int64 { return int64(a.Piece)<<2 | int64(a.Kind) },
		func(a *Aggregate) int64 { return a.N },
		func(a *Aggregate) int64 { return a.First },
		func(a *Aggregate) int64 { return a.Last - a.First },
		func(a *Aggregate) int64 { return a.FirstStep },
		func(a *Aggregate) int64 { return a.LastStep - a.FirstStep },
	} {
		for i := range list {
			ints[i] = field(&list[i])
		}
		dst = e.ints.ints(dst, ints)
	}
	values := make([]float64, len(list))
	for _, field := range []func(a *Aggregate) float64{
		func(a *Aggregate) float64 { return a.Min },
		func(a *Aggregate) float64 { return a.Max },
		func(a *Aggregate) float64 { return a.Sum },
		func(a *Aggregate) float64 { return a.LastValue },
	} {
		for i := range list {
			if values[i] = field(&list[i]); values[i] != values[i] {
				values[i] = notNumber // the sum of both infinities
			}
		}
		dst = e.AppendValues(dst, values)
	}
	return dst
}

// notNumber is a NaN that is not absent.
var notNumber = math.Float64frombits(absentBits ^ 2)

// DecodeAggregates reads what AppendAggregates wrote.
func DecodeAggregates(b []byte) ([]Aggregate, error) {
	var d Decoder
	return d.DecodeAggregates(nil, b)
}

// DecodeAggregates reads what AppendAggregates wrote, into dst's memory.
func (d *Decoder) DecodeAggregates(dst []Aggregate, b []byte) ([]Aggregate, error) {
	count, size := binary.Uvarint(b)
	if size <= 0 || count > maxAggregates {
		return nil, ErrDamaged
	}
	n := int(count)
	b = b[size:]
	if cap(dst) < n {
		dst = make([]Aggregate, n)
	}
	dst = dst[:n]
	if cap(d.ints) < 6*n {
		d.ints, d.values = make([]int64, 6*n), make([]float64, 4*n)
	}
	ints, values := d.ints[:6*n], d.values[:4*n]
	var err error
	for i := range 6 {
		if b, err = DecodeInts(ints[i*n:(i+1)*n], b); err != nil {
			return nil, err
		}
	}
	for i := range 4 {
		if b, err = d.DecodeValues(values[i*n:(i+1)*n], b); err != nil {
			return nil, err
		}
	}
	for i := range dst {
		id := ints[i]
		if id < 0 || id>>2 > MaxRows {
			return nil, ErrDamaged
		}
		dst[i] = Aggregate{Piece: int(id >> 2), Kind: store.Flags(id & int64(Kinds)), N: ints[n+i], First: ints[2*n+i], Last: ints[2*n+i] + ints[3*n+i],
			FirstStep: ints[4*n+i], LastStep: ints[4*n+i] + ints[5*n+i],
			Min: values[i], Max: values[n+i], Sum: values[2*n+i], LastValue: values[3*n+i]}
	}
	return dst, nil
}
