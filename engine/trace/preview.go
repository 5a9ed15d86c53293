package trace

// maxPreview is how many names a preview lists: it is made again and again while reading.
const maxPreview = 500

// AppendPreview appends JSON of what was read so far to b: counts, and the annotations and
// batch shapes with their sums, of the first maxPreview names met. It is cheap enough to be asked for while reading goes on.
func (p *Partial) AppendPreview(b []byte) []byte {
	w := &writer{b: b}
	w.open('{')
	w.int("bytes", p.fileBytes)
	w.int("json_bytes", p.jsonBytes)
	w.int("events", p.events)
	w.int("slices", p.slices)
	names := p.annotations.list[:min(len(p.annotations.list), maxPreview)]
	list(w, "phases", names, func(a *nameAgg) {
		w.str("name", p.names.str(a.name))
		w.int("count", a.count)
		w.int("total_ns", a.total)
		w.int("max_ns", a.max)
	})
	w.array("shapes", func() {
		for _, a := range names {
			x := parseStepName(p.names.str(a.name))
			if x.source == "" || a.count == 0 {
				continue
			}
			w.open('{')
			w.str("name", p.names.str(a.name))
			w.opt("n", Opt{x.n, x.hasN})
			w.opt("b", Opt{x.b, x.hasB})
			w.int("count", a.count)
			w.int("cpu_total_ns", a.total)
			w.close('}')
		}
	})
	w.close('}')
	return w.b
}

// AppendColumns appends JSON of how many slices are kept in columns to b.
func (p *Partial) AppendColumns(b []byte) []byte {
	w := &writer{b: b}
	w.open('{')
	w.int("kept", int64(p.cols.n))
	w.int("total", p.columnsTotal)
	w.bool("capped", int64(p.cols.n) < p.columnsTotal)
	w.close('}')
	return w.b
}

// AppendError appends err as JSON to b: the reason's code, what happened, what to do, where
// and what stands there.
func AppendError(b []byte, err error) []byte {
	w := &writer{b: b}
	e, ok := err.(*Error)
	if !ok {
		e = &Error{Offset: -1}
		if err != nil {
			e.What = err.Error()
		}
	}
	w.open('{')
	w.str("code", e.Code)
	w.str("error", e.What)
	w.str("hint", e.Hint)
	w.str("near", e.Near)
	w.opt("offset", Opt{e.Offset, e.Offset >= 0})
	w.close('}')
	return w.b
}
