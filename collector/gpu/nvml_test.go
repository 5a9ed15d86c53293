//go:build cgo && linux

package gpu

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
)

func every(string) bool { return true }

// without is a library without some symbols.
func without(symbols ...string) func(string) bool {
	return func(s string) bool {
		for _, x := range symbols {
			if strings.HasPrefix(s, x) {
				return false
			}
		}
		return true
	}
}

// furnish gives a mock card the functions that it lacks. A function called although its symbol is missing panics there,
// as it would end the process with a real library.
func furnish(d *server.Device, index int) {
	d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) {
		return nvml.Utilization{Gpu: uint32(10 * index), Memory: 7}, nvml.SUCCESS
	}
	d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) {
		return nvml.Memory_v2{Total: 100 << 30, Reserved: 1 << 30, Used: 40 << 30}, nvml.SUCCESS
	}
	d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 11, UsedGpuMemory: 5}, {Pid: 12, UsedGpuMemory: math.MaxUint64}}, nvml.SUCCESS
	}
	d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 612_500, nvml.SUCCESS }
	d.GetEnforcedPowerLimitFunc = func() (uint32, nvml.Return) { return 700_000, nvml.SUCCESS }
	d.GetClockInfoFunc = func(c nvml.ClockType) (uint32, nvml.Return) {
		return map[nvml.ClockType]uint32{nvml.CLOCK_SM: 1980, nvml.CLOCK_MEM: 3201}[c], nvml.SUCCESS
	}
	d.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 61, nvml.SUCCESS }
	d.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) { return 4, nvml.SUCCESS }
	d.GetTotalEccErrorsFunc = func(t nvml.MemoryErrorType, c nvml.EccCounterType) (uint64, nvml.Return) {
		if c != nvml.VOLATILE_ECC {
			return 0, nvml.ERROR_INVALID_ARGUMENT
		}
		return map[nvml.MemoryErrorType]uint64{nvml.MEMORY_ERROR_TYPE_CORRECTED: 3, nvml.MEMORY_ERROR_TYPE_UNCORRECTED: 1}[t], nvml.SUCCESS
	}
	d.GetPcieThroughputFunc = func(c nvml.PcieUtilCounter) (uint32, nvml.Return) {
		return map[nvml.PcieUtilCounter]uint32{nvml.PCIE_UTIL_TX_BYTES: 1_500_000, nvml.PCIE_UTIL_RX_BYTES: 250_000}[c], nvml.SUCCESS
	}
	d.GetFieldValuesFunc = func(v []nvml.FieldValue) nvml.Return {
		for i := range v {
			switch v[i].FieldId {
			case nvml.FI_DEV_MEMORY_TEMP:
				v[i].ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_INT)
				binary.NativeEndian.PutUint32(v[i].Value[:], 74)
			case nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX:
				if v[i].ScopeId != math.MaxUint32 {
					return nvml.ERROR_INVALID_ARGUMENT
				}
				v[i].ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG)
				binary.NativeEndian.PutUint64(v[i].Value[:], 1<<20)
			default:
				v[i].NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
			}
		}
		return nvml.SUCCESS
	}
	d.RegisterEventsFunc = func(types uint64, _ nvml.EventSet) nvml.Return {
		if types != nvml.EventTypeXidCriticalError {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		return nvml.SUCCESS
	}
}

// machine is a mock of a whole machine.
func machine(s *server.Server) (*server.Server, chan nvml.EventData) {
	events := make(chan nvml.EventData, 10)
	set := &mock.EventSet{
		WaitFunc: func(ms uint32) (nvml.EventData, nvml.Return) {
			select {
			case e := <-events:
				return e, nvml.SUCCESS
			case <-time.After(5 * time.Millisecond):
				return nvml.EventData{}, nvml.ERROR_TIMEOUT
			}
		},
		FreeFunc: func() nvml.Return { return nvml.SUCCESS },
	}
	s.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) { return set, nvml.SUCCESS }
	for i, d := range s.Devices {
		furnish(d.(*server.Device), i)
	}
	return s, events
}

func TestMockH200(t *testing.T) {
	m, events := machine(dgxh200.New())
	c, err := open(m, every)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	devices, err := c.Devices()
	if err != nil || len(devices) != 8 {
		t.Fatalf("%d cards, %v", len(devices), err)
	}
	if d := devices[3]; d.Index != 3 || !strings.HasPrefix(d.UUID, "GPU-") || !strings.Contains(d.Name, "H200") || d.UUID == devices[2].UUID {
		t.Errorf("card %+v", d)
	}
	r := c.Read(3)
	if r.Err != nil || !math.IsNaN(r.NVLinkRx) {
		t.Errorf("%v, NVLink in %v", r.Err, r.NVLinkRx)
	}
	for _, v := range []struct {
		name      string
		got, want float64
	}{
		{"util", r.Util, 0.3}, {"memory util", r.MemUtil, 0.07},
		{"used", r.MemUsed, 40 << 30}, {"total", r.MemTotal, 100 << 30},
		{"power", r.Power, 612.5}, {"limit", r.PowerLimit, 700},
		{"SM clock", r.SMClock, 1980}, {"memory clock", r.MemClock, 3201}, {"temperature", r.Temp, 61}, {"memory temperature", r.MemTemp, 74},
		{"PCIe out", r.PCIeTx, 1.5e9}, {"PCIe in", r.PCIeRx, 0.25e9}, {"NVLink out", r.NVLinkTx, 1 << 30},
		{"corrected", r.Corrected, 3}, {"uncorrected", r.Uncorrect, 1}, {"reasons", float64(r.Throttle), 4},
		{"process", r.Processes[0].Bytes, 5},
	} {
		if v.got != v.want {
			t.Errorf("%s = %v, want %v", v.name, v.got, v.want)
		}
	}
	if len(r.Processes) != 2 || r.Processes[1].PID != 12 || !math.IsNaN(r.Processes[1].Bytes) {
		t.Errorf("processes %+v", r.Processes)
	}
	events <- nvml.EventData{Device: m.Devices[3], EventData: 79}
	events <- nvml.EventData{Device: m.Devices[3], EventData: 79}
	events <- nvml.EventData{Device: m.Devices[5], EventData: 31}
	for range 400 {
		if r = c.Read(3); r.XIDs[79] == 2 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if len(r.XIDs) != 1 || r.XIDs[79] != 2 {
		t.Errorf("XIDs %v", r.XIDs)
	}
	if bad := c.Read(99); bad.Err == nil || !math.IsNaN(bad.Util) {
		t.Errorf("a card that isn't there: %+v", bad)
	}
}

// A library without one of the functions: what needs it is absent, the rest is there. A mock panics where a real library
// would end the process.
func TestMissingSymbols(t *testing.T) {
	for _, c := range []struct {
		symbols []string
		absent  func(Reading) bool
	}{
		{[]string{"nvmlDeviceGetUtilizationRates"}, func(r Reading) bool { return math.IsNaN(r.Util) }},
		{[]string{"nvmlDeviceGetMemoryInfo"}, func(r Reading) bool { return math.IsNaN(r.MemUsed) }}, // and _v2
		{[]string{"nvmlDeviceGetPowerUsage"}, func(r Reading) bool { return math.IsNaN(r.Power) }},
		{[]string{"nvmlDeviceGetEnforcedPowerLimit"}, func(r Reading) bool { return math.IsNaN(r.PowerLimit) }},
		{[]string{"nvmlDeviceGetClockInfo"}, func(r Reading) bool { return math.IsNaN(r.SMClock) && math.IsNaN(r.MemClock) }},
		{[]string{"nvmlDeviceGetTemperature"}, func(r Reading) bool { return math.IsNaN(r.Temp) && !math.IsNaN(r.MemTemp) }},
		{[]string{"nvmlDeviceGetCurrentClocks"}, func(r Reading) bool { return !r.Throttled }},
		{[]string{"nvmlDeviceGetTotalEccErrors"}, func(r Reading) bool { return math.IsNaN(r.Corrected) && math.IsNaN(r.Uncorrect) }},
		{[]string{"nvmlDeviceGetPcieThroughput"}, func(r Reading) bool { return math.IsNaN(r.PCIeTx) }},
		{[]string{"nvmlDeviceGetFieldValues"}, func(r Reading) bool { return math.IsNaN(r.MemTemp) && math.IsNaN(r.NVLinkTx) }},
		{[]string{"nvmlDeviceGetComputeRunningProcesses"}, func(r Reading) bool { return len(r.Processes) == 0 }},
		{[]string{"nvmlEventSet"}, func(r Reading) bool { return r.XIDs == nil }},
		{[]string{"nvmlDeviceRegisterEvents"}, func(r Reading) bool { return r.XIDs == nil }},
		{[]string{"nvmlDeviceGetName", "nvmlDeviceGetPciInfo", "nvmlShutdown"}, func(Reading) bool { return true }},
	} {
		m, _ := machine(dgxh200.New())
		for _, d := range m.Devices {
			d := d.(*server.Device)
			for _, s := range c.symbols {
				forbid(&d.Device, s)
			}
		}
		cards, err := open(m, without(c.symbols...))
		if err != nil {
			t.Errorf("without %q: %v", c.symbols, err)
			continue
		}
		if devices, err := cards.Devices(); err != nil || len(devices) != 8 {
			t.Errorf("without %q: %d cards, %v", c.symbols, len(devices), err)
		}
		r := cards.Read(1)
		if r.Err != nil || !c.absent(r) {
			t.Errorf("without %q: %+v", c.symbols, r)
		}
		cards.Close()
	}
}

// forbid takes a function away from a mock.
func forbid(d *mock.Device, symbol string) {
	switch symbol {
	case "nvmlDeviceGetUtilizationRates":
		d.GetUtilizationRatesFunc = nil
	case "nvmlDeviceGetMemoryInfo":
		d.GetMemoryInfoFunc, d.GetMemoryInfo_v2Func = nil, nil
	case "nvmlDeviceGetPowerUsage":
		d.GetPowerUsageFunc = nil
	case "nvmlDeviceGetEnforcedPowerLimit":
		d.GetEnforcedPowerLimitFunc = nil
	case "nvmlDeviceGetClockInfo":
		d.GetClockInfoFunc = nil
	case "nvmlDeviceGetTemperature":
		d.GetTemperatureFunc = nil
	case "nvmlDeviceGetCurrentClocks":
		d.GetCurrentClocksEventReasonsFunc, d.GetCurrentClocksThrottleReasonsFunc = nil, nil
	case "nvmlDeviceGetTotalEccErrors":
		d.GetTotalEccErrorsFunc = nil
	case "nvmlDeviceGetPcieThroughput":
		d.GetPcieThroughputFunc = nil
	case "nvmlDeviceGetFieldValues":
		d.GetFieldValuesFunc = nil
	case "nvmlDeviceGetComputeRunningProcesses":
		d.GetComputeRunningProcessesFunc = nil
	case "nvmlDeviceRegisterEvents":
		d.RegisterEventsFunc = nil
	case "nvmlDeviceGetName":
		d.GetNameFunc = nil
	case "nvmlDeviceGetPciInfo":
		d.GetPciInfoFunc = nil
	}
}

// Older cards and drivers: the first memory call, the old name of the reasons, functions that are there and not supported.
func TestOlderDriver(t *testing.T) {
	m, _ := machine(dgxa100.New())
	for _, d := range m.Devices {
		d := d.(*server.Device)
		d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, nvml.ERROR_NOT_SUPPORTED }
		d.GetCurrentClocksEventReasonsFunc = nil
		d.GetCurrentClocksThrottleReasonsFunc = func() (uint64, nvml.Return) { return 8, nvml.SUCCESS }
		d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, nvml.ERROR_NOT_SUPPORTED }
	}
	c, err := open(m, without("nvmlDeviceGetCurrentClocksEventReasons"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := c.Read(0)
	if r.Err != nil || !math.IsNaN(r.Util) || r.Throttle != 8 || !r.Throttled || math.IsNaN(r.MemTotal) || r.MemTotal == 0 {
		t.Errorf("%+v", r)
	}
}

func TestLostCard(t *testing.T) {
	m, _ := machine(dgxa100.New())
	d := m.Devices[2].(*server.Device)
	d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 0, nvml.ERROR_GPU_IS_LOST }
	get := m.DeviceGetHandleByIndexFunc
	m.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i == 4 {
			return nil, nvml.ERROR_UNKNOWN
		}
		return get(i)
	}
	c, err := open(m, every)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	devices, err := c.Devices()
	if err != nil || len(devices) != 7 || devices[4].Index != 5 {
		t.Errorf("cards %+v, %v", devices, err)
	}
	if r := c.Read(2); r.Err == nil || !strings.Contains(r.Err.Error(), "card 2: the card has fallen off the bus") {
		t.Error(r.Err)
	}
	if r := c.Read(4); !errors.Is(r.Err, ErrNone) {
		t.Error(r.Err)
	}
}

func TestNoCards(t *testing.T) {
	m := dgxa100.New()
	m.InitFunc = func() nvml.Return { return nvml.ERROR_DRIVER_NOT_LOADED }
	if _, err := open(m, every); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "not loaded") {
		t.Error(err)
	}
	m = dgxa100.New()
	m.DeviceGetCountFunc = func() (int, nvml.Return) { return 0, nvml.SUCCESS }
	if _, err := open(m, every); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "no card") {
		t.Error(err)
	}
	if _, err := open(dgxa100.New(), without("nvmlDeviceGetCount")); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, err := Open("/no/such/libnvidia-ml.so.1"); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "/no/such") {
		t.Error(err)
	}
}

func TestNumber(t *testing.T) {
	field := func(kind nvml.ValueType, put func(b []byte)) nvml.FieldValue {
		f := nvml.FieldValue{ValueType: uint32(kind)}
		put(f.Value[:])
		return f
	}
	minus3 := int32(-3)
	for _, c := range []struct {
		f    nvml.FieldValue
		want float64
	}{
		{field(nvml.VALUE_TYPE_DOUBLE, func(b []byte) { binary.NativeEndian.PutUint64(b, math.Float64bits(2.5)) }), 2.5},
		{field(nvml.VALUE_TYPE_UNSIGNED_INT, func(b []byte) { binary.NativeEndian.PutUint32(b, 7) }), 7},
		{field(nvml.VALUE_TYPE_UNSIGNED_LONG, func(b []byte) { binary.NativeEndian.PutUint64(b, 1<<40) }), 1 << 40},
		{field(nvml.VALUE_TYPE_SIGNED_INT, func(b []byte) { binary.NativeEndian.PutUint32(b, uint32(minus3)) }), -3},
		{field(nvml.VALUE_TYPE_SIGNED_LONG_LONG, func(b []byte) { binary.NativeEndian.PutUint64(b, math.MaxUint64) }), -1},
		{field(nvml.VALUE_TYPE_UNSIGNED_SHORT, func(b []byte) { binary.NativeEndian.PutUint16(b, 9) }), 9},
	} {
		if got := number(c.f); got != c.want {
			t.Errorf("type %d: %v, want %v", c.f.ValueType, got, c.want)
		}
	}
	if v := number(nvml.FieldValue{ValueType: 99}); !math.IsNaN(v) {
		t.Errorf("an unknown type is %v", v)
	}
}
