package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/stepscope/stepscope/engine/trace"
)

// printSummary writes a summary as tables for a terminal, at most rows of each (0: all).
func printSummary(out io.Writer, s *trace.Summary, rows int) {
	fmt.Fprintf(out, "%s  %.1f MB", plain(s.Name), float64(s.Bytes)/1e6)
	if s.Compression != trace.Plain {
		fmt.Fprintf(out, " (%s, %.1f MB of JSON)", s.Compression, float64(s.JSONBytes)/1e6)
	}
	fmt.Fprintf(out, "  %s\n", s.Facts.Producer)
	h := &s.Health
	fmt.Fprintf(out, "%s: %d events, %d slices, %d skipped, %d repaired", h.Verdict, h.Events, h.Slices, h.Skipped, h.Repaired)
	if s.Start.OK {
		fmt.Fprintf(out, "; start %s", time.Unix(0, s.Start.V).UTC().Format("2006-01-02 15:04:05.000 UTC"))
	}
	if s.Span.OK {
		fmt.Fprintf(out, "; span %s", ms(s.Span.V))
	}
	if s.Facts.Rank.OK {
		fmt.Fprintf(out, "; rank %d", s.Facts.Rank.V)
		if s.Facts.WorldSize.OK {
			fmt.Fprintf(out, " of %d", s.Facts.WorldSize.V)
		}
	}
	fmt.Fprintln(out)
	for _, w := range h.Warnings {
		fmt.Fprintf(out, "  ! %s", plain(w.Message))
		if w.Count > 1 {
			fmt.Fprintf(out, " (%d)", w.Count)
		}
		if w.Offset.OK {
			fmt.Fprintf(out, ", first at byte %d", w.Offset.V)
		}
		fmt.Fprintln(out)
	}
	printPhases(out, s, rows)
	printSteps(out, s, rows)
	printGPU(out, s, rows)
}

func printPhases(out io.Writer, s *trace.Summary, rows int) {
	table(out, "\nPhase\tcount\ttotal ms\tself ms\tmean ms\tp50 ms\tp95 ms\tp99 ms\tmax ms\tshare %", len(s.Phases), rows, func(w io.Writer, i int) {
		p := &s.Phases[i]
		share := "–"
		if p.SharePPM.OK {
			share = fmt.Sprintf("%.1f", float64(p.SharePPM.V)/1e4)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", plain(p.Name), p.Count, num(p.Total), num(p.Self), num(p.Mean),
			num(p.P50), num(p.P95), num(p.P99), num(p.Max), share)
	})
	table(out, "\nBatch shape\tN\tB\tsteps\tCPU mean ms\tGPU span ms\tkernels/launch\tgraph", len(s.Shapes), rows, func(w io.Writer, i int) {
		x := &s.Shapes[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", plain(x.Name), opt(x.N), opt(x.B), x.Count, num(x.CPUMean), optMS(x.GPUSpanMean),
			perLaunch(x.Kernels, x.Count), dash(x.Graph))
	})
}

// perLaunch is the mean of a sum over launches, as pages show it: whole numbers without a fraction.
func perLaunch(sum, launches int64) string {
	switch {
	case launches == 0:
		return "–"
	case sum%launches == 0:
		return strconv.FormatInt(sum/launches, 10)
	}
	return fmt.Sprintf("%.1f", float64(sum)/float64(launches))
}

func printSteps(out io.Writer, s *trace.Summary, rows int) {
	table(out, "\nStep\tkind\tN\tB\tstart ms\tdur ms\tGPU busy ms\tkernels\tgraph", len(s.Steps), rows, func(w io.Writer, i int) {
		x := &s.Steps[i]
		busy := "–"
		if x.GPU != nil {
			busy = num(x.GPU.Busy)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", i, x.Kind, opt(x.N), opt(x.B), num(x.Start), num(x.Dur), busy, x.Kernel, dash(x.Graph))
	})
}

func printGPU(out io.Writer, s *trace.Summary, rows int) {
	table(out, "\nGPU\tkernels\tbusy ms\tsum ms\tidle ms\tcopies ms\tNCCL ms\tcustom comm ms\texposed comm ms\tstreams", len(s.Devices), rows, func(w io.Writer, i int) {
		d := &s.Devices[i]
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", plain(d.ID), d.Kernels, num(d.Busy), num(d.Sum), optMS(d.Idle), num(d.Copy),
			num(d.Comm), num(d.CustomComm), num(d.ExposedComm), len(d.Streams))
	})
	table(out, "\nKernel\tclass\tcount\ttotal ms\tmean ms\tmax ms", len(s.Kernels), rows, func(w io.Writer, i int) {
		k := &s.Kernels[i]
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", fold(plain(k.Name), 64), k.Class, k.Count, num(k.Total), num(k.Mean), num(k.Max))
	})
}

// table prints a header and at most rows lines, and says how many are left out.
func table(out io.Writer, header string, n, rows int, line func(io.Writer, int)) {
	if n == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, header)
	shown := n
	if rows > 0 {
		shown = min(n, rows)
	}
	for i := range shown {
		line(w, i)
	}
	w.Flush()
	if shown < n {
		fmt.Fprintf(out, "… and %d more (--rows 0 prints all)\n", n-shown)
	}
}

// num is a time in ms with three decimals: µs are the finest that a person compares.
func num(ns int64) string { return fmt.Sprintf("%.3f", float64(ns)/1e6) }

func ms(ns int64) string { return num(ns) + " ms" }

func opt(v trace.Opt) string {
	if !v.OK {
		return "–"
	}
	return fmt.Sprint(v.V)
}

func optMS(v trace.Opt) string {
	if !v.OK {
		return "–"
	}
	return num(v.V)
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// plain makes a name from a file safe for a terminal: no control characters.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '�'
		}
		return r
	}, s)
}

// fold shortens s in the middle to at most n characters.
func fold(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n*2/3]) + "…" + string(r[len(r)-(n-n*2/3-1):])
}
