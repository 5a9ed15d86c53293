package web

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
	"github.com/stepscope/stepscope/views/i18n"
)

// When an engine counts as silent at the latest, and as ended. DeepInfer logs
// about every 40 s.
const (
	silentAfter = 3 * time.Minute
	endedAfter  = time.Hour
)

// Loads that are worth a look.
const (
	fullCache    = 0.97 // of the KV cache, while sequences wait
	longQueue    = 8    // sequences waiting, when they are more than …
	queueRunning = 2    // … this many times those that run
)

// judgeEngine says how an engine is, and why.
func judgeEngine(e *engineState, now time.Time) (views.Health, []views.Reason) {
	if e.Last == 0 {
		return views.Waiting, []views.Reason{{Key: "reason.never"}}
	}
	silent := now.Sub(time.Unix(0, e.Last))
	switch {
	case e.trouble.EN != "" && silent < endedAfter:
		reasons := []views.Reason{{Key: "reason.down", Inner: &views.Reason{Words: ledger.Words(e.trouble)}}}
		if e.silent > 0 {
			reasons = append(reasons, silentReason(e))
		}
		return views.Bad, reasons
	case silent >= endedAfter:
		return views.Ended, []views.Reason{reasonOf("reason.ended", span(silent))}
	case e.silent > 0:
		return views.Bad, []views.Reason{silentReason(e)}
	}
	reasons := append(eventReasons(e.events, now), loadReasons(e)...)
	if len(reasons) > 0 {
		return views.Warn, reasons
	}
	return views.Fine, nil
}

// eventReasons counts what happened to an engine lately.
func eventReasons(events []store.Event, now time.Time) []views.Reason {
	counts := map[store.EventKind]int64{}
	for _, ev := range events {
		switch ev.Kind {
		case store.Gap:
			counts[ev.Kind] += max(1, ev.Count)
		case store.Unreadable, store.Dropped:
			counts[ev.Kind] += max(1, ev.Count)
		case store.CaptureEvent:
			if ev.To >= now.UnixNano() || ev.To == ev.From {
				counts[ev.Kind]++
			}
		default:
			counts[ev.Kind]++
		}
	}
	// A counter reset and a restart are one thing seen twice.
	counts[store.Restart] = max(counts[store.Restart], counts[store.CounterReset])
	var reasons []views.Reason
	for _, kind := range []store.EventKind{store.Restart, store.Gap, store.Unreadable, store.Dropped, store.ClockJumped, store.CaptureEvent} {
		if n := counts[kind]; n > 0 {
			reasons = append(reasons, views.Reason{Key: "reason." + string(kind), Args: []string{strconv.FormatInt(n, 10)}})
		}
	}
	return reasons
}

// loadReasons looks at what an engine has to do.
func loadReasons(e *engineState) []views.Reason {
	value := func(key string) float64 {
		m, _ := ledger.Lookup(key)
		m.Key = key
		return e.value(m)
	}
	kv, pending, running := value("KV_cache_usage"), value("pending"), value("running")
	// Comparisons with an absent value are false: no reason then.
	if kv >= fullCache && pending > 0 {
		return []views.Reason{{Key: "reason.kv_full", Args: []string{views.Number(ledger.Share, kv), views.Number(ledger.Sequences, pending)}}}
	}
	if pending >= longQueue && pending > queueRunning*running {
		return []views.Reason{{Key: "reason.queue", Args: []string{views.Number(ledger.Sequences, pending), views.Number(ledger.Sequences, running)}}}
	}
	return nil
}

// span prints a duration in its largest unit.
func span(d time.Duration) i18n.Both {
	n, unit := d/time.Second, i18n.Both{EN: " s", ZH: " 秒"}
	switch {
	case d < time.Minute:
	case d < time.Hour:
		n, unit = d/time.Minute, i18n.Both{EN: " min", ZH: " 分钟"}
	case d < 48*time.Hour:
		n, unit = d/time.Hour, i18n.Both{EN: " h", ZH: " 小时"}
	default:
		n, unit = d/(24*time.Hour), i18n.Both{EN: " d", ZH: " 天"}
	}
	number := strconv.FormatInt(int64(n), 10)
	return i18n.Both{EN: number + unit.EN, ZH: number + unit.ZH}
}

// reasonOf is a reason whose arguments have a word in each language, or are the same in both.
func reasonOf(key string, args ...any) views.Reason {
	return views.Reason{Key: key, Args: i18n.English.Words(args), ZH: i18n.Chinese.Words(args)}
}

// maxReasons is how many different reasons a deployment's row tells.
const maxReasons = 3

// judgeDeployment is the worst of the engines, with their reasons counted. A
// deployment some of whose engines ended is as well as the others.
func judgeDeployment(engines []views.FleetEngine) (views.Health, []views.Reason) {
	if len(engines) == 0 {
		return views.Waiting, nil
	}
	worst, ended := views.Fine, 0
	type told struct {
		first views.Reason
		n     int
	}
	var kinds []string
	counts := map[string]*told{}
	for _, e := range engines {
		if e.Health == views.Ended {
			ended++
		} else {
			worst = max(worst, e.Health)
		}
		for _, r := range e.Reasons {
			if counts[r.Key] == nil {
				counts[r.Key] = &told{first: r}
				kinds = append(kinds, r.Key)
			}
			counts[r.Key].n++
		}
	}
	if ended == len(engines) {
		worst = views.Ended
	}
	var reasons []views.Reason
	for _, k := range kinds {
		if len(reasons) == maxReasons {
			break
		}
		c := counts[k]
		if c.n == len(engines) && c.n == 1 {
			reasons = append(reasons, c.first)
			continue
		}
		reasons = append(reasons, views.Reason{Key: "reason.some", Inner: &c.first,
			Args: []string{strconv.Itoa(c.n), strconv.Itoa(len(engines))}})
	}
	return worst, reasons
}

// figure makes a figure of an engine's newest value.
func figure(e *engineState, m ledger.Metric) views.Figure {
	f := views.Figure{Metric: m, Value: e.value(m)}
	if !math.IsNaN(f.Value) {
		return f
	}
	f.Why = whyAbsent(e, m)
	return f
}

// whyAbsent says why an engine has no present value of a metric.
func whyAbsent(e *engineState, m ledger.Metric) views.Reason {
	l, has := e.latest[store.Column{Metric: m.Key}]
	behind := e.behind(l)
	switch {
	case has && !math.IsNaN(present(m, l.Value)) && (e.silent > 0 || behind > 0):
		was := views.Number(m.Unit, l.Value)
		if behind > 0 {
			return reasonOf("figure.older", was, span(behind))
		}
		return reasonOf("figure.silent", span(e.silent), was)
	case len(e.latest) == 0:
		return views.Reason{Key: "figure.absent"} // whatever it has, it is not there now
	}
	return absentReason(e.Kind, m, has)
}

// mute lists the sources of statistics that have given no engine's yet, so that
// a deployment that never reported is missed on the fleet page.
func (h *Hub) mute() []string {
	var names []string
	for _, c := range h.Collectors() {
		for _, t := range c.Report.Targets {
			if !c.Gone && len(t.Engines) == 0 && t.Health != wire.Up && slices.Contains([]string{"log", "metrics", "iterations"}, t.Source) {
				names = append(names, t.Name)
			}
		}
	}
	return names
}

// unreadable says which engines their collectors can't read, and why.
func (h *Hub) unreadable() map[store.EngineKey]i18n.Both {
	out := map[store.EngineKey]i18n.Both{}
	for _, c := range h.Collectors() {
		for _, t := range c.Report.Targets {
			// An engine whose profile interface is closed may still tell its figures.
			if t.Health != wire.Down || t.Problem == nil || t.Source == "profile" {
				continue
			}
			for _, e := range t.Engines {
				out[e] = problemText(*t.Problem)
			}
		}
	}
	return out
}
