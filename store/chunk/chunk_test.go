package chunk

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/store"
)

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

func TestInts(t *testing.T) {
	var long, noisy []int64
	r := rand.New(rand.NewPCG(1, 2))
	for i := range int64(200) {
		long = append(long, 1_700_000_000_000_000_000+i*10_000_000_000)
		noisy = append(noisy, int64(r.Uint64()))
	}
	f := func(v []int64, most int) {
		t.Helper()
		b := AppendInts([]byte{7}, v)
		got := make([]int64, len(v))
		rest, err := DecodeInts(got, append(b[1:len(b):len(b)], 1, 2, 3))
		if err != nil || !slices.Equal(got, v) || len(rest) != 3 {
			t.Errorf("%d numbers came back as %v, %d bytes left, %v", len(v), got, len(rest), err)
		}
		if b[0] != 7 || len(b)-1 > most {
			t.Errorf("%d numbers take %d bytes, want at most %d: %x", len(v), len(b)-1, most, b[:min(len(b), 40)])
		}
	}
	f(nil, 2)
	f([]int64{0}, 4)
	f([]int64{-1}, 4)
	f([]int64{math.MinInt64, math.MaxInt64, math.MinInt64, 0, -1}, 60)
	f([]int64{math.MinInt64, math.MinInt64}, 14)
	f([]int64{6, 6, 6, 6}, 4)                          // order, scale, least, width
	f([]int64{100, 200, 300, 400}, 8)                  // two starts, then zeros
	f([]int64{500, 700, 300, 900}, 6)                  // multiples of 100: 5, 7, 3, 9 in 3 bits
	f([]int64{5, 4, 3, 2, 1, 0, -1}, 8)                // negative differences
	f(long, 1+10+6+1+4*2)                              // a time, a difference, four empty blocks
	f(noisy, 22+4*11+200*8)                            // not to be packed: whole words
	f(slices.Repeat([]int64{1, 0}, 4096), 3+128*(2+8)) // one bit each
	for _, w := range []int{1, 7, 8, 31, 55, 56, 57, 58, 63} {
		var v []int64
		for range 131 {
			v = append(v, int64(r.Uint64()>>(64-w)))
		}
		f(v, 3+3*11+131*8)
	}
}

func TestValues(t *testing.T) {
	nan := math.NaN()
	var e Encoder
	var d Decoder
	f := func(most int, v ...float64) {
		t.Helper()
		b := e.AppendValues(nil, v)
		got := make([]float64, len(v))
		rest, err := d.DecodeValues(got, append(b[:len(b):len(b)], 9))
		if err != nil || !sameBits(got, v) || len(rest) != 1 {
			t.Errorf("%v came back as %v, %d bytes left, %v", v, got, len(rest), err)
		}
		if len(b) > most {
			t.Errorf("%v takes %d bytes, want at most %d", v, len(b), most)
		}
	}
	f(1)
	f(1, nan, nan, nan)
	f(9, 1.5, 1.5, 1.5)
	f(9, math.Copysign(0, -1))
	f(9, math.Inf(-1), math.Inf(-1))
	f(8+1+3, nan, 7, 7, nan)                            // runs 1, 2, 1
	f(30, 0, math.Copysign(0, -1), 1)                   // −0 is no integer
	f(51, math.Inf(1), math.Inf(-1), 0, nan, 1e308)     // as bits
	f(30, math.Float64frombits(0x7ff8000000000bad), 1)  // another NaN keeps its bits
	f(11, 62.35, 62.36, 62.34, 62.35)                   // 6234 and 2 bits
	f(40, 0.1+0.2, 0.3, 0.30000000000000004)            // neighbours of a decimal stay themselves
	f(60, math.MaxFloat64, math.SmallestNonzeroFloat64) // and the extremes
	f(40, 1<<53, 1<<53+2, -1<<60)
	f(40, 123456789.123456789, 0.000000001, 1e15)
	alternate := make([]float64, 800)
	for i := range alternate {
		if alternate[i] = nan; i%2 == 1 {
			alternate[i] = 3
		}
	}
	f(1+1+100+8, alternate...) // a bitmap beats 800 runs
	// Random mixtures of what comes in practice and what never should.
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 300 {
		v := make([]float64, n)
		kind := r.IntN(5)
		for i := range v {
			switch k := r.IntN(20); {
			case k == 0:
				v[i] = nan
			case k == 1 && kind == 4:
				v[i] = math.Float64frombits(r.Uint64())
			case kind == 0:
				v[i] = float64(r.IntN(1000)) / 100
			case kind == 1:
				v[i] = r.NormFloat64()
			case kind == 2:
				v[i] = float64(r.IntN(3)) - 1
			case kind == 3:
				v[i] = float64(r.Int64N(1<<50)) / 1e6
			}
		}
		f(n*9+60, v...)
	}
}

func TestRows(t *testing.T) {
	f := func(r Rows) {
		t.Helper()
		got, err := DecodeRows(AppendRows(nil, &r))
		if err != nil || !slices.Equal(got.Times, r.Times) || !slices.Equal(got.Steps, r.Steps) || !slices.Equal(got.Flags, r.Flags) {
			t.Errorf("%+v came back as %+v, %v", r, got, err)
		}
	}
	f(Rows{})
	// A clock that jumps back, a gap, equal times, a restart, rows without a step.
	f(Rows{[]int64{100, 110, 50, 60, 60, 9_000_000, 0, store.MaxTime}, []int64{100, 200, 300, 0, 100, -1, -1, 1 << 60},
		[]store.Flags{store.DecodeStep, store.DecodeStep, store.ClockJump | store.PromptStep, 0, 0, 65535, store.Filling, 0}})
	long := Rows{make([]int64, MaxRows), make([]int64, MaxRows), make([]store.Flags, MaxRows)}
	f(long)
	if _, err := DecodeRows(binary.AppendUvarint(nil, MaxRows+1)); !errors.Is(err, ErrDamaged) {
		t.Errorf("too many rows: %v", err)
	}
}

func TestPack(t *testing.T) {
	want := [][]byte{[]byte("one"), {}, []byte("three"), make([]byte, 300)}
	got, err := Unpack(AppendPack(nil, want))
	if err != nil || !slices.EqualFunc(got, want, func(a, b []byte) bool { return string(a) == string(b) }) {
		t.Errorf("unpacked %q, %v", got, err)
	}
	for _, bad := range [][]byte{nil, {5}, {1}, {1, 5, 'x'}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}} {
		if _, err := Unpack(bad); !errors.Is(err, ErrDamaged) {
			t.Errorf("%x: %v", bad, err)
		}
	}
}

func TestWide(t *testing.T) {
	f := func(w Wide) {
		t.Helper()
		got := Wide{IDs: []int64{9, 9, 9}, Pieces: make([]WidePiece, 5)} // what is there already doesn't matter
		if err := got.Decode(AppendWide(nil, &w)); err != nil || !slices.Equal(got.IDs, w.IDs) || !slices.EqualFunc(got.Pieces, w.Pieces, samePiece) {
			t.Errorf("%+v came back as %+v, %v", w, got, err)
		}
		for i, id := range w.IDs {
			if got.Find(id) != i || got.Find(id+1) != -1 {
				t.Errorf("series %d of %v is found at %d, the next id at %d", id, w.IDs, got.Find(id), got.Find(id+1))
			}
		}
	}
	f(Wide{})
	f(Wide{IDs: []int64{7}})
	f(Wide{IDs: []int64{3, 5, 1 << 40}, Pieces: []WidePiece{
		{[]byte("rows"), [][]byte{[]byte("a"), {}, []byte("c")}},
		{[]byte("more rows"), [][]byte{{}, []byte("b"), make([]byte, 300)}},
	}})
	whole := AppendWide(nil, &Wide{IDs: []int64{3, 5}, Pieces: []WidePiece{{[]byte("rows"), [][]byte{[]byte("a"), []byte("b")}}}})
	falling := AppendWide(nil, &Wide{IDs: []int64{5, 3}, Pieces: []WidePiece{{[]byte("rows"), [][]byte{nil, nil}}}})
	for _, bad := range [][]byte{nil, {wideVersion}, append([]byte{wideVersion + 1}, whole[1:]...), whole[:len(whole)-1], append([]byte{wideVersion, 3}, whole[2:]...), falling} {
		if err := new(Wide).Decode(bad); !errors.Is(err, ErrDamaged) {
			t.Errorf("%x: %v", bad, err)
		}
	}
}

func samePiece(a, b WidePiece) bool {
	return string(a.Rows) == string(b.Rows) && slices.EqualFunc(a.Values, b.Values, func(a, b []byte) bool { return string(a) == string(b) })
}

func TestAggregates(t *testing.T) {
	nan := math.NaN()
	rows := Rows{Times: []int64{10, 20, 20, 30, 40}, Steps: []int64{1, 2, -1, 4, 5},
		Flags: []store.Flags{store.DecodeStep, store.PromptStep | store.Filling, store.DecodeStep, store.DecodeStep, 0}}
	got := Aggregates(nil, 3, &rows, []float64{5, nan, 2, 9, nan})
	want := []Aggregate{{Piece: 3, Kind: store.DecodeStep, N: 3, First: 10, Last: 30, FirstStep: 1, LastStep: 4, Min: 2, Max: 9, Sum: 16, LastValue: 9}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got = Aggregates(got, 4, &rows, []float64{nan, math.Inf(1), nan, nan, math.Copysign(0, -1)})
	want = append(want, Aggregate{Piece: 4, N: 1, First: 40, Last: 40, FirstStep: 5, LastStep: 5, Min: math.Copysign(0, -1), Max: math.Copysign(0, -1), Sum: 0, LastValue: math.Copysign(0, -1)},
		Aggregate{Piece: 4, Kind: store.PromptStep, N: 1, First: 20, Last: 20, FirstStep: 2, LastStep: 2, Min: math.Inf(1), Max: math.Inf(1), Sum: math.Inf(1), LastValue: math.Inf(1)})
	var e Encoder
	back, err := DecodeAggregates(e.AppendAggregates(nil, got))
	if err != nil || !slices.Equal(got, want) || !slices.Equal(back, got) || !math.Signbit(back[1].Min) {
		t.Errorf("got %+v, back %+v, %v; want %+v", got, back, err, want)
	}
	// Both infinities have no sum; it must not be taken for an absent one.
	bad := []Aggregate{{N: 2, Sum: nan, Min: math.Inf(-1), Max: math.Inf(1)}}
	if back, err := DecodeAggregates(e.AppendAggregates(nil, bad)); err != nil || back[0].N != 2 || !math.IsNaN(back[0].Sum) {
		t.Errorf("no sum: %+v, %v", back, err)
	}

	// Merging gives what adding all would, and of equal times the later one's last.
	var a, b Aggregate
	a.Add(10, 1, 5)
	a.Add(30, 3, 7)
	b.Add(5, 0, 1)
	b.Add(30, 9, 2)
	a.Merge(&b)
	a.Merge(&Aggregate{})
	if want := (Aggregate{N: 4, First: 5, Last: 30, FirstStep: 0, LastStep: 9, Min: 1, Max: 7, Sum: 15, LastValue: 2}); a != want {
		t.Errorf("merged %+v, want %+v", a, want)
	}
}

// FuzzDecode: bytes from anywhere are read or refused, never worse.
func FuzzDecode(f *testing.F) {
	var e Encoder
	r := Rows{[]int64{1, 2, 50, 40}, []int64{100, 200, 0, -1}, []store.Flags{1, 1, 2, 8}}
	f.Add(AppendRows(nil, &r), uint16(4))
	f.Add(e.AppendValues(nil, []float64{1.5, math.NaN(), math.Inf(1), math.Copysign(0, -1)}), uint16(4))
	f.Add(e.AppendValues(nil, []float64{62.35, 62.36, math.NaN(), 62.1}), uint16(4))
	f.Add(AppendInts(nil, []int64{math.MinInt64, math.MaxInt64, 5}), uint16(3))
	f.Add(AppendPack(nil, [][]byte{{1, 2}, {}}), uint16(0))
	f.Add(AppendWide(nil, &Wide{IDs: []int64{3, 5}, Pieces: []WidePiece{{[]byte{1}, [][]byte{{2}, {}}}}}), uint16(0))
	f.Add([]byte{2, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}, uint16(65535))
	f.Fuzz(func(t *testing.T, b []byte, n uint16) {
		if r, err := DecodeRows(b); err == nil {
			again, err := DecodeRows(AppendRows(nil, r))
			if err != nil || !slices.Equal(again.Times, r.Times) || !slices.Equal(again.Steps, r.Steps) || !slices.Equal(again.Flags, r.Flags) {
				t.Errorf("rows %+v came back as %+v, %v", r, again, err)
			}
		}
		var d Decoder
		v := make([]float64, n)
		if _, err := d.DecodeValues(v, b); err == nil {
			var e Encoder
			again := make([]float64, n)
			if _, err := d.DecodeValues(again, e.AppendValues(nil, v)); err != nil || !sameBits(v, again) {
				t.Errorf("values %v came back as %v, %v", v, again, err)
			}
		}
		ints := make([]int64, n)
		if _, err := DecodeInts(ints, b); err == nil {
			again := make([]int64, n)
			if _, err := DecodeInts(again, AppendInts(nil, ints)); err != nil || !slices.Equal(ints, again) {
				t.Errorf("integers %v came back as %v, %v", ints, again, err)
			}
		}
		if _, err := DecodeAggregates(b); err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
		if _, err := Unpack(b); err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
		var w, same Wide
		if err := w.Decode(b); err == nil {
			if err := same.Decode(AppendWide(nil, &w)); err != nil || !slices.Equal(w.IDs, same.IDs) || !slices.EqualFunc(w.Pieces, same.Pieces, samePiece) {
				t.Errorf("wide block %+v came back as %+v, %v", w, same, err)
			}
		} else if !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
	})
}

// FuzzValues: whatever the numbers, their bits come back.
func FuzzValues(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\xf8\x7f\x01\x00\x00\x00\x00\x00\xf8\x7f"))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x00\x00\x00\x00\xf0\x7f\xcd\xcc\xcc\xcc\xcc\x2cO@"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var v []float64
		for ; len(b) >= 8; b = b[8:] {
			v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		var e Encoder
		var d Decoder
		got := make([]float64, len(v))
		if _, err := d.DecodeValues(got, e.AppendValues(nil, v)); err != nil || !sameBits(got, v) {
			t.Errorf("%x came back as %x, %v", v, got, err)
		}
	})
}
