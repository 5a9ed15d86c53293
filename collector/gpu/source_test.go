package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// fake is Cards as a test wants them.
type fake struct {
	devices []Device
	read    func(index int) Reading
	closed  bool
}

func (f *fake) Devices() ([]Device, error) { return f.devices, nil }
func (f *fake) Read(i int) Reading         { return f.read(i) }
func (f *fake) Close()                     { f.closed = true }

// sink keeps batches.
type sink struct {
	mu   sync.Mutex
	list []*store.Batch
}

func (s *sink) batches() []*store.Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

func (s *sink) Put(_ context.Context, b *store.Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, b)
	return nil
}

func (s *sink) Position(string) string { return "" }

// table is a batch as "deployment/engine metric label" → value; absent values are left out.
func table(b *store.Batch) map[string]float64 {
	t := map[string]float64{}
	for _, r := range b.Rows {
		e := b.Engines[r.Engine]
		for i, col := range b.Layouts[r.Layout].Columns {
			if !math.IsNaN(r.Values[i]) {
				t[strings.TrimSpace(e.Deployment+"/"+e.Name+" "+col.Metric+" "+col.Label)] = r.Values[i]
			}
		}
	}
	return t
}

func sample1() Reading {
	r := unread()
	r.Util, r.MemUtil = 0.95, 0.4
	r.MemUsed, r.MemTotal = 64<<30, 141<<30
	r.Power, r.PowerLimit = 612.5, 700
	r.SMClock, r.Temp = 1980, 61
	r.PCIeTx, r.PCIeRx = 1.5e9, 0.25e9
	r.NVLinkTx, r.NVLinkRx = 100e9, 200e9
	r.Corrected, r.Uncorrect = 3, 0
	r.Throttle, r.Throttled = 1<<2|1<<9, true // software power cap, board limit
	r.XIDs = map[uint64]int64{79: 2}
	return r
}

// All values of a card under their keys and units, absent ones left out.
func TestValues(t *testing.T) {
	c := &card{Device: Device{UUID: "GPU-1"}}
	b := &store.Batch{Engines: []store.EngineInfo{{EngineKey: store.EngineKey{Deployment: "d", Name: "e"}}}}
	at := time.Unix(1000, 0)
	r := sample1()
	r.Processes = []Process{{os.Getpid(), 2 << 30}, {os.Getpid(), 1 << 30}, {1 << 30, 512 << 20}, {3, math.NaN()}}
	n := c.rows.add(b, 0, c, r, at)
	own, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	want := map[string]float64{
		"gpu_util GPU-1": 0.95, "gpu_mem_util GPU-1": 0.4,
		"gpu_mem_used GPU-1": 64, "gpu_mem_total GPU-1": 141, // GiB
		"gpu_power GPU-1": 612.5, "gpu_power_limit GPU-1": 700, "gpu_sm_clock GPU-1": 1980, "gpu_temp GPU-1": 61,
		"gpu_pcie_tx GPU-1": 1.5, "gpu_pcie_rx GPU-1": 0.25, // GB/s
		"gpu_ecc GPU-1 corrected": 3, "gpu_ecc GPU-1 uncorrected": 0, "gpu_xid GPU-1 79": 2,
		"gpu_throttle GPU-1 idle": 0, "gpu_throttle GPU-1 app_clocks": 0, "gpu_throttle GPU-1 sw_power_cap": 1,
		"gpu_throttle GPU-1 hw_slowdown": 0, "gpu_throttle GPU-1 sync_boost": 0, "gpu_throttle GPU-1 sw_thermal": 0,
		"gpu_throttle GPU-1 hw_thermal": 0, "gpu_throttle GPU-1 hw_power_brake": 0, "gpu_throttle GPU-1 board_limit": 1,
		"gpu_process_mem GPU-1 " + strings.TrimSpace(string(own)): 3, // 2 + 1 GiB of one name
		"gpu_process_mem GPU-1 pid 1073741824":                    0.5,
	}
	got := table(b)
	for k, v := range want {
		if got["d/e "+k] != v {
			t.Errorf("%s = %v, want %v", k, got["d/e "+k], v)
		}
	}
	if len(got) != len(want) || n != int64(len(want)) {
		t.Errorf("%d values and %d counted, want %d: %v", len(got), n, len(want), got)
	}
	// Four seconds later: rates of NVLink. The rare reason stays a column once it was there.
	r.NVLinkTx, r.NVLinkRx, r.Throttle = 120e9, 200e9, 0
	b = &store.Batch{Engines: b.Engines}
	c.rows.add(b, 0, c, r, at.Add(4*time.Second))
	got = table(b)
	if got["d/e gpu_nvlink_tx GPU-1"] != 5 || got["d/e gpu_nvlink_rx GPU-1"] != 0 { // (120 − 100) GB ÷ 4 s
		t.Errorf("NVLink %v and %v GB/s", got["d/e gpu_nvlink_tx GPU-1"], got["d/e gpu_nvlink_rx GPU-1"])
	}
	if v, ok := got["d/e gpu_throttle GPU-1 board_limit"]; !ok || v != 0 {
		t.Errorf("board limit %v, %v", v, ok)
	}
	// The driver was loaded anew: the count is smaller, there is no rate.
	r.NVLinkTx = 1e9
	b = &store.Batch{Engines: b.Engines}
	c.rows.add(b, 0, c, r, at.Add(8*time.Second))
	if v, ok := table(b)["d/e gpu_nvlink_tx GPU-1"]; ok {
		t.Errorf("NVLink %v GB/s after a reset", v)
	}
	if got := c.rows.missing(); !slices.Equal(got, []string{"gpu_mem_clock: this card or its driver does not tell it", "gpu_mem_temp: this card or its driver does not tell it"}) {
		t.Errorf("missing %q", got)
	}
}

// Processes that come and go don't make the layout grow for ever.
func TestLayoutIsBounded(t *testing.T) {
	c := &card{Device: Device{UUID: "GPU-1"}}
	for i := range 300 {
		r := sample1()
		for p := range 40 {
			r.Processes = append(r.Processes, Process{1<<30 + i*40 + p, 1 << 20})
		}
		b := &store.Batch{Engines: []store.EngineInfo{{}}}
		c.rows.add(b, 0, c, r, time.Unix(int64(i), 0))
		if n := len(b.Layouts[0].Columns); n > maxColumns {
			t.Fatalf("%d columns after %d readings", n, i)
		}
		// 40 processes of 1 MiB: 16 by name, the others together.
		if got := table(b)["/ gpu_process_mem GPU-1 other"]; got != 24.0/1024 {
			t.Fatalf("others have %v GiB", got)
		}
	}
}

func TestOwner(t *testing.T) {
	key := func(name string) store.EngineKey { return store.EngineKey{Deployment: "chat", Name: name} }
	engines := []Engine{
		{Key: key("rank1"), GPU: 1},
		{Key: key("rank0"), GPU: 0},
		{Key: key("byuuid"), GPU: -1, UUIDs: []string{"GPU-3"}},
		{Key: key("bypid"), GPU: -1, PIDs: []int{77}},
		{Key: key("zz"), GPU: 1},
	}
	s := New(Options{Deployment: "node", Host: "n7"})
	for _, c := range []struct {
		card      Device
		processes []Process
		want      string
	}{
		{Device{Index: 0, UUID: "GPU-0"}, nil, "chat/rank0"},
		{Device{Index: 1, UUID: "GPU-1"}, nil, "chat/rank1"}, // two claim it: the first by name
		{Device{Index: 0, UUID: "GPU-3"}, nil, "chat/byuuid"},
		{Device{Index: 1, UUID: "GPU-4"}, []Process{{5, 1}, {77, 1}}, "chat/bypid"},
		{Device{Index: 7, UUID: "GPU-7", Name: "NVIDIA H200"}, []Process{{5, 1}}, "node/n7/gpu7"},
	} {
		got := s.owner(&card{Device: c.card}, Reading{Processes: c.processes}, engines)
		if g := got.Deployment + "/" + got.Name; g != c.want {
			t.Errorf("%+v works for %s, want %s", c.card, g, c.want)
		}
		if nobody := strings.HasPrefix(c.want, "node/"); nobody != (got.Kind == "gpu") || nobody && (got.GPU != 7 || got.Host != "n7" || got.Model != "NVIDIA H200") {
			t.Errorf("%+v", got)
		}
	}
}

// A run: cards wait for their engines, one is lost, all ends with the context.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known atomic.Pointer[[]Engine]
		known.Store(new([]Engine))
		f := &fake{devices: []Device{{Index: 0, UUID: "GPU-0", Name: "H200"}, {Index: 1, UUID: "GPU-1", Name: "H200"}}}
		var lost atomic.Bool
		f.read = func(i int) Reading {
			time.Sleep(40 * time.Millisecond)
			if r := sample1(); i == 0 || !lost.Load() {
				return r
			}
			r := unread()
			r.Err = errors.New("card 1: gone")
			return r
		}
		s := New(Options{Deployment: "chat", Host: "n7", Engines: func() []Engine { return *known.Load() }})
		s.open = func(string) (Cards, error) { return f, nil }
		if got := s.Targets(); len(got) != 1 || got[0].Health != wire.Waiting {
			t.Errorf("targets before: %+v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		out := &sink{}
		done := make(chan error)
		go func() { done <- s.Run(ctx, out) }()
		time.Sleep(11 * time.Second) // readings at 0, 5 and 10 s
		synctest.Wait()
		if len(out.batches()) != 0 {
			t.Errorf("%d batches while nobody is known", len(out.batches()))
		}
		known.Store(&[]Engine{{Key: store.EngineKey{Deployment: "chat", Name: "rank0"}, GPU: 0}})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(out.batches()) != 1 || len(out.batches()[0].Engines) != 1 || out.batches()[0].Engines[0].Name != "rank0" {
			t.Fatalf("batches %+v", out.batches())
		}
		time.Sleep(20 * time.Second) // 36 s: patience is over
		synctest.Wait()
		last := out.batches()[len(out.batches())-1]
		if len(last.Engines) != 2 || last.Engines[1].Name != "n7/gpu1" {
			t.Errorf("engines %+v", last.Engines)
		}
		lost.Store(true)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if last = out.batches()[len(out.batches())-1]; len(last.Rows) != 1 {
			t.Errorf("%d rows", len(last.Rows))
		}
		got := s.Targets()
		if len(got) != 2 || got[0].Health != wire.Up || got[1].Health != wire.Down || !strings.Contains(got[1].Problem.What, "gone") ||
			got[0].Engines[0].Name != "rank0" || got[0].Lines != 9 { // at 0, 5, … 40 s
			t.Errorf("targets %+v", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !f.closed {
			t.Error("the library was not closed")
		}
	})
}

// Without a driver: one line in the log, however often it is tried; found later, it is read.
func TestNoDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := New(Options{Host: "n7", Deployment: "d", Log: slog.New(slog.NewTextHandler(&log, nil))})
		var there atomic.Bool
		var tries atomic.Int64
		s.open = func(string) (Cards, error) {
			tries.Add(1)
			if there.Load() {
				return &fake{devices: []Device{{UUID: "GPU-0"}}, read: func(int) Reading { return sample1() }}, nil
			}
			return nil, fmt.Errorf("%w: cannot open", ErrNone)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out := &sink{}
		go s.Run(ctx, out)
		time.Sleep(3*tryEvery + time.Second)
		synctest.Wait()
		if tries.Load() != 4 { // at 0, 10, 20 and 30 min
			t.Errorf("%d tries", tries.Load())
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%d lines in the log:\n%s", n, log.String())
		}
		if got := s.Targets(); len(got) != 1 || got[0].Health != wire.Down || !strings.Contains(got[0].Problem.What, "cannot open") {
			t.Errorf("targets %+v", got)
		}
		there.Store(true)
		time.Sleep(tryEvery)
		synctest.Wait()
		if len(out.batches()) == 0 || s.Targets()[0].Health != wire.Up {
			t.Errorf("%d batches, %+v", len(out.batches()), s.Targets())
		}
	})
}

// A driver that hangs neither keeps the collector from ending nor looks healthy.
func TestDriverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := &fake{devices: []Device{{UUID: "GPU-0"}}}
		f.read = func(int) Reading { <-release; return sample1() }
		s := New(Options{Host: "n7", Deployment: "d"})
		s.open = func(string) (Cards, error) { return f, nil }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx, &sink{}) }()
		time.Sleep(slow + time.Second)
		if got := s.Targets(); got[0].Health != wire.Down || !strings.Contains(got[0].Problem.What, "not answered") {
			t.Errorf("targets %+v", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		close(release)
	})
}

// Every key that is told has its definition in the table of metrics.
func TestKeysAreDefined(t *testing.T) {
	c := &card{Device: Device{UUID: "GPU-1"}}
	r := sample1()
	r.Processes = []Process{{1 << 30, 1}}
	for _, v := range cardValues(c, r, time.Unix(1, 0)) {
		if _, ok := ledger.Lookup(v.Metric); !ok {
			t.Errorf("%s is not in the table", v.Metric)
		}
	}
	for _, key := range keys {
		if _, ok := ledger.Lookup(key); !ok {
			t.Errorf("%s is not in the table", key)
		}
	}
}
