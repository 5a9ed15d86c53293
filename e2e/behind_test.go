package e2e

import (
	"strconv"
	"strings"
	"testing"
)

// TestSlicesBehindAFigure clicks a figure and reads the single slices behind it: as many as there are, the longest first,
// each with a step to go to; a second click closes them, and the address brings them back.
func TestSlicesBehindAFigure(t *testing.T) {
	m := smallTrace(t)
	srv := newServer(t)
	id := keepByAPI(t, srv, m.path, "small.json")
	p := open(t, srv, "/trace?trace=/api/traces/"+id+"/content")
	p.done()
	if len(m.truth.Kernels) == 0 || len(m.truth.Phases) == 0 {
		t.Fatal("the small trace has nothing to click")
	}
	k := m.truth.Kernels[0]
	row := `[data-table=kernels] tr[data-id="` + strings.ReplaceAll(k.Name, `"`, `\"`) + `"]`
	// A name that is in the page but has no room tells nothing.
	if narrow := eval[int](p, `[...document.querySelectorAll('[data-table=kernels] tbody th [data-role=text] > *, [data-table=kernels] tbody th [data-role=text]')].filter((e) => e.textContent.length > 12 && e.offsetWidth < 60).length`); narrow > 0 {
		t.Errorf("%d kernel names are squeezed out of sight", narrow)
	}
	p.click(row + ` td[data-key=max_ns]`)
	p.until(`document.querySelector('[data-table=kernels] tr.below .behind li') !== null`)
	if got, want := eval[int](p, `document.querySelectorAll('[data-table=kernels] .behind li').length`), min(20, int(k.Count)); got != want {
		t.Errorf("%d slices of %s, want %d", got, k.Name, want)
	}
	title := eval[string](p, `document.querySelector('[data-table=kernels] .behind li b').title`)
	if ns, err := strconv.ParseInt(strings.NewReplacer(",", "", " ns", "").Replace(title), 10, 64); err != nil || ns != k.Max {
		t.Errorf("the longest slice of %s has %q, want %d ns", k.Name, title, k.Max)
	}

	p.click(`[data-table=kernels] .behind li button`)
	p.until(`new URLSearchParams(location.hash.slice(1)).get("step") !== null`)
	p.click(row + ` td[data-key=count]`)
	p.until(`document.querySelector('[data-table=kernels] tr.below') === null`)

	// Enter on a figure does what a click does.
	phase := `[data-table=phases] tr[data-behind] td[data-key=total_ns]`
	eval[bool](p, `(document.querySelector('`+phase+`').focus(), true)`)
	eval[bool](p, `document.querySelector('`+phase+`').dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }))`)
	p.until(`document.querySelector('[data-table=phases] tr.below .behind') !== null`)
}
