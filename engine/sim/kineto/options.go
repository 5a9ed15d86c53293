package kineto

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Options says what a generated capture looks like. The zero value is a capture of 20 steps of one of eight ranks.
//
// Steps, IdleSteps, PrefillEvery and MissEvery choose the steps' kinds and matter to [Generate] only; the rest describes
// the engine and matters to [Write] too.
type Options struct {
	Seed  uint64 // same options and seed: same bytes
	Steps int    // steps in the capture, idle ones included; 0: 20. Millions stream in constant memory

	IdleSteps    int // so many of Steps are placeholder steps without work, spread over the capture
	PrefillEvery int // every so many steps of work one prefills a chunk; 0: 7, negative: none
	MissEvery    int // every so many steps of work one has a batch without graph bucket; 0: 10, negative: none

	NextN     int  // draft tokens a sequence may verify in a decode step; 0: 5
	ZOS       bool // zero-overhead scheduling: a step's post-processing lies in the next step, the last step's GPU work is missing
	Layers    int  // transformer layers of the pretended model; 0: 40. Fewer make smaller steps
	Rank      int  // global rank
	WorldSize int  // ranks; 0: 8. With one rank nothing is communicated
	GPU       int  // driver GPU, the device of every kernel

	// BytesPerStep is the mean size of a step with work; 0: 4.9 MB. Python frames fill a step up to it, so it is missed
	// where the other events take more, or where that many frames would find no room in the step's time.
	BytesPerStep int64
	// Start is when the capture began; zero: a day in March 2026, the minute by the seed.
	Start time.Time
}

const (
	defaultSteps        = 20
	defaultPrefillEvery = 7
	defaultMissEvery    = 10
	defaultNextN        = 5
	defaultLayers       = 40
	defaultWorldSize    = 8
	defaultBytesPerStep = 4_900_000
)

// normal returns the options with defaults filled in, or what is wrong with them.
func (o Options) normal() (Options, error) {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.Steps, defaultSteps)
	def(&o.PrefillEvery, defaultPrefillEvery)
	def(&o.MissEvery, defaultMissEvery)
	def(&o.NextN, defaultNextN)
	def(&o.Layers, defaultLayers)
	def(&o.WorldSize, defaultWorldSize)
	if o.BytesPerStep == 0 {
		o.BytesPerStep = defaultBytesPerStep
	}
	switch {
	case o.Steps < 0:
		return o, errors.New("steps: a capture has at least one step; give 1 or more")
	case o.IdleSteps < 0 || o.IdleSteps > o.Steps:
		return o, fmt.Errorf("idle steps: %d of %d steps is impossible; give 0 to %d", o.IdleSteps, o.Steps, o.Steps)
	case o.NextN < 0 || o.NextN > 64:
		return o, fmt.Errorf("nextn: %d is out of range; give 1 to 64", o.NextN)
	case o.Layers < 0 || o.Layers > 1000:
		return o, fmt.Errorf("layers: %d is out of range; give 1 to 1000", o.Layers)
	case o.WorldSize < 0 || o.WorldSize > 4096:
		return o, fmt.Errorf("world size: %d is out of range; give 1 to 4096", o.WorldSize)
	case o.Rank < 0 || o.Rank >= o.WorldSize:
		return o, fmt.Errorf("rank: %d is not a rank of %d; give 0 to %d", o.Rank, o.WorldSize, o.WorldSize-1)
	case o.GPU < 0 || o.GPU > 15:
		return o, fmt.Errorf("gpu: %d is out of range; give 0 to 15", o.GPU)
	case o.BytesPerStep < 0:
		return o, errors.New("bytes per step: negative; give 0 for the default of 4.9 MB")
	}
	if o.Start.IsZero() {
		r := rand.New(rand.NewPCG(o.Seed, 0))
		o.Start = time.Date(2026, time.March, 2, 9, r.IntN(480), r.IntN(60), r.IntN(1e9), time.UTC)
	}
	if y := o.Start.Year(); y < 1970 || y > 2200 {
		return o, fmt.Errorf("start: year %d is out of range; give 1970 to 2200", y)
	}
	return o, nil
}

// Validate says what is wrong with the options, if anything.
func (o Options) Validate() error {
	_, err := o.normal()
	return err
}

// FileName is the name that the engine would give the capture's file; generated captures come from the loopback address.
// Options that are not valid have no proper name.
func (o Options) FileName() string {
	o, _ = o.normal()
	t := o.Start.UTC()
	return fmt.Sprintf("profile-127.0.0.1-gpu%d-rank%d-%s-%03d.json", o.GPU, o.Rank, t.Format("20060102-150405"), t.Nanosecond()/1e6)
}

// Kineto cuts its clock at multiples of about three months, so that microseconds keep their decimals in a float64.
const basePeriod = 7_889_238 * int64(time.Second)

// clock returns the base time and the capture's start on the clock that counts from it, both in nanoseconds.
func (o Options) clock() (base, start int64) {
	ns := o.Start.UnixNano()
	base = ns / basePeriod * basePeriod
	return base, ns - base
}
