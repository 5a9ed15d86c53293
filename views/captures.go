package views

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"
)

// CaptureSteps are the states a capture passes on its way to a stored trace.
var CaptureSteps = []string{"queued", "asked", "picked_up", "captured", "found", "stored"}

// Captures is the page of captures: a form to start one, and the record of all.
// Names, notes, paths and errors are untrusted text.
type Captures struct {
	Now         time.Time
	Deployments []string // that have engines
	Form        CaptureForm
	Refused     *Failure // why the form was not taken
	Started     string   // group of the captures begun just now
	Only        string   // deployment the record is narrowed to; "" all
	Unknown     bool     // there is no such deployment, nor a record of it
	Groups      []CaptureGroup
	Later       bool  // this is not the first page
	Next        int64 // id to go on below; 0 at the end
}

// CaptureForm is what is to be captured.
type CaptureForm struct {
	Deployment string // "": none is chosen yet
	Engines    []CaptureEngine
	Steps      int
	OutputDir  string
	Note       string
	Idle       []string      // engines without load that a request was refused for
	StepTime   time.Duration // of a step of the slowest engine lately, 0 unknown
}

// CaptureEngine is an engine of the chosen deployment.
type CaptureEngine struct {
	Name, Kind, Role string
	Collector        string // who would capture it; "": nobody can
	Why              string // nobody can
	Idle             bool   // its newest figure says that nothing runs
	Busy             int64  // id of a capture under way, 0 none
	Chosen           bool
	StepBytes        int64 // of a step in its trace, 0 unknown
}

// can says whether the engine can be captured now.
func (e CaptureEngine) can() bool { return e.Collector != "" && e.Busy == 0 }

// CaptureGroup is all ranks of one request.
type CaptureGroup struct {
	ID         string
	Deployment string
	By, Note   string
	Steps      int
	At         time.Time
	Captures   []Capture
}

// Capture is one engine's capture.
type Capture struct {
	ID              int64
	Engine          string
	Collector       string
	State           string
	Done            bool
	Times           map[string]time.Time
	Warnings        []string
	Error, Hint     string
	Path, OutputDir string
	Bytes           int64
	Trace           string   // id of the stored trace
	More            []string // of other ranks
}

// MaxCaptureSteps is the most an engine records.
const MaxCaptureSteps = 50

// chosen counts the engines that the form has ticked.
func (f CaptureForm) chosen() (n int) {
	for _, e := range f.Engines {
		if e.Chosen && e.can() {
			n++
		}
	}
	return n
}

// idleNow lists the ticked engines that have nothing to do.
func (f CaptureForm) idleNow() (names []string) {
	for _, e := range f.Engines {
		if e.Chosen && e.can() && (e.Idle || slices.Contains(f.Idle, e.Name)) {
			names = append(names, e.Name)
		}
	}
	return names
}

// expected says how large the traces of the ticked engines get; engines whose
// traces' size nobody can tell beforehand are left out.
func (f CaptureForm) expected(p Page) string {
	if f.chosen() == 0 {
		return p.t("capture.expect_none")
	}
	n, each := 0, int64(0)
	for _, e := range f.Engines {
		if e.Chosen && e.can() && e.StepBytes > 0 {
			n++
			each = int64(f.Steps) * e.StepBytes
		}
	}
	if n == 0 {
		return p.t("capture.expect_unknown")
	}
	return p.t("capture.expect", strconv.Itoa(f.Steps), megabytes(each), strconv.Itoa(n), megabytes(each*int64(n)))
}

// recording says how long an engine is slowed down.
func (f CaptureForm) recording(p Page) string {
	if f.StepTime <= 0 {
		return p.t("capture.recording_unknown")
	}
	return p.t("capture.recording", seconds(time.Duration(f.Steps)*f.StepTime), Sig3(f.StepTime.Seconds()*1000))
}

// openTrace is the address of the viewer with a stored trace.
func openTrace(id string) templ.SafeURL {
	return templ.SafeURL(KeptTrace{ID: id}.open())
}

// compareTrace is the address of the page that compares a stored trace with another.
func compareTrace(id string) templ.SafeURL {
	return templ.SafeURL("/compare/traces?" + url.Values{"a": {id}}.Encode())
}

// with is the record's address with one parameter.
func (v Captures) with(key, value string) templ.SafeURL {
	q := url.Values{}
	if v.Only != "" {
		q.Set("deployment", v.Only)
	}
	if value == "" {
		q.Del(key)
	} else {
		q.Set(key, value)
	}
	return templ.SafeURL("/captures?" + q.Encode())
}

// action is where a form about a capture posts to.
func (c Capture) action(verb string) templ.SafeURL {
	return templ.SafeURL("/captures/" + strconv.FormatInt(c.ID, 10) + "/" + verb)
}

// stage is how a state on the way is to be drawn: past, now, end, passed, never or todo. A
// state without a time that lies before one with a time was passed unseen.
func (c Capture) stage(state string) string {
	_, reached := c.Times[state]
	switch {
	case c.State == state && !c.Done:
		return "now"
	case reached && state == "stored":
		return "end"
	case reached:
		return "past"
	}
	after := false
	for _, s := range CaptureSteps {
		if s == state {
			after = true
		} else if _, ok := c.Times[s]; ok && after {
			return "passed"
		}
	}
	if c.Done {
		return "never"
	}
	return "todo"
}

// began and ended are the times of the first and of the last state.
func (c Capture) began() time.Time { return c.Times["queued"] }

func (c Capture) ended() time.Time {
	var last time.Time
	for _, t := range c.Times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// took is how long a capture that is done took.
func (c Capture) took() string {
	if !c.Done || c.began().IsZero() {
		return ""
	}
	return seconds(c.ended().Sub(c.began()))
}

// seconds prints a length of time with three figures: 0.412 s, 12.3 s, 2 min 5 s.
func seconds(d time.Duration) string {
	if d >= 2*time.Minute {
		d = d.Round(time.Second)
		return strconv.Itoa(int(d/time.Minute)) + " min " + strconv.Itoa(int(d%time.Minute/time.Second)) + " s"
	}
	return Sig3(d.Seconds()) + " s"
}

// clock is a time of day where the date stands beside it.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// counts sums the states of a group, for its header.
func (g CaptureGroup) counts(p Page) string {
	stored, failed, cancelled, busy := 0, 0, 0, 0
	for _, c := range g.Captures {
		switch c.State {
		case "stored":
			stored++
		case "failed":
			failed++
		case "cancelled":
			cancelled++
		default:
			busy++
		}
	}
	text := ""
	for _, part := range []struct {
		n   int
		key string
	}{{busy, "capture.n_busy"}, {stored, "capture.n_stored"}, {failed, "capture.n_failed"}, {cancelled, "capture.n_cancelled"}} {
		if part.n == 0 {
			continue
		}
		if text != "" {
			text += " · "
		}
		text += p.t(part.key, strconv.Itoa(part.n))
	}
	return text
}

// active says whether something of the group is still under way.
func (g CaptureGroup) active() bool {
	return slices.ContainsFunc(g.Captures, func(c Capture) bool { return !c.Done })
}

// stageTitle names a state with the time at which it was reached.
func (c Capture) stageTitle(p Page, state string) string {
	name := p.t("capturestate." + state)
	at, reached := c.Times[state]
	switch {
	case reached:
		title := name + " " + clock(at) + " UTC"
		if began := c.began(); state != "queued" && !began.IsZero() {
			title += ", +" + seconds(at.Sub(began))
		}
		return title
	case c.stage(state) == "passed":
		return name + ": " + p.t("capture.unseen")
	case c.Done:
		return name + ": " + p.t("capture.never")
	}
	return name + ": " + p.t("capture.todo")
}

// urlQuery escapes text as the value of a parameter.
func urlQuery(s string) string { return url.QueryEscape(s) }
