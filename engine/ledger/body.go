package ledger

import (
	"strconv"
	"strings"
)

// body reads what stands between a line's parentheses.
type body struct {
	line   *Line
	known  int         // values of the metric table added so far
	err    *ParseError // the first fault
	faults int
	full   bool // a limit was reached; nothing more is read
}

func (b *body) fail(r Reason, near string) {
	if b.err == nil {
		b.err = fault(r, near)
	}
	if b.faults++; b.faults == maxFaults {
		b.full = true
	}
}

// parse splits s at the bars outside brackets, up to the closing parenthesis; whatever
// follows that is no part of the line. A field that the line's end cuts is left out,
// because its last digits may be missing.
func (b *body) parse(s string) {
	start, depth := 0, 0
	for i := 0; i < len(s) && !b.full; i++ {
		if i == start && b.line.Section == NCCL {
			text, ok := strings.CutPrefix(strings.TrimSpace(s[start:]), Unavailable)
			if ok && text != "" && strings.IndexByte(keyEnds, text[0]) >= 0 {
				b.unavailable(strings.TrimPrefix(strings.TrimLeft(text, " "), "="))
				return
			}
		}
		switch c := s[i]; {
		case c == ')' && depth == 0:
			if last := s[start:i]; start > 0 || strings.TrimSpace(last) != "" {
				b.field(last)
			}
			return
		case c == '|' && depth == 0:
			b.field(s[start:i])
			start = i + 1
		case isOpen(c):
			depth++
		case isClose(c) && depth > 0:
			depth--
		}
	}
	if !b.full {
		b.fail(Cut, s[start:])
	}
}

// unavailable takes an error text, which may hold brackets of any kind: it ends at the
// line's last parenthesis.
func (b *body) unavailable(text string) {
	if end := strings.LastIndexByte(text, ')'); end >= 0 {
		text = text[:end]
	} else {
		b.fail(Cut, text)
	}
	b.text(Unavailable, cleanText(text))
}

// keyEnds are the signs at which a field's name ends.
const keyEnds = " =(["

// field reads one field.
func (b *body) field(s string) {
	s = strings.TrimSpace(s)
	if b.line.Section == CPU || b.line.Section == CUDA {
		b.timer(s)
		return
	}
	end := 0 // a name alone is a field with an empty text
	for end < len(s) && strings.IndexByte(keyEnds, s[end]) < 0 {
		end++
	}
	if end == 0 {
		b.fail(BadValue, s)
		return
	}
	name, value := s[:end], strings.TrimLeft(s[end:], " =")
	if len(name) > MaxNameBytes {
		b.fail(NameTooLong, name)
		return
	}
	name = cleanKey(name) // first, so that a cleaned name means the same when it is read again
	if b.line.Section == NCCL && name == ncclGroup.member {
		b.groups(value)
		return
	}
	if b.line.Section == NCCL && name == Unavailable {
		b.text(name, cleanText(value))
		return
	}
	if b.pair(name, value) || b.shaped(name, value) {
		return
	}
	if b.expects(name) {
		b.fail(BadValue, s)
		return
	}
	b.text(name, cleanField(value))
}

// shaped reads a value in one of the shapes; false when it isn't made of numbers.
func (b *body) shaped(name, value string) bool {
	inner, open := strings.CutPrefix(value, "(")
	if inner, ok := strings.CutSuffix(inner, ")"); open && ok {
		return b.members(name, inner)
	}
	if list, ok := strings.CutSuffix(value, "]"); ok {
		first, list, found := strings.Cut(list, "[")
		if !found {
			return false
		}
		if first = strings.TrimSpace(first); first == "" {
			return b.list(name, list)
		}
		x, ok := scanScalar(first)
		y, ok2 := scanScalar(list)
		if !ok || !ok2 {
			return false
		}
		b.number(place{name, plain, ""}, "", x)
		b.number(place{name, beside, ""}, "", y)
		return true
	}
	x, ok := scanScalar(value)
	if ok {
		b.number(place{name, plain, ""}, "", x)
	}
	return ok
}

// pair reads name/name v/v as fields of their own.
func (b *body) pair(name, value string) bool {
	if !strings.Contains(name, "/") {
		return false
	}
	names, values := b.split(name, "/"), b.split(value, "/")
	numbers := make([]scalar, len(values))
	for i, v := range values {
		var ok bool
		if numbers[i], ok = scanScalar(v); !ok {
			return false
		}
	}
	if len(names) != len(values) {
		return false
	}
	for i, n := range names {
		b.number(place{n, plain, ""}, "", numbers[i])
	}
	return true
}

// members reads name (member v, member v).
func (b *body) members(name, inner string) bool {
	items := b.split(inner, ",")
	numbers := make([]scalar, len(items))
	for i, item := range items {
		item = strings.TrimSpace(item)
		end := strings.IndexAny(item, " =")
		if end <= 0 {
			return false
		}
		var ok bool
		if numbers[i], ok = scanScalar(strings.TrimLeft(item[end:], " =")); !ok {
			return false
		}
		items[i] = item[:end]
	}
	for i, member := range items {
		b.number(place{name, group, member}, "", numbers[i])
	}
	return true
}

// list reads name [v, v]. A gap (None) is NaN, so that positions stay what they are.
func (b *body) list(name, inner string) bool {
	if strings.TrimSpace(inner) == "" {
		return true
	}
	items := b.split(inner, ",")
	numbers := make([]scalar, len(items))
	for i, item := range items {
		var ok bool
		if numbers[i], ok = scanScalar(item); !ok {
			return false
		}
	}
	// All or nothing: positions must not shift.
	at := place{name, listed, ""}
	key, known := places[b.line.Section][at]
	if !known {
		key = b.extraKey(at)
	}
	if _, twice := b.line.Value(key, position(1)); twice {
		b.fail(Duplicate, name)
		return true
	}
	m, _ := own(key)
	for _, x := range numbers {
		if _, ok := x.in(m.Unit); known && !ok {
			return false
		}
	}
	for i, x := range numbers {
		x.absent = false
		b.number(at, position(i+1), x)
	}
	return true
}

// groups reads [name (size); name (size)].
func (b *body) groups(value string) {
	inner, open := strings.CutPrefix(value, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !open || !closed {
		b.fail(BadValue, value)
		return
	}
	start, depth := 0, 0
	for i := 0; i <= len(inner) && !b.full; i++ {
		switch {
		case i == len(inner) || inner[i] == ';' && depth == 0:
			if item := strings.TrimSpace(inner[start:i]); item != "" {
				b.oneGroup(item)
			}
			start = i + 1
		case isOpen(inner[i]):
			depth++
		case isClose(inner[i]) && depth > 0:
			depth--
		}
	}
}

func (b *body) oneGroup(item string) {
	open := strings.LastIndexByte(item, '(')
	size, closed := strings.CutSuffix(item, ")")
	if open < 0 || !closed {
		b.fail(BadValue, item)
		return
	}
	x, ok := scanScalar(size[open+1:])
	v, fits := x.in(GiB)
	if !ok || !fits {
		b.fail(BadValue, item)
		return
	}
	b.labelled(ncclGroup.key, item[:open], ";", v, "")
}

// number adds a number found at a place: under its metric, or as an extra one.
func (b *body) number(at place, label string, x scalar) {
	if x.absent {
		return
	}
	key, ok := places[b.line.Section][at]
	if !ok {
		b.add(b.extraKey(at), label, x.v, x.unit)
		return
	}
	m, _ := own(key)
	v, ok := x.in(m.Unit)
	if !ok {
		b.fail(BadValue, at.field+" "+x.unit)
		return
	}
	b.known++
	b.add(key, label, v, "")
}

// extraKey names a number that the layout doesn't know after where it stood. Such a name
// never equals a metric's key.
func (b *body) extraKey(at place) string {
	name := at.field
	switch at.shape {
	case group:
		name += "." + at.member
	case beside:
		name += ".beside"
	}
	name = cleanKey(name)
	if _, taken := own(name); taken {
		return string(b.line.Section) + "." + name
	}
	return name
}

// expects says whether a field should have held numbers.
func (b *body) expects(name string) bool {
	for at := range places[b.line.Section] {
		if at.field == name {
			return true
		}
	}
	return false
}

// labelled adds a value whose label is a name from the line.
func (b *body) labelled(key, label, sep string, v float64, unit string) {
	label = strings.TrimSpace(label)
	if len(label) > MaxNameBytes {
		b.fail(NameTooLong, label)
		return
	}
	b.add(key, strings.Clone(cleanLabel(label, sep)), v, unit)
}

// usualValues is how many a [stats] line has; room for them is made at once.
const usualValues = 40

// add appends a value, once per key and label.
func (b *body) add(key, label string, v float64, unit string) {
	if b.overflows(key) {
		return
	}
	if _, ok := b.line.Value(key, label); ok {
		b.fail(Duplicate, key+" "+label)
		return
	}
	if b.line.Values == nil {
		b.line.Values = make([]Value, 0, usualValues)
	}
	b.line.Values = append(b.line.Values, Value{key, label, v, strings.Clone(unit)})
}

func (b *body) text(key, v string) {
	if b.overflows(key) {
		return
	}
	if _, ok := b.line.Text(key); ok {
		b.fail(Duplicate, key)
		return
	}
	b.line.Texts = append(b.line.Texts, Text{strings.Clone(key), strings.Clone(v)})
}

// overflows says that the line is full; from then on nothing more is read.
func (b *body) overflows(near string) bool {
	if len(b.line.Values)+len(b.line.Texts) < MaxValues {
		return false
	}
	b.full = true
	b.fail(TooManyValues, near)
	return true
}

// split is strings.Split for the inside of one field, where more parts than a line may
// have values are not looked at.
func (b *body) split(s, sep string) []string {
	parts := strings.SplitN(s, sep, MaxValues+1)
	if len(parts) > MaxValues {
		b.full = true
		b.fail(TooManyValues, s)
		return parts[:MaxValues]
	}
	return parts
}

// position is the label of the i-th draft position, or of the i-th number in a list.
func position(i int) string { return strconv.Itoa(i) }
