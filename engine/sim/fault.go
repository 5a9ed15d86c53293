package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is something that goes wrong on request. Its text is KIND, @STEP and =DURATION, as far as the kind has them:
//
//	hang@STEP=DURATION        the engine stands still: requests are not picked up
//	clock-jump@STEP=DURATION  the wall clock of log lines and file names jumps, back if negative
//	rotate@STEP               the log file is renamed and begun anew
//	truncate@STEP             the log file is cut to nothing, without a copy
//	slow-export=DURATION      writing a trace takes so much longer
//	refuse                    requests are answered 400: the output folder cannot be written
//	crash                     the engine dies while it writes a trace: the file is cut, the connection lost
//	port-taken                something else listens on the engine's port
//
// The last five may also have @STEP, from which on they hold; port-taken has none.
type Fault struct {
	Kind string
	Step int64
	For  time.Duration
}

// The kinds of faults.
const (
	faultHang      = "hang"
	faultClockJump = "clock-jump"
	faultRotate    = "rotate"
	faultTruncate  = "truncate"
	faultSlow      = "slow-export"
	faultRefuse    = "refuse"
	faultCrash     = "crash"
	faultPort      = "port-taken"
)

// faultForm is what a kind's text consists of.
type faultForm struct {
	kind     string
	step     bool // may have @STEP
	needStep bool // must have it
	duration bool // must have =DURATION
}

var faultForms = []faultForm{
	{faultHang, true, true, true},
	{faultClockJump, true, true, true},
	{faultRotate, true, true, false},
	{faultTruncate, true, true, false},
	{faultSlow, true, false, true},
	{faultRefuse, true, false, false},
	{faultCrash, true, false, false},
	{faultPort, false, false, false},
}

// longestFault bounds durations: requests go on arriving while an engine hangs.
const longestFault = 24 * time.Hour

// UnmarshalText reads a fault's text.
func (f *Fault) UnmarshalText(text []byte) error {
	head, duration, hasDuration := strings.Cut(string(text), "=")
	kind, step, hasStep := strings.Cut(head, "@")
	for _, k := range faultForms {
		if k.kind != kind {
			continue
		}
		*f = Fault{Kind: kind}
		var err error
		switch {
		case hasStep && !k.step:
			return fmt.Errorf("fault %q: %s has no step; leave @%s out", text, kind, step)
		case k.needStep && !hasStep:
			return fmt.Errorf("fault %q: at which step? give %s@STEP", text, kind)
		case hasDuration && !k.duration:
			return fmt.Errorf("fault %q: %s has no duration; leave =%s out", text, kind, duration)
		case k.duration && !hasDuration:
			return fmt.Errorf("fault %q: how long? give %s=DURATION, for example %s=30s", text, head, head)
		}
		if hasStep {
			if f.Step, err = strconv.ParseInt(step, 10, 64); err != nil || f.Step < 0 {
				return fmt.Errorf("fault %q: %q is not a step; give a whole number from 0", text, step)
			}
		}
		if hasDuration {
			if f.For, err = time.ParseDuration(duration); err != nil {
				return fmt.Errorf("fault %q: %q is not a duration; give for example 30s or 1m30s", text, duration)
			}
			switch {
			case f.For < 0 && kind != faultClockJump:
				return fmt.Errorf("fault %q: the duration must not be negative", text)
			case f.For.Abs() > longestFault:
				return fmt.Errorf("fault %q: give at most %s", text, longestFault)
			}
		}
		return nil
	}
	var names []string
	for _, k := range faultForms {
		names = append(names, k.kind)
	}
	return fmt.Errorf("fault %q: there is no such fault; the faults are %s", text, strings.Join(names, ", "))
}

// String is the fault's text.
func (f Fault) String() string {
	s := f.Kind
	if f.Step > 0 || slices.ContainsFunc(faultForms, func(k faultForm) bool { return k.kind == f.Kind && k.needStep }) {
		s += "@" + strconv.FormatInt(f.Step, 10)
	}
	if f.For != 0 {
		s += "=" + f.For.String()
	}
	return s
}

// OfLog says whether the fault is one of a log file, which a stream can't have.
func (f Fault) OfLog() bool { return f.Kind == faultRotate || f.Kind == faultTruncate }

// active returns the fault of a kind that holds at a step.
func active(faults []Fault, kind string, step int64) (Fault, bool) {
	for _, f := range faults {
		if f.Kind == kind && f.Step <= step {
			return f, true
		}
	}
	return Fault{}, false
}
