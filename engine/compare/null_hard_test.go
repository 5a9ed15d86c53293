package compare

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// TestNoFalseVerdictsInHardCases compares equal deployments where the assumptions are
// strained: lines that resemble each other more, few engines or one, unequal numbers of
// lines, lines that are missing, values with a heavy tail. At most 5 % of tables may have a false
// verdict; nominally 2 % have one. STEPSCOPE_TABLES=400 makes as many of each case as
// docs/compare.md tells of, which takes minutes.
func TestNoFalseVerdictsInHardCases(t *testing.T) {
	tables := 100
	if n, err := strconv.Atoi(os.Getenv("STEPSCOPE_TABLES")); err == nil {
		tables = n
	} else if testing.Short() {
		tables = 20
	}
	plain := noise{engines: 4, lines: 60, cv: 0.05, rho: 0.5, every: 3 * time.Second}
	with := func(change func(n *noise)) noise {
		n := plain
		change(&n)
		return n
	}
	f := func(name string, a, b noise, opt Options) {
		t.Helper()
		rng := rand.New(rand.NewPCG(11, uint64(len(name))))
		bad, decided := 0, 0
		for range tables {
			table, err := Compare([]Side{a.side(rng), b.side(rng)}, opt)
			if err != nil {
				t.Fatal(err)
			}
			decided += tested(table)
			if k, what := falseVerdicts(table); k > 0 {
				bad++
				t.Logf("%s: %d false verdicts, first %s", name, k, what)
			}
		}
		t.Logf("%-40s %d of %d tables (%.1f %%) with a false verdict; %d rows decided in each", name, bad, tables, 100*float64(bad)/float64(tables), decided/tables)
		if float64(bad) > 0.05*float64(tables) {
			t.Errorf("%s: %d of %d tables have a false verdict, more than 5 %%", name, bad, tables)
		}
	}
	same := func(name string, n noise) { t.Helper(); f(name, n, n, Options{}) }

	same("autocorrelation 0.8, 120 lines", with(func(n *noise) { n.rho, n.lines = 0.8, 120 }))
	same("autocorrelation 0.9, 240 lines", with(func(n *noise) { n.rho, n.lines = 0.9, 240 }))
	same("2 engines, autocorrelation 0.8, 120 lines", with(func(n *noise) { n.engines, n.rho, n.lines = 2, 0.8, 120 }))
	same("1 engine", with(func(n *noise) { n.engines = 1 }))
	same("1 engine, 25 lines, autocorrelation 0.5", with(func(n *noise) { n.engines, n.lines = 1, 25 }))
	f("60 against 400 lines", plain, with(func(n *noise) { n.lines = 400 }), Options{})
	f("30 against 400 lines, autocorrelation 0.8", with(func(n *noise) { n.lines, n.rho = 30, 0.8 }), with(func(n *noise) { n.lines, n.rho = 400, 0.8 }), Options{})
	f("1 against 4 engines, by engine", with(func(n *noise) { n.engines = 1 }), plain, Options{Per: PerEngine})
	same("lognormal, variation 50 %", with(func(n *noise) { n.tail, n.cv = true, 0.5 }))
	same("lognormal, variation 150 %", with(func(n *noise) { n.tail, n.cv = true, 1.5 }))
	same("lognormal 150 %, 1 engine, autocorrelation 0.8", with(func(n *noise) { n.tail, n.cv, n.engines, n.rho = true, 1.5, 1, 0.8 }))
	f("lognormal 150 %, 40 against 400 lines", with(func(n *noise) { n.tail, n.cv, n.lines = true, 1.5, 40 }), with(func(n *noise) { n.tail, n.cv, n.lines = true, 1.5, 400 }), Options{})
	same("every third line missing", with(func(n *noise) { n.missing = 1.0 / 3 }))
	f("every third line missing in one", plain, with(func(n *noise) { n.missing = 1.0 / 3 }), Options{})
	same("8 engines that differ by 2 %", with(func(n *noise) { n.engines, n.apart = 8, 0.02 }))
	same("20 engines that differ by 5 %", with(func(n *noise) { n.engines, n.apart = 20, 0.05 }))
	same("20 engines, 30 lines", with(func(n *noise) { n.engines, n.lines = 20, 30 }))
}

// tested counts the cells whose difference was decided: with evidence or without.
func tested(t *Table) (n int) {
	for _, g := range t.Groups {
		for _, r := range g.Rows {
			for _, c := range r.Cells {
				if c.Verdict.Evidenced() || c.Verdict == NoEvidence {
					n++
				}
			}
		}
	}
	return n
}
