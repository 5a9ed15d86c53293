package e2e

import "testing"

// TestReadingShowsAndCancels drops 400 MB: rows and progress appear while reading goes on, cancelling gives the page back
// at once, and it reads the next file as if nothing had been.
func TestReadingShowsAndCancels(t *testing.T) {
	m := largeTrace(t)
	p := open(t, shared, "/trace")
	// In the page, so that no moment of the reading is missed however slow this side is.
	eval[bool](p, `(() => {
		e2e.seen = [];
		const look = () => {
			const main = document.querySelector("#trace");
			const bar = document.querySelector("#progress-bar");
			e2e.seen.push({ state: main.dataset.state, value: bar.hasAttribute("value") ? bar.value : -1,
				text: document.querySelector("#progress-text").textContent,
				phases: document.querySelectorAll("[data-table=phases] tbody tr[data-id]").length });
		};
		e2e.timer = setInterval(look, 5);
		return true;
	})()`)
	p.drop(m.path)
	p.until(`e2e.seen.some((s) => s.state === "reading" && s.phases > 0 && s.value > 0 && s.value < 1 && /left/.test(s.text))`)
	p.click("#progress-cancel")
	p.until(`document.querySelector("#trace").dataset.state === "empty"`)
	if p.visible("#progress") || p.visible("#phases") || p.visible("#error-box") {
		t.Error("something of the cancelled reading is left on the page")
	}
	if eval[bool](p, `e2e.seen.some((s) => s.state === "done")`) {
		t.Fatal("the file was read before it could be cancelled: this test needs a larger one")
	}
	type moment struct {
		State  string
		Value  float64
		Text   string
		Phases int
	}
	last := -1.0
	for _, s := range eval[[]moment](p, "(clearInterval(e2e.timer), e2e.seen)") {
		if s.State != "reading" {
			continue
		}
		if s.Value < last {
			t.Errorf("progress went back from %g to %g", last, s.Value)
		}
		last = s.Value
	}
	p.choose(smallTrace(t).path)
	p.done()
	checkTruth(t, p, smallTrace(t))
	if n := eval[int](p, "e2e.summaries.length"); n != 1 {
		t.Errorf("%d summaries were made, want that of the second file alone", n)
	}
}

// TestReadingStates takes pictures while a large file is read, and checks the final figures of all 82 steps.
func TestReadingStates(t *testing.T) {
	m := largeTrace(t)
	p := open(t, shared, "/trace")
	p.drop(m.path)
	p.until(`document.querySelector("#trace").dataset.state === "reading" && document.querySelectorAll("[data-table=phases] tbody tr[data-id]").length > 0`)
	p.shot("reading")
	p.done()
	checkTruth(t, p, m)
	sameAsNative(t, p, 0, m.path)
}
