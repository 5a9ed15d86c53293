package e2e

import "testing"

// fits fails the test when the page as a whole is wider than its window: only tables may scroll sideways.
func (p *tab) fits(what string) {
	p.t.Helper()
	if w := eval[[2]int](p, `[document.documentElement.scrollWidth, innerWidth]`); w[0] > w[1] {
		widest := eval[string](p, `(() => { let worst = null, edge = innerWidth;
			for (const e of document.querySelectorAll("main *")) {
				if (e.closest(".scroll") && !e.matches(".scroll")) continue;
				const r = e.getBoundingClientRect();
				if (r.right > edge) { edge = r.right; worst = e; }
			}
			return worst === null ? "nothing" : worst.outerHTML.slice(0, 200); })()`)
		p.t.Errorf("%s: the page is %d px wide in a window of %d; furthest right: %s", what, w[0], w[1], widest)
	}
}

// TestPictures takes those pictures of the page's states that no other test passes by.
func TestPictures(t *testing.T) {
	themes := []string{"light", "dark"}
	for _, theme := range themes {
		p := open(t, shared, "/trace?theme="+theme)
		p.shot("empty-" + theme)
	}
	for _, theme := range themes {
		p := open(t, shared, "/trace?theme="+theme)
		p.choose(exampleTrace(t).path)
		p.done()
		p.until(`document.querySelectorAll("#chart-steps canvas, #chart-steps svg").length > 0`)
		p.fits("done")
		p.fullShot("done-deepinfer-" + theme)
	}
	t.Run("phone", func(t *testing.T) {
		p := open(t, shared, "/trace", size(390, 844))
		p.fits("empty at 390 px")
		p.shot("phone-empty")
		p.choose(smallTrace(t).path)
		p.done()
		p.fits("done at 390 px")
		p.fullShot("phone-done")
		p.choose(written(t, "notes.txt", []byte("meeting at ten")))
		p.failed()
		p.fits("error at 390 px")
		p.shot("phone-error")
		srv := newServer(t)
		keepByAPI(t, srv, smallTrace(t).path, "a-rather-long-name-without-blanks-as-profilers-write-them-20260302-111554.json")
		q := open(t, srv, "/traces", size(390, 844))
		q.fits("list at 390 px")
		q.shot("phone-list")
	})
	t.Run("real", func(t *testing.T) {
		for name, file := range map[string]string{
			"vllm": "vllm-h100-4rank-rank0.json.gz", "sglang": "sglang-mi300x-prefilldecode.json.gz", "vllm-steps": "vllm-mi300x-piecewise.json.gz",
		} {
			p := open(t, shared, "/trace")
			p.choose(corpus(t, "traces", file))
			p.done()
			p.fits(name)
			p.fullShot("done-" + name)
		}
	})
	srv := newServer(t)
	p := open(t, srv, "/traces")
	p.fits("empty list")
	p.shot("kept-empty")
}
