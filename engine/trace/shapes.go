package trace

import (
	"cmp"
)

// occurrence is one slice of a batch shape.
type occurrence struct {
	interval
	name nameID
	info stepName
}

// maxSpans is how many GPU spans of one shape are listed.
const maxSpans = 512

// sumShapes sums the steps by batch shape: DeepInfer's by their launch_forward slices, the
// others by the step itself. It returns for each of the shapes' slices, in the order of
// their steps, whether its graph was replayed.
func (a *analysis) sumShapes(steps []stepRange) (graphs []string) {
	var occ []occurrence
	for _, s := range steps {
		if s.deep {
			for _, l := range s.launches {
				x := a.stepName(l.name)
				x.kind = a.deepKind(x)
				occ = append(occ, occurrence{interval{l.ts, satEnd(l.ts, l.dur), l.track}, l.name, x})
			}
		} else if s.info.source != "" {
			occ = append(occ, occurrence{interval{s.start, s.end, s.track}, s.name, s.info})
		}
	}
	list := make([]interval, len(occ))
	for i, o := range occ {
		list[i] = o.interval
	}
	ws := a.workOf(list)
	at := map[nameID]int{}
	var spans, busy, withGPU []int64
	for i, o := range occ {
		k, ok := at[o.name]
		if !ok {
			k = len(a.s.Shapes)
			at[o.name] = k
			sh := Shape{Name: a.p.names.str(o.name), Source: o.info.source, Kind: o.info.kind}
			if o.info.hasN {
				sh.N = some(o.info.n)
			}
			if o.info.hasB {
				sh.B = some(o.info.b)
			}
			a.s.Shapes = append(a.s.Shapes, sh)
			spans, busy, withGPU = append(spans, 0), append(busy, 0), append(withGPU, 0)
		}
		sh, w := &a.s.Shapes[k], &ws[i]
		d := o.end - o.start
		sh.Count++
		sh.CPUTotal = satAdd(sh.CPUTotal, d)
		sh.CPUMax = max(sh.CPUMax, d)
		sh.Kernels += w.kernels
		graphs = append(graphs, a.graphWord(w))
		switch graphs[i] {
		case "replay":
			sh.Replays++
		case "miss":
			sh.Misses++
		case "partial":
			sh.Partials++
		}
		if w.any {
			withGPU[k]++
			spans[k] += w.last - w.first
			_, _, all := w.busy()
			busy[k] += all
			if len(sh.Spans) < maxSpans {
				sh.Spans = append(sh.Spans, w.last-w.first)
			}
		}
	}
	for k := range a.s.Shapes {
		sh := &a.s.Shapes[k]
		sh.CPUMean = sh.CPUTotal / sh.Count
		if n := withGPU[k]; n > 0 {
			sh.GPUSpanMean, sh.GPUBusyMean = some(spans[k]/n), some(busy[k]/n)
		}
		switch {
		case len(a.launches) == 0 && len(a.gpu) == 0:
		case sh.Replays > 0 && sh.Misses+sh.Partials == 0:
			sh.Graph = "replay"
		case sh.Misses > 0 && sh.Replays+sh.Partials == 0:
			sh.Graph = "miss"
		case sh.Replays+sh.Misses+sh.Partials == 0:
			sh.Graph = "none"
		default:
			sh.Graph = "partial"
		}
	}
	sortBy(a.s.Shapes, func(x, y *Shape) int {
		return cmp.Or(cmp.Compare(y.CPUTotal, x.CPUTotal), cmp.Compare(x.Name, y.Name))
	})
	a.s.Shapes = cut(a, a.s.Shapes, maxShapeList)
	return graphs
}
