//go:build cgo && linux

package gpu

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A process can use one library only (the linker keeps to the functions it has found), so each fake one gets a process:
// this test binary, which then only reads the library that the variable names.
const libraryVar = "STEPSCOPE_TEST_NVML"

func TestMain(m *testing.M) {
	if path := os.Getenv(libraryVar); path != "" {
		if err := json.NewEncoder(os.Stdout).Encode(readLibrary(path)); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// told is what the child found. JSON has no NaN: absent values are -1.
type told struct {
	Error                                     string
	None                                      bool
	Devices                                   []Device
	Util, MemUsed, Power, Temp, SMClock, PCIe float64
	Throttled                                 bool
	XIDs                                      bool
	ReadError                                 string
}

func readLibrary(path string) told {
	c, err := Open(path)
	if err != nil {
		return told{Error: err.Error(), None: errors.Is(err, ErrNone)}
	}
	defer c.Close()
	devices, err := c.Devices()
	if err != nil {
		return told{Error: err.Error(), None: errors.Is(err, ErrNone)}
	}
	r := c.Read(0)
	num := func(v float64) float64 {
		if math.IsNaN(v) {
			return -1
		}
		return v
	}
	t := told{Devices: devices, Util: num(r.Util), MemUsed: num(r.MemUsed), Power: num(r.Power), Temp: num(r.Temp),
		SMClock: num(r.SMClock), PCIe: num(r.PCIeTx), Throttled: r.Throttled, XIDs: r.XIDs != nil}
	if r.Err != nil {
		t.ReadError = r.Err.Error()
	}
	return t
}

// The pieces of fake libraries.
const (
	cBase = `
#include <string.h>
typedef void *dev;
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, dev *d) { *d = (dev)(long)(i + 1); return 0; }
`
	cNames = `
int nvmlDeviceGetUUID(dev d, char *s, unsigned n) { strncpy(s, "GPU-fake\n\xff-0", n); return 0; }
int nvmlDeviceGetName(dev d, char *s, unsigned n) { memset(s, 'x', n); return 0; }
struct pci { char legacy[16]; unsigned domain, bus, device, id, sub; char busId[32]; };
int nvmlDeviceGetPciInfo_v3(dev d, struct pci *p) { strcpy(p->busId, "00000000:1B:00.0"); return 0; }
`
	cUtil  = `int nvmlDeviceGetUtilizationRates(dev d, unsigned *u) { u[0] = 42; u[1] = 17; return 0; }`
	cPower = `int nvmlDeviceGetPowerUsage(dev d, unsigned *p) { *p = 123456; return 0; }`
	cOld   = `
int nvmlDeviceGetMemoryInfo(dev d, unsigned long long *m) { m[0] = 100; m[1] = 60; m[2] = 40; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(dev d, unsigned long long *r) { *r = 4; return 0; }
`
	cLost = `int nvmlDeviceGetTemperature(dev d, int sensor, unsigned *t) { return 15; }`
)

// compile makes a shared library.
func compile(t *testing.T, source string) string {
	t.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	src, lib := filepath.Join(dir, "fake.c"), filepath.Join(dir, "libnvidia-ml.so.1")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-w", "-o", lib, src).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cc, err, out)
	}
	return lib
}

// The real way through dlopen, with libraries that lack most functions. The process must live through all of them.
func TestFakeLibrary(t *testing.T) {
	for _, c := range []struct {
		name, source string
		check        func(t *testing.T, got told)
	}{
		{"most functions missing", cBase + cNames + cUtil, func(t *testing.T, got told) {
			if got.Error != "" || got.Util != 0.42 || got.Power != -1 || got.MemUsed != -1 || got.Temp != -1 || got.SMClock != -1 || got.PCIe != -1 || got.Throttled || got.XIDs {
				t.Errorf("%+v", got)
			}
			d := got.Devices[0]
			if d.UUID != "GPU-fake-0" || d.Bus != "00000000:1B:00.0" || d.Name != strings.Repeat("x", 96) {
				t.Errorf("card %+v", d)
			}
		}},
		{"old functions", cBase + cPower + cOld, func(t *testing.T, got told) {
			if got.Power != 123.456 || got.MemUsed != 40 || !got.Throttled || got.Util != -1 {
				t.Errorf("%+v", got)
			}
			if got.Devices[0].UUID != "gpu0" {
				t.Errorf("a card without UUID is %q", got.Devices[0].UUID)
			}
		}},
		{"lost card", cBase + cLost, func(t *testing.T, got told) {
			if !strings.Contains(got.ReadError, "fallen off the bus") {
				t.Errorf("%+v", got)
			}
		}},
		{"driver not loaded", strings.Replace(cBase, "nvmlInit_v2(void) { return 0", "nvmlInit_v2(void) { return 9", 1), func(t *testing.T, got told) {
			if !got.None || !strings.Contains(got.Error, "not loaded") {
				t.Errorf("%+v", got)
			}
		}},
		{"no card", strings.Replace(cBase, "*n = 1", "*n = 0", 1), func(t *testing.T, got told) {
			if !got.None || !strings.Contains(got.Error, "no card") {
				t.Errorf("%+v", got)
			}
		}},
		{"can't list", "int nvmlInit(void) { return 0; }", func(t *testing.T, got told) {
			if !got.None || !strings.Contains(got.Error, "can't list") {
				t.Errorf("%+v", got)
			}
		}},
		{"nothing in it", "int other(void) { return 0; }", func(t *testing.T, got told) {
			if !got.None || !strings.Contains(got.Error, "no nvmlInit") {
				t.Errorf("%+v", got)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lib := compile(t, c.source)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), libraryVar+"="+lib)
			out, err := cmd.Output()
			if err != nil {
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					t.Fatalf("the process died: %v\n%s", err, exit.Stderr)
				}
				t.Fatal(err)
			}
			var got told
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			c.check(t, got)
		})
	}
}
