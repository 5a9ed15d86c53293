package wire

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/store"
)

// same compares batches bit by bit: NaN equals the same NaN, −0 differs from 0.
func same(a, b *store.Batch) bool {
	if len(a.Rows) != len(b.Rows) {
		return false
	}
	for i := range a.Rows {
		x, y := a.Rows[i], b.Rows[i]
		if len(x.Values) != len(y.Values) {
			return false
		}
		for j := range x.Values {
			if math.Float64bits(x.Values[j]) != math.Float64bits(y.Values[j]) {
				return false
			}
		}
		x.Values, y.Values = nil, nil
		if !reflect.DeepEqual(x, y) {
			return false
		}
	}
	x, y := *a, *b
	x.Rows, y.Rows = nil, nil
	return reflect.DeepEqual(x, y)
}

// full is a batch with everything in it.
func full() *store.Batch {
	key := store.EngineKey{Deployment: "prod", Name: "rank0"}
	return &store.Batch{
		Seq: 7,
		Engines: []store.EngineInfo{
			{EngineKey: key, Kind: "deepinfer", Host: "node1", Rank: 0, GPU: -1, Role: "decode", Model: "m", Parallel: "tp8", Version: "1.2"},
			{EngineKey: store.EngineKey{Deployment: "prod", Name: "rank1"}, Rank: 1, GPU: 1},
		},
		Layouts: []store.Layout{
			{Section: "stats", Columns: []store.Column{{Metric: "running"}, {Metric: "nextn_accept_rate", Label: "1"}, {Metric: "MFU"}}},
			{Section: "gpu", Columns: []store.Column{{Metric: "gpu_power", Label: "GPU-1"}}},
		},
		Rows: []store.Row{
			{Engine: 0, Layout: 0, Time: 1_700_000_000_000_000_000, Step: 100, Flags: store.DecodeStep, Values: []float64{32, math.NaN(), 0.415}},
			{Engine: 1, Layout: 0, Time: 1_699_999_999_000_000_000, Step: 99, Flags: store.PromptStep | store.ClockJump, Values: []float64{0, math.Copysign(0, -1), math.Inf(-1)}},
			{Engine: 1, Layout: 1, Time: math.MinInt64, Step: -1, Values: []float64{math.Float64frombits(0x7FF8_0000_0000_0003)}},
			{Engine: 0, Layout: 1, Time: math.MaxInt64, Step: math.MaxInt64, Flags: math.MaxUint16, Values: []float64{math.SmallestNonzeroFloat64}},
		},
		Events:    []store.Event{{Engine: 1, Kind: store.Gap, From: 5, To: math.MinInt64, FromStep: 3, ToStep: 9, Count: 2, Detail: "lost"}},
		Positions: []store.Position{{Source: "log:/a", Value: "8:1:77"}, {Source: "log:/gone"}},
	}
}

func TestBatchesComeBackBitByBit(t *testing.T) {
	f := func(name string, b *store.Batch) {
		t.Helper()
		data, err := AppendBatch([]byte("before"), b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if string(data[:6]) != "before" {
			t.Fatalf("%s: what was there is gone", name)
		}
		got, err := DecodeBatch(data[6:])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !same(b, got) {
			t.Errorf("%s: got %+v, want %+v", name, got, b)
		}
	}
	f("full", full())
	f("empty", &store.Batch{})
	f("positions only", &store.Batch{Seq: math.MaxUint64, Positions: []store.Position{{Source: "s", Value: "v"}}})
}

// Whole numbers and absent values are what most columns hold. 32 is 0x4040 and
// six zero bytes: two bytes. Absent and 0 take none. One byte holds two lengths.
func TestCommonValuesAreSmall(t *testing.T) {
	f := func(bytes int, values ...float64) {
		t.Helper()
		if got := len(appendValues(nil, values)); got != bytes {
			t.Errorf("%v takes %d bytes, want %d", values, got, bytes)
		}
	}
	f(0)
	f(1, math.NaN(), math.NaN())
	f(1, 0, 0)
	f(3, 32)             // 1 + 2
	f(3, 32, math.NaN()) // 1 + 2 + 0
	f(17, 0.1, 1.0/3)    // 1 + 8 + 8: no zero bytes
	f(2, math.Copysign(0, -1))
}

func TestImpossibleBatchesAreRefusedBeforeTheyAreSent(t *testing.T) {
	f := func(says string, change func(*store.Batch)) {
		t.Helper()
		b := full()
		change(b)
		out, err := AppendBatch([]byte("x"), b)
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), says) || string(out) != "x" {
			t.Errorf("%q, %v; want ErrInvalid with %q and what was there", out, err, says)
		}
	}
	f("row 0 is of engine 2 of 2", func(b *store.Batch) { b.Rows[0].Engine = 2 })
	f("row 1 is of engine -1", func(b *store.Batch) { b.Rows[1].Engine = -1 })
	f("row 0 has layout 2 of 2", func(b *store.Batch) { b.Rows[0].Layout = 2 })
	f("row 0 has 2 values for 3 columns", func(b *store.Batch) { b.Rows[0].Values = make([]float64, 2) })
	f("event 0 is of engine 2", func(b *store.Batch) { b.Events[0].Engine = 2 })
	f("positions", func(b *store.Batch) { b.Positions = make([]store.Position, maxPositions+1) })
	f("bytes", func(b *store.Batch) { b.Events[0].Detail = strings.Repeat("x", MaxBatchBytes) })
	f("values", func(b *store.Batch) {
		b.Layouts = []store.Layout{{Columns: make([]store.Column, 100)}}
		values := make([]float64, 100)
		b.Rows = make([]store.Row, MaxValues/100+1)
		for i := range b.Rows {
			b.Rows[i].Values = values
		}
	})
}

// Every cut of a good batch, and every claim of more than there is, is refused
// with its place, and makes nothing large.
func TestDamagedBatchesAreRefused(t *testing.T) {
	good, err := AppendBatch(nil, full())
	if err != nil {
		t.Fatal(err)
	}
	for n := range good {
		if _, err := DecodeBatch(good[:n]); !errors.Is(err, store.ErrInvalid) {
			t.Fatalf("cut at %d of %d: %v", n, len(good), err)
		}
	}
	uints := func(v ...uint64) (b []byte) {
		for _, x := range v {
			b = binary.AppendUvarint(b, x)
		}
		return b
	}
	f := func(says string, data []byte) {
		t.Helper()
		var err error
		// What a claim of 2^62 elements would take can't be had at all.
		if n := testing.AllocsPerRun(1, func() { _, err = DecodeBatch(data) }); n > 100 {
			t.Errorf("%q: %v allocations", says, n)
		}
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
	f("version 2, want 1", uints(2))
	f("1 bytes too many", append(append([]byte{}, good...), 0))
	f("4611686018427387904 elements", uints(1, 0, 1<<62))
	f("65537 elements", append(uints(1, 0, maxEngines+1), make([]byte, 12*maxEngines)...))
	f("a text of 12 bytes", append(uints(1, 0, 1, 12), make([]byte, 9)...))
	f("index 1 of 0", uints(1, 0, 0, 0, 1, 1, 0, 0, 0, 0))
	f("16777217 bytes", make([]byte, MaxBatchBytes+1))
	// A layout of 40 columns, and rows that claim as many values with 5 bytes each.
	rows := uints(1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 40)
	rows = append(rows, make([]byte, 80)...)
	f("40 values in 3 bytes", append(rows, 1, 0, 0, 0, 0, 0, 0, 0, 0))
}

func FuzzDecodeBatch(f *testing.F) {
	for _, b := range []*store.Batch{full(), {}, {Seq: 1, Positions: []store.Position{{Source: "a", Value: "b"}}}} {
		data, err := AppendBatch(nil, b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte{1, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := DecodeBatch(data)
		if err != nil {
			if !errors.Is(err, store.ErrInvalid) {
				t.Fatalf("%v is no ErrInvalid", err)
			}
			return
		}
		again, err := AppendBatch(nil, b)
		if err != nil {
			t.Fatalf("decoded, but not to be encoded: %v", err)
		}
		back, err := DecodeBatch(again)
		if err != nil || !same(b, back) {
			t.Fatalf("the second round differs (%v)", err)
		}
	})
}
