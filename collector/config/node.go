package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// maxFaults is how many faults are told at once.
const maxFaults = 20

// reader walks a parsed file and gathers what is wrong with it, each with its line.
type reader struct{ faults []error }

// fault is an error at a line.
type fault struct {
	line int
	text string
}

func (f *fault) Error() string { return fmt.Sprintf("line %d: %s", f.line, f.text) }

func (r *reader) fault(n ast.Node, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, &fault{lineOf(n), fmt.Sprintf(format, args...)})
	}
}

func lineOf(n ast.Node) int {
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		return n.GetToken().Position.Line
	}
	return 1
}

// err is all faults in the order of their lines.
func (r *reader) err() error {
	slices.SortStableFunc(r.faults, func(a, b error) int {
		var x, y *fault
		if errors.As(a, &x) && errors.As(b, &y) {
			return x.line - y.line
		}
		return 0
	})
	return errors.Join(r.faults...)
}

// block is a mapping whose keys are taken one by one; what is left over is unknown.
type block struct {
	*reader
	at    ast.Node
	where string // what it describes, for messages
	keys  map[string]*ast.MappingValueNode
	asked []string
	short *ast.StringNode // addresses, where nothing else is said
}

// block opens a mapping. It is empty, and a fault, when n is something else.
func (r *reader) block(n ast.Node, where string) *block {
	b := &block{reader: r, at: n, where: where, keys: map[string]*ast.MappingValueNode{}}
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		r.fault(n, "%s: there should be keys with values, not %s", where, kind(n))
		return b
	}
	for _, v := range values {
		key, ok := v.Key.(*ast.StringNode)
		switch {
		case !ok:
			r.fault(v.Key, "%s: keys are words, not %s", where, kind(v.Key))
		case b.keys[key.Value] != nil:
			r.fault(v.Key, "%s: %q stands here twice", where, key.Value)
		default:
			b.keys[key.Value] = v
		}
	}
	return b
}

// get returns a key's value, nil if it is not there or null.
func (b *block) get(key string) ast.Node {
	b.asked = append(b.asked, key)
	v := b.keys[key]
	if v == nil {
		return nil
	}
	delete(b.keys, key)
	if _, null := v.Value.(*ast.NullNode); null {
		return nil
	}
	return v.Value
}

// end reports the keys that nobody asked for.
func (b *block) end() {
	for key, v := range b.keys {
		b.fault(v.Key, "%s has no key %q; there are %s", b.where, key, strings.Join(b.asked, ", "))
	}
}

func (b *block) text(key string) string {
	n := b.get(key)
	if n == nil {
		return ""
	}
	return b.word(n, b.where+": "+key)
}

// word is a scalar's text. Numbers are accepted: a name may look like one.
func (r *reader) word(n ast.Node, what string) string {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value
	case *ast.LiteralNode:
		return strings.TrimSpace(s.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value
	}
	r.fault(n, "%s should be a text, not %s", what, kind(n))
	return ""
}

// need is a text that must be there.
func (b *block) need(key string) string {
	if b.keys[key] == nil {
		b.asked = append(b.asked, key)
		b.fault(b.at, "%s needs a %s", b.where, key)
		return ""
	}
	at := b.keys[key].Value
	s := b.text(key)
	if s == "" {
		b.fault(at, "%s: %s is empty", b.where, key)
	}
	return s
}

func (b *block) flag(key string) bool {
	n := b.get(key)
	if n == nil {
		return false
	}
	v, ok := n.(*ast.BoolNode)
	if !ok {
		b.fault(n, "%s: %s should be true or false, not %s", b.where, key, kind(n))
		return false
	}
	return v.Value
}

// number is a whole number within bounds, or otherwise when it is not there.
func (b *block) number(key string, otherwise, least, most int) int {
	n := b.get(key)
	if n == nil {
		return otherwise
	}
	v, err := strconv.Atoi(n.GetToken().Value)
	if _, ok := n.(*ast.IntegerNode); !ok || err != nil || v < least || v > most {
		b.fault(n, "%s: %s should be a whole number from %d to %d, not %s", b.where, key, least, most, kind(n))
		return otherwise
	}
	return v
}

// quantity is a number with or without a fraction, within bounds, or 0 when it is not there.
func (b *block) quantity(key string, least, most float64) float64 {
	n := b.get(key)
	if n == nil {
		return 0
	}
	v, err := strconv.ParseFloat(n.GetToken().Value, 64)
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
	default:
		err = errors.New("not a number")
	}
	if err != nil || !(v >= least && v <= most) {
		b.fault(n, "%s: %s should be a number from %g to %g, not %s", b.where, key, least, most, kind(n))
		return 0
	}
	return v
}

// duration is a time such as 5s, within bounds.
func (b *block) duration(key string, otherwise, least, most time.Duration) time.Duration {
	n := b.get(key)
	if n == nil {
		return otherwise
	}
	d, err := time.ParseDuration(n.GetToken().Value)
	if err != nil || d < least || d > most {
		b.fault(n, "%s: %s should be a time from %v to %v, as in 5s or 1m30s, not %s", b.where, key, least, most, kind(n))
		return otherwise
	}
	return d
}

// choice is one of some words.
func (b *block) choice(key string, words ...string) string {
	n := b.get(key)
	if n == nil {
		return ""
	}
	s := b.word(n, b.where+": "+key)
	if s != "" && !slices.Contains(words, s) {
		b.fault(n, "%s: %s should be one of %s, not %q", b.where, key, strings.Join(words, ", "), s)
		return ""
	}
	return s
}

// item is a text of a list with its place.
type item struct {
	ast.Node
	text string
}

// texts is a list of texts; a single one may stand for a list.
func (b *block) texts(key string) (list []item) {
	n := b.get(key)
	if n == nil {
		return nil
	}
	for _, v := range b.nodes(n) {
		if s := b.word(v, b.where+": "+key); s != "" {
			list = append(list, item{v, s})
		}
	}
	return list
}

// nodes is the elements of a list, or n alone.
func (r *reader) nodes(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values
	}
	return []ast.Node{n}
}

// list is the elements of what must be a list.
func (b *block) list(key string) []ast.Node {
	n := b.get(key)
	if n == nil {
		return nil
	}
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		b.fault(n, "%s: %s should be a list, each element after a dash, not %s", b.where, key, kind(n))
		return nil
	}
	return s.Values
}

// kind says what stands somewhere, in words.
func kind(n ast.Node) string {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys with values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AliasNode, *ast.AnchorNode, *ast.MergeKeyNode:
		return "a reference, which is not supported"
	case *ast.TagNode:
		return "a tag, which is not supported"
	default:
		if n.GetToken() == nil {
			return "something else"
		}
		return fmt.Sprintf("%.60q", n.GetToken().Value)
	}
}
