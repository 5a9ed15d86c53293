package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// What a configuration says of a deployment's cards is taken over, and follows the configuration, until a person says
// otherwise; clearing the field gives it back.
func TestFactsOfDeployments(t *testing.T) {
	r := newRig(t, store.Options{})
	started := 0
	restart := func() { // of both
		r.restart()
		started++
		_, err := r.hello("c", "node1", started)
		r.must(err)
	}
	says := func(gpus int, peak float64) {
		t.Helper()
		r.pass(2 * factsEvery)
		r.must(r.Report(t.Context(), wire.Report{Collector: "c", Deployments: []wire.DeploymentFacts{{Name: "prod", GPUs: gpus, PeakTFLOPs: peak}, {Name: "later", GPUs: 1}}}))
	}
	person := func(gpus int) {
		t.Helper()
		_, err := r.st.UpdateDeployment(t.Context(), "prod", store.DeploymentPatch{GPUs: &gpus})
		r.must(err)
	}
	want := func(what string, gpus int, peak float64, problems string) {
		t.Helper()
		list, err := r.st.Deployments(t.Context())
		r.must(err)
		var told []string
		for _, p := range r.Collectors()[0].Report.Problems {
			told = append(told, p.Code+" "+strings.Join(p.Args, ","))
		}
		if len(list) != 1 || list[0].GPUs != gpus || list[0].PeakTFLOPs != peak || strings.Join(told, "; ") != problems {
			t.Errorf("%s: %+v, problems %q; want %d GPUs of %g, %q", what, list, told, gpus, peak, problems)
		}
	}
	restart()
	says(8, 989.5) // before there is such a deployment
	r.engines("c", 1, 8, "rank0")
	says(8, 989.5)
	want("first", 8, 989.5, "")
	restart()
	says(16, 989.5)
	want("the configuration has changed", 16, 989.5, "")
	person(24)
	says(16, 989.5)
	want("a person's word", 24, 989.5, "facts.gpus prod,16,24")
	restart()
	says(32, 1979)
	want("a person's word after a restart", 24, 1979, "facts.gpus prod,32,24")
	person(32)
	says(32, 1979)
	want("both say the same", 32, 1979, "")
	person(7)
	person(0)
	says(32, 1979)
	want("cleared", 32, 1979, "")
	says(0, 0)
	want("no longer in the configuration", 32, 1979, "")
	// Another collector with other ideas does not overwrite them.
	_, err := r.hello("d", "node2", 0)
	r.must(err)
	r.must(r.Report(t.Context(), wire.Report{Collector: "d", Deployments: []wire.DeploymentFacts{{Name: "prod", GPUs: 5}}}))
	want("another collector", 32, 1979, "")
	if p := r.Collectors()[1].Report.Problems; len(p) != 1 || p[0].Code != "facts.gpus" {
		t.Errorf("%+v", p)
	}
}

// lookedAt calls look before deployments are read.
type lookedAt struct {
	HubStore
	look func()
}

func (w lookedAt) Deployments(ctx context.Context) ([]store.Deployment, error) {
	w.look()
	return w.HubStore.Deployments(ctx)
}

// From the look at a deployment to its change nobody else edits one: a person's word in between would be overwritten.
func TestFactsLockOutEdits(t *testing.T) {
	r := newRig(t, store.Options{})
	r.engines("c", 1, 8, "rank0")
	looks := 0
	r.Hub.st = lookedAt{r.Hub.st, func() {
		looks++
		if r.editing.TryLock() {
			r.editing.Unlock()
			t.Error("a form could be saved now")
		}
	}}
	r.must(r.Report(t.Context(), wire.Report{Collector: "c", Deployments: []wire.DeploymentFacts{{Name: "prod", GPUs: 2}}}))
	if looks != 1 || !r.editing.TryLock() {
		t.Errorf("%d looks, and then the lock must be free", looks)
	}
	r.editing.Unlock()
	s, err := New(Config{Store: r.st, Hub: r.Hub, Assets: fstest.MapFS{}, Addr: netip.MustParseAddr("127.0.0.1"), Log: slog.New(slog.DiscardHandler)})
	if err != nil || s.editing != &r.editing {
		t.Errorf("forms have another lock (%v)", err)
	}
}

// Positions that come back with a Welcome don't disturb a collector's batches.
func TestFactsLeaveBatchesAlone(t *testing.T) {
	r := newRig(t, store.Options{})
	r.engines("c", 3, 8, "rank0")
	r.must(r.Report(t.Context(), wire.Report{Collector: "c", Deployments: []wire.DeploymentFacts{{Name: "prod", GPUs: 2}}}))
	w, err := r.hello("c", "node1", 0)
	r.must(err)
	if got := fmt.Sprint(w.Seq, w.Positions); got != `3 [{deployment:prod {"g":2}}]` {
		t.Error(got)
	}
	r.pass(time.Second)
	r.engines("c", 4, 8, "rank0")
}
