//go:build cgo && linux

package gpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// defaultLibrary is what is loaded unless Open is told otherwise.
const defaultLibrary = "libnvidia-ml.so.1"

// Open loads the library, the usual one if the name is empty, and says what is in it. Only one library can be used in a
// process' life: the linker keeps to the functions it has found.
func Open(library string) (Cards, error) {
	if library == "" {
		library = defaultLibrary
	}
	// To look symbols up, go-nvml wants its Init called, which would be the first to be missing.
	probe := dl.New(library, dl.RTLD_LAZY|dl.RTLD_LOCAL)
	if err := probe.Open(); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNone, err)
	}
	has := func(symbol string) bool { return probe.Lookup(symbol) == nil }
	if !either(has, "nvmlInit_v2", "nvmlInit") {
		return nil, fmt.Errorf("%w: %s has no nvmlInit", ErrNone, library)
	}
	return open(nvml.New(nvml.WithLibraryPath(library)), has)
}

func either(has func(string) bool, symbols ...string) bool {
	for _, s := range symbols {
		if has(s) {
			return true
		}
	}
	return false
}

// cards is the Cards of a loaded library.
type cards struct {
	lib     nvml.Interface
	has     func(symbol string) bool
	devices []nvml.Device
	xids    *xids
	can     capabilities
}

// capabilities are the functions that the library has.
type capabilities struct {
	util, memory, memory2, power, limit, clock, temp, reasons, oldReasons, ecc, pcie, fields, processes bool
}

// open begins with a library whose symbols has knows.
func open(lib nvml.Interface, has func(string) bool) (*cards, error) {
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return nil, fmt.Errorf("%w: %s", ErrNone, name(ret))
	}
	c := &cards{lib: lib, has: has}
	c.can = capabilities{
		util:       has("nvmlDeviceGetUtilizationRates"),
		memory:     has("nvmlDeviceGetMemoryInfo"),
		memory2:    has("nvmlDeviceGetMemoryInfo_v2"),
		power:      has("nvmlDeviceGetPowerUsage"),
		limit:      has("nvmlDeviceGetEnforcedPowerLimit"),
		clock:      has("nvmlDeviceGetClockInfo"),
		temp:       has("nvmlDeviceGetTemperature"),
		reasons:    has("nvmlDeviceGetCurrentClocksEventReasons"),
		oldReasons: has("nvmlDeviceGetCurrentClocksThrottleReasons"),
		ecc:        has("nvmlDeviceGetTotalEccErrors"),
		pcie:       has("nvmlDeviceGetPcieThroughput"),
		fields:     has("nvmlDeviceGetFieldValues"),
		processes: either(has, "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetComputeRunningProcesses_v2",
			"nvmlDeviceGetComputeRunningProcesses_v3"),
	}
	if !either(has, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount") || !either(has, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex") {
		c.Close()
		return nil, fmt.Errorf("%w: the library can't list cards", ErrNone)
	}
	n, ret := lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		c.Close()
		return nil, fmt.Errorf("%w: counting cards: %s", ErrNone, name(ret))
	}
	if n <= 0 {
		c.Close()
		return nil, fmt.Errorf("%w: the driver is there and has no card", ErrNone)
	}
	for i := range n {
		d, ret := lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			d = nil // a card that has fallen off the bus keeps its index
		}
		c.devices = append(c.devices, d)
	}
	c.xids = watchXIDs(lib, has, c.devices)
	return c, nil
}

// Close ends the library's use. The library stays loaded.
func (c *cards) Close() {
	if c.xids != nil {
		c.xids.close()
	}
	if c.has("nvmlShutdown") {
		c.lib.Shutdown()
	}
}

// Devices lists the cards that answer.
func (c *cards) Devices() ([]Device, error) {
	var list []Device
	for i, d := range c.devices {
		if d == nil {
			continue
		}
		dev := Device{Index: i}
		if c.has("nvmlDeviceGetUUID") {
			if uuid, ret := d.GetUUID(); ret == nvml.SUCCESS {
				dev.UUID = plain(uuid)
			}
		}
		if c.has("nvmlDeviceGetName") {
			if name, ret := d.GetName(); ret == nvml.SUCCESS {
				dev.Name = plain(name)
			}
		}
		if either(c.has, "nvmlDeviceGetPciInfo", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo_v3") {
			if pci, ret := d.GetPciInfo(); ret == nvml.SUCCESS {
				dev.Bus = busID(pci)
			}
		}
		if dev.UUID == "" {
			dev.UUID = fmt.Sprintf("gpu%d", i) // series need something to be told apart by
		}
		list = append(list, dev)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: none of %d cards answers", ErrNone, len(c.devices))
	}
	return list, nil
}

// Read reads one card.
func (c *cards) Read(index int) Reading {
	r := unread()
	if index < 0 || index >= len(c.devices) || c.devices[index] == nil {
		r.Err = fmt.Errorf("%w: card %d", ErrNone, index)
		return r
	}
	d := c.devices[index]
	var lost nvml.Return
	ok := func(ret nvml.Return) bool {
		switch ret {
		case nvml.SUCCESS:
			return true
		case nvml.ERROR_GPU_IS_LOST, nvml.ERROR_RESET_REQUIRED, nvml.ERROR_UNINITIALIZED:
			lost = ret
		}
		return false
	}
	c.load(d, &r, ok)
	c.hardware(d, &r, ok)
	c.traffic(d, &r, ok)
	if c.xids != nil {
		r.XIDs = c.xids.of(index)
	}
	if lost != nvml.SUCCESS {
		r.Err = fmt.Errorf("card %d: %s", index, name(lost))
	}
	return r
}

func (c *cards) load(d nvml.Device, r *Reading, ok func(nvml.Return) bool) {
	if c.can.util {
		if u, ret := d.GetUtilizationRates(); ok(ret) {
			r.Util, r.MemUtil = float64(u.Gpu)/100, float64(u.Memory)/100
		}
	}
	// The second version counts what the driver reserves apart; a card that has none has the first.
	read := false
	if c.can.memory2 {
		if m, ret := d.GetMemoryInfo_v2(); ok(ret) {
			r.MemUsed, r.MemTotal, read = float64(m.Used), float64(m.Total), true
		}
	}
	if c.can.memory && !read {
		if m, ret := d.GetMemoryInfo(); ok(ret) {
			r.MemUsed, r.MemTotal = float64(m.Used), float64(m.Total)
		}
	}
	if c.can.processes {
		if list, ret := d.GetComputeRunningProcesses(); ok(ret) {
			for _, p := range list {
				bytes := float64(p.UsedGpuMemory)
				if p.UsedGpuMemory == math.MaxUint64 { // not available
					bytes = math.NaN()
				}
				r.Processes = append(r.Processes, Process{PID: int(p.Pid), Bytes: bytes})
			}
		}
	}
}

func (c *cards) hardware(d nvml.Device, r *Reading, ok func(nvml.Return) bool) {
	if c.can.power {
		if mw, ret := d.GetPowerUsage(); ok(ret) {
			r.Power = float64(mw) / 1000
		}
	}
	if c.can.limit {
		if mw, ret := d.GetEnforcedPowerLimit(); ok(ret) {
			r.PowerLimit = float64(mw) / 1000
		}
	}
	if c.can.clock {
		if mhz, ret := d.GetClockInfo(nvml.CLOCK_SM); ok(ret) {
			r.SMClock = float64(mhz)
		}
		if mhz, ret := d.GetClockInfo(nvml.CLOCK_MEM); ok(ret) {
			r.MemClock = float64(mhz)
		}
	}
	if c.can.temp {
		if t, ret := d.GetTemperature(nvml.TEMPERATURE_GPU); ok(ret) {
			r.Temp = float64(t)
		}
	}
	switch {
	case c.can.reasons:
		if bits, ret := d.GetCurrentClocksEventReasons(); ok(ret) {
			r.Throttle, r.Throttled = bits, true
		}
	case c.can.oldReasons:
		if bits, ret := d.GetCurrentClocksThrottleReasons(); ok(ret) {
			r.Throttle, r.Throttled = bits, true
		}
	}
	if c.can.ecc {
		if n, ret := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC); ok(ret) {
			r.Corrected = float64(n)
		}
		if n, ret := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); ok(ret) {
			r.Uncorrect = float64(n)
		}
	}
}

func (c *cards) traffic(d nvml.Device, r *Reading, ok func(nvml.Return) bool) {
	if c.can.pcie {
		if kb, ret := d.GetPcieThroughput(nvml.PCIE_UTIL_TX_BYTES); ok(ret) {
			r.PCIeTx = float64(kb) * 1000
		}
		if kb, ret := d.GetPcieThroughput(nvml.PCIE_UTIL_RX_BYTES); ok(ret) {
			r.PCIeRx = float64(kb) * 1000
		}
	}
	if !c.can.fields {
		return
	}
	const all = math.MaxUint32 // links
	values := []nvml.FieldValue{
		{FieldId: nvml.FI_DEV_MEMORY_TEMP},
		{FieldId: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, ScopeId: all},
		{FieldId: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, ScopeId: all},
	}
	if ret := d.GetFieldValues(values); !ok(ret) {
		return
	}
	// nvml.h, field ids 138 and 139: "NVLink TX Data throughput in KiB" and RX; the scope is a link, or all of them. The NVML
	// reference has the same at "Field Value Enums" (docs.nvidia.com/deploy/nvml-api/group__nvmlFieldValueEnums.html).
	const kib = 1024
	r.MemTemp = number(values[0])
	r.NVLinkTx = number(values[1]) * kib
	r.NVLinkRx = number(values[2]) * kib
}

// number is a field's value, NaN if the card has none. The bytes are the host's.
func number(f nvml.FieldValue) float64 {
	if nvml.Return(f.NvmlReturn) != nvml.SUCCESS {
		return math.NaN()
	}
	bits := binary.NativeEndian.Uint64(f.Value[:])
	switch nvml.ValueType(f.ValueType) {
	case nvml.VALUE_TYPE_DOUBLE:
		return math.Float64frombits(bits)
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return float64(binary.NativeEndian.Uint32(f.Value[:4]))
	case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
		return float64(bits)
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return float64(int64(bits))
	case nvml.VALUE_TYPE_SIGNED_INT:
		return float64(int32(binary.NativeEndian.Uint32(f.Value[:4])))
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		return float64(binary.NativeEndian.Uint16(f.Value[:2]))
	}
	return math.NaN()
}

// busID is the PCI bus id as text.
func busID(pci nvml.PciInfo) string {
	var b strings.Builder
	for _, c := range pci.BusId {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return plain(b.String())
}

// name says what a return value means and what to do. The library's own texts are another function that may be missing.
func name(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return "the driver's library libnvidia-ml.so.1 is not there"
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return "the driver is not loaded; in a container the devices must be passed in"
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return "driver and library are of different versions; the driver was updated and not reloaded"
	case nvml.ERROR_NO_PERMISSION:
		return "no permission to use the driver"
	case nvml.ERROR_GPU_IS_LOST:
		return "the card has fallen off the bus or can't be reached; see the kernel's log for its XID error"
	case nvml.ERROR_RESET_REQUIRED:
		return "the card must be reset before it can be used again"
	case nvml.ERROR_UNINITIALIZED:
		return "the library was closed"
	case nvml.ERROR_NOT_SUPPORTED:
		return "not supported"
	}
	return fmt.Sprintf("error %d of the driver's library", int(ret))
}
