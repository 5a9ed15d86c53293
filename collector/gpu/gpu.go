package gpu

import (
	"errors"
	"math"
)

// ErrNone says that there is nothing to read here: no driver, no card, or a build without cgo.
var ErrNone = errors.New("no NVIDIA card can be read")

// Device is one card.
type Device struct {
	Index int // as the driver counts; the order of nvidia-smi
	UUID  string
	Name  string
	Bus   string // PCI bus id
}

// Reading is what a card tells at a time. NaN is absent.
type Reading struct {
	Util, MemUtil        float64 // shares of time in which kernels ran, in which memory was used
	MemUsed, MemTotal    float64 // bytes
	Power, PowerLimit    float64 // W
	SMClock, MemClock    float64 // MHz
	Temp, MemTemp        float64 // °C
	PCIeTx, PCIeRx       float64 // bytes/s, over a few milliseconds
	NVLinkTx, NVLinkRx   float64 // bytes over all links since the driver was loaded
	Corrected, Uncorrect float64 // ECC errors since the driver was loaded

	Throttle  uint64 // bits of reasons why the clock is held down
	Throttled bool   // Throttle is known
	XIDs      map[uint64]int64
	Processes []Process

	Err error // the card can't be read at all
}

// Process is a process that computes on a card.
type Process struct {
	PID   int
	Bytes float64 // of device memory, NaN unknown
}

// Cards reads cards. It is for one goroutine.
type Cards interface {
	// Devices lists the cards.
	Devices() ([]Device, error)
	// Read reads a card by its index. It takes some tens of milliseconds.
	Read(index int) Reading
	// Close ends what Open began.
	Close()
}

// unread is a reading that tells nothing.
func unread() Reading {
	n := math.NaN()
	return Reading{Util: n, MemUtil: n, MemUsed: n, MemTotal: n, Power: n, PowerLimit: n, SMClock: n, MemClock: n,
		Temp: n, MemTemp: n, PCIeTx: n, PCIeRx: n, NVLinkTx: n, NVLinkRx: n, Corrected: n, Uncorrect: n}
}

// reasons names the bits of Reading.Throttle; those behind common are told only when they were set once.
var reasons = [...]string{
	"idle", "app_clocks", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal", "hw_thermal", "hw_power_brake",
	"display_clocks", "board_limit", "reliability",
}

const commonReasons = 8
