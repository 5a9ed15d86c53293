package web

import (
	"github.com/stepscope/stepscope/engine/foreign"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/views"
)

// absentReason says why an engine of this kind has no value of a metric. has:
// it reported the column lately, with nothing in it that counts.
func absentReason(kind string, m ledger.Metric, has bool) views.Reason {
	if has && m.ZeroIsAbsent {
		return views.Reason{Key: "reason.zero"}
	}
	if w := foreign.AbsentReason(kind, m.Key); w.EN != "" {
		return views.Reason{Words: w}
	}
	return views.Reason{Key: "figure.absent"}
}
