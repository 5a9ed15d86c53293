package ledger

import (
	"math"
	"strconv"
	"strings"
)

// AppendLine appends the line as the engine prints it, without a prefix and without a
// line break. Values are rounded as the engine rounds them. Values and texts that the
// layout doesn't know follow at the end; names are cleaned of what would break the
// line's grammar. The positions of nextn_accept_rate are written up to the first gap.
func AppendLine(dst []byte, l *Line) []byte {
	dst = append(dst, "RANK "...)
	dst = strconv.AppendInt(dst, int64(l.Rank), 10)
	dst = append(dst, ", GPU "...)
	dst = strconv.AppendInt(dst, int64(l.GPU), 10)
	dst = append(dst, ", step "...)
	dst = strconv.AppendInt(dst, l.Step, 10)
	dst = append(dst, ", ["...)
	dst = append(dst, l.Section...)
	dst = append(dst, "] ("...)
	w := writer{dst: dst, line: l, begin: len(dst), assign: " "}
	switch l.Section {
	case CPU, CUDA:
		w.timers()
	case NCCL:
		w.assign = "="
		w.fields(ncclLayout)
		w.groups()
	default:
		w.fields(statsLayout)
	}
	w.rest()
	return append(w.dst, ')')
}

// writer builds the part between the line's parentheses.
type writer struct {
	dst    []byte
	line   *Line
	begin  int    // where the first field starts
	assign string // between name and value
}

// name begins a field.
func (w *writer) name(s string) {
	if len(w.dst) > w.begin {
		w.dst = append(w.dst, " | "...)
	}
	w.dst = append(w.dst, s...)
	w.dst = append(w.dst, w.assign...)
}

func (w *writer) fields(layout []slot) {
	for i := range layout {
		s := &layout[i]
		switch s.shape {
		case listed:
			w.list(s)
		case group:
			w.group(s)
		case paired:
			w.pair(s)
		default:
			w.plain(s)
		}
	}
}

func (w *writer) plain(s *slot) {
	v, ok := w.line.Value(s.parts[0].key, "")
	if ok {
		w.name(s.name)
		w.number(v, &s.parts[0])
	}
	if s.shape != beside {
		return
	}
	side := &s.parts[1]
	switch v, has := w.line.Value(side.key, ""); {
	case has && ok:
		w.dst = append(w.dst, '[')
		w.number(v, side)
		w.dst = append(w.dst, ']')
	case has: // alone, it goes by its own name
		w.name(side.key)
		w.number(v, side)
	}
}

func (w *writer) list(s *slot) {
	for i := 1; ; i++ {
		v, ok := w.line.Value(s.parts[0].key, position(i))
		if !ok {
			if i > 1 {
				w.dst = append(w.dst, ']')
			}
			return
		}
		if i == 1 {
			w.name(s.name)
			w.dst = append(w.dst, '[')
		} else {
			w.dst = append(w.dst, ", "...)
		}
		w.number(v, &s.parts[0])
	}
}

func (w *writer) group(s *slot) {
	open := false
	for i := range s.parts {
		p := &s.parts[i]
		v, ok := w.line.Value(p.key, "")
		if !ok {
			continue
		}
		if !open {
			w.name(s.name)
			w.dst = append(w.dst, '(')
			open = true
		} else {
			w.dst = append(w.dst, ", "...)
		}
		w.dst = append(w.dst, p.member...)
		w.dst = append(w.dst, ' ')
		w.number(v, p)
	}
	if open {
		w.dst = append(w.dst, ')')
	}
}

func (w *writer) pair(s *slot) {
	var names []string
	var parts []part
	for _, p := range s.parts {
		if _, ok := w.line.Value(p.key, ""); ok {
			names, parts = append(names, p.member), append(parts, p)
		}
	}
	if len(names) == 0 {
		return
	}
	w.name(strings.Join(names, "/"))
	for i := range parts {
		if i > 0 {
			w.dst = append(w.dst, '/')
		}
		v, _ := w.line.Value(parts[i].key, "")
		w.number(v, &parts[i])
	}
}

// timers writes the values of one label, which follow each other, as one field. A part
// that the layout doesn't know is word and number without a sign between them, which
// can't say "not a number": such a value is left out.
func (w *writer) timers() {
	label, open := "", false
	for _, v := range w.line.Values {
		p, known := w.timerPart(v)
		if p == nil || !known && (math.IsNaN(v.V) || math.IsInf(v.V, 0)) {
			continue
		}
		if open && v.Label == label {
			w.dst = append(w.dst, '/')
		} else {
			w.name(cleanLabel(v.Label, ""))
			label, open = v.Label, true
		}
		w.dst = append(w.dst, p.member...)
		w.number(v.V, p)
	}
}

// timerPart is how a value of a timer is written; nil for what belongs to no timer.
func (w *writer) timerPart(v Value) (p *part, known bool) {
	for k, key := range timerKeys[w.line.Section] {
		if v.Key == key {
			return &timerParts[k], true
		}
	}
	word, ok := strings.CutPrefix(v.Key, string(w.line.Section)+".")
	if !ok || v.Label == "" {
		return nil, false
	}
	return &part{member: word, decimals: shortest, suffix: v.Unit}, false
}

func (w *writer) groups() {
	open := false
	for _, v := range w.line.Values {
		if v.Key != ncclGroup.key {
			continue
		}
		if !open {
			w.name(ncclGroup.member)
			w.dst = append(w.dst, '[')
			open = true
		} else {
			w.dst = append(w.dst, "; "...)
		}
		w.dst = append(w.dst, cleanLabel(v.Label, ";")...)
		w.dst = append(w.dst, " ("...)
		w.number(v.V, &ncclGroup)
		w.dst = append(w.dst, ')')
	}
	if open {
		w.dst = append(w.dst, ']')
	}
}

// rest writes what the layout doesn't know, in full precision. Labels of such values
// are positions in a list; values of one list follow each other.
func (w *writer) rest() {
	timers := w.line.Section == CPU || w.line.Section == CUDA
	for i, v := range w.line.Values {
		if _, known := own(v.Key); known || timers && v.Label != "" {
			continue
		}
		switch {
		case v.Label == "":
			w.name(cleanKey(v.Key))
		case i > 0 && w.line.Values[i-1].Key == v.Key && w.line.Values[i-1].Label != "":
			w.dst = append(w.dst[:len(w.dst)-1], ", "...) // the list goes on
		default:
			w.name(cleanKey(v.Key))
			w.dst = append(w.dst, '[')
		}
		w.dst = appendNumber(w.dst, v.V, shortest)
		if v.Unit != "" {
			w.dst = append(w.dst, ' ')
			w.dst = append(w.dst, v.Unit...)
		}
		if v.Label != "" {
			w.dst = append(w.dst, ']')
		}
	}
	for _, t := range w.line.Texts {
		if t.Key != Unavailable || w.line.Section != NCCL {
			w.name(cleanKey(t.Key))
			w.dst = append(w.dst, cleanField(t.V)...)
		}
	}
	// An error text may hold anything, so it is the last field.
	if text, ok := w.line.Text(Unavailable); ok && w.line.Section == NCCL {
		w.name(Unavailable)
		w.dst = append(w.dst, cleanText(text)...)
	}
}

// shortest in place of decimals: as many digits as it takes to read the same number.
const shortest = -2

func (w *writer) number(v float64, p *part) {
	if p.decimals == boolean {
		if v != 0 {
			w.dst = append(w.dst, "True"...)
		} else {
			w.dst = append(w.dst, "False"...)
		}
		return
	}
	if p.suffix == "%" && p.decimals != shortest {
		v *= 100
	}
	w.dst = appendNumber(w.dst, v, p.decimals)
	w.dst = append(w.dst, p.suffix...)
}

// appendNumber spells infinities and NaN as Python does.
func appendNumber(dst []byte, v float64, decimals int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "nan"...)
	case math.IsInf(v, 1):
		return append(dst, "inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	case decimals == shortest:
		return strconv.AppendFloat(dst, v, 'g', -1, 64)
	}
	return strconv.AppendFloat(dst, v, 'f', decimals, 64)
}
