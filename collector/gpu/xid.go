//go:build cgo && linux

package gpu

import (
	"maps"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// xids counts the XID errors of cards: the driver tells of each only once, to those who wait.
type xids struct {
	lib  nvml.Interface
	set  nvml.EventSet
	free bool
	stop chan struct{}
	done sync.WaitGroup

	mu     sync.Mutex
	counts []map[uint64]int64 // by index; nil: the card tells none
}

const (
	xidWait = 500 // ms
	maxXIDs = 64  // different ones of a card: there are about 150 numbers, and few of them ever
)

// watchXIDs begins to count, or returns nil when the library or the cards can't.
func watchXIDs(lib nvml.Interface, has func(string) bool, devices []nvml.Device) *xids {
	if !has("nvmlEventSetCreate") || !has("nvmlDeviceRegisterEvents") || !either(has, "nvmlEventSetWait_v2", "nvmlEventSetWait") {
		return nil
	}
	set, ret := lib.EventSetCreate()
	if ret != nvml.SUCCESS {
		return nil
	}
	x := &xids{lib: lib, set: set, free: has("nvmlEventSetFree"), stop: make(chan struct{}), counts: make([]map[uint64]int64, len(devices))}
	uuids := map[string]int{}
	any := false
	for i, d := range devices {
		if d == nil || d.RegisterEvents(nvml.EventTypeXidCriticalError, set) != nvml.SUCCESS {
			continue
		}
		x.counts[i], any = map[uint64]int64{}, true
		if has("nvmlDeviceGetUUID") {
			if uuid, ret := d.GetUUID(); ret == nvml.SUCCESS {
				uuids[uuid] = i
			}
		}
	}
	if !any || len(uuids) == 0 {
		x.release()
		return nil
	}
	x.done.Go(func() { x.run(uuids) })
	return x
}

func (x *xids) run(uuids map[string]int) {
	for {
		select {
		case <-x.stop:
			return
		default:
		}
		data, ret := x.set.Wait(xidWait)
		switch {
		case ret == nvml.ERROR_TIMEOUT:
			continue
		case ret != nvml.SUCCESS:
			return // the driver ends, or the cards have gone
		}
		if data.Device == nil {
			continue
		}
		uuid, ret := data.Device.GetUUID()
		i, known := uuids[uuid]
		if ret != nvml.SUCCESS || !known {
			continue
		}
		x.mu.Lock()
		if m := x.counts[i]; len(m) < maxXIDs || m[data.EventData] > 0 {
			m[data.EventData]++
		}
		x.mu.Unlock()
	}
}

// of is a copy of a card's counts.
func (x *xids) of(index int) map[uint64]int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.counts[index])
}

func (x *xids) close() {
	close(x.stop)
	x.done.Wait()
	x.release()
}

func (x *xids) release() {
	if x.free {
		x.set.Free()
	}
}
