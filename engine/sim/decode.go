package sim

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sort"
	"strings"
)

// decoder reads JSON into structs that hold defaults already. Unlike encoding/json it knows on which line each value stands,
// so that every complaint, also one about values that make no sense, says where; and it refuses keys that nobody reads,
// which are misspelt ones, and keys given twice.
type decoder struct {
	json  *json.Decoder
	text  []byte
	lines map[string]int // of values by their path
}

// textError is a complaint about one value.
type textError struct {
	path string
	line int // 0: unknown
	err  error
}

func (e *textError) Error() string {
	var b strings.Builder
	if e.line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.line)
	}
	if e.path != "" {
		b.WriteString(e.path + ": ")
	}
	return b.String() + e.err.Error()
}

func (e *textError) Unwrap() error { return e.err }

func newDecoder(text []byte) *decoder {
	d := &decoder{json: json.NewDecoder(bytes.NewReader(text)), text: text, lines: map[string]int{}}
	d.json.UseNumber()
	return d
}

// line is that of the token read last.
func (d *decoder) line() int {
	return 1 + bytes.Count(d.text[:d.json.InputOffset()], []byte("\n"))
}

func (d *decoder) fail(path, format string, args ...any) error {
	return &textError{path, d.line(), fmt.Errorf(format, args...)}
}

// lineOf is the line of the value at a path, or of the nearest one around it that the text has.
func (d *decoder) lineOf(path string) int {
	for path != "" {
		if n, ok := d.lines[path]; ok {
			return n
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return d.lines[""]
}

// document reads the whole text into v, a pointer.
func (d *decoder) document(v any) error {
	if err := d.value(reflect.ValueOf(v).Elem(), ""); err != nil {
		return err
	}
	if _, err := d.json.Token(); !errors.Is(err, io.EOF) {
		return d.fail("", "something follows the end of the scenario; remove it")
	}
	return nil
}

func (d *decoder) token(path string) (json.Token, error) {
	t, err := d.json.Token()
	if err == nil {
		return t, nil
	}
	var syntax *json.SyntaxError
	line := d.line()
	switch {
	case errors.As(err, &syntax):
		line = 1 + bytes.Count(d.text[:min(max(int(syntax.Offset)-1, 0), len(d.text))], []byte("\n"))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		line = 1 + bytes.Count(d.text, []byte("\n"))
		err = errors.New("the text ends too early")
	}
	return nil, &textError{path, line, fmt.Errorf("not JSON: %w", err)}
}

func (d *decoder) value(v reflect.Value, path string) error {
	t, err := d.token(path)
	if err != nil {
		return err
	}
	d.lines[path] = d.line()
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		s, ok := t.(string)
		if !ok {
			return d.fail(path, "this is %s; give a text", describe(t))
		}
		if err := u.UnmarshalText([]byte(s)); err != nil {
			return d.fail(path, "%w", err)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		if t != json.Delim('{') {
			return d.fail(path, "this is %s; give an object {…}", describe(t))
		}
		return d.object(v, path)
	case reflect.Slice:
		if t != json.Delim('[') {
			return d.fail(path, "this is %s; give a list […]", describe(t))
		}
		return d.list(v, path)
	}
	return d.plain(v, path, t)
}

// plain sets a number, a text or a truth value.
func (d *decoder) plain(v reflect.Value, path string, t json.Token) error {
	switch v.Kind() {
	case reflect.String:
		if s, ok := t.(string); ok {
			v.SetString(s)
			return nil
		}
		return d.fail(path, "this is %s; give a text", describe(t))
	case reflect.Bool:
		if b, ok := t.(bool); ok {
			v.SetBool(b)
			return nil
		}
		return d.fail(path, "this is %s; give true or false", describe(t))
	case reflect.Float64:
		if n, ok := t.(json.Number); ok {
			f, err := n.Float64()
			if err != nil {
				return d.fail(path, "%s is out of range", n)
			}
			v.SetFloat(f)
			return nil
		}
		return d.fail(path, "this is %s; give a number", describe(t))
	default:
		if n, ok := t.(json.Number); ok {
			i, err := n.Int64()
			if err != nil || v.OverflowInt(i) {
				return d.fail(path, "%s is not a whole number in range", n)
			}
			v.SetInt(i)
			return nil
		}
		return d.fail(path, "this is %s; give a whole number", describe(t))
	}
}

func (d *decoder) object(v reflect.Value, path string) error {
	fields := map[string]int{}
	var names []string
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("json")
		fields[name] = i
		names = append(names, name)
	}
	sort.Strings(names)
	seen := map[string]bool{}
	for d.json.More() {
		t, err := d.token(path)
		if err != nil {
			return err
		}
		key := t.(string) // nothing else can be a key
		i, ok := fields[key]
		switch {
		case !ok:
			return d.fail(path, "there is no key %q here; the keys are %s", key, strings.Join(names, ", "))
		case seen[key]:
			return d.fail(path, "the key %q is given twice; remove one", key)
		}
		seen[key] = true
		if path != "" {
			key = path + "." + key
		}
		if err := d.value(v.Field(i), key); err != nil {
			return err
		}
	}
	_, err := d.token(path)
	return err
}

// defaults is what the elements of some lists begin with.
var defaults = map[reflect.Type]func() reflect.Value{
	reflect.TypeFor[Deployment](): func() reflect.Value { return reflect.ValueOf(DefaultDeployment()) },
}

func (d *decoder) list(v reflect.Value, path string) error {
	v.SetLen(0)
	for d.json.More() {
		e := reflect.New(v.Type().Elem()).Elem()
		if f := defaults[e.Type()]; f != nil {
			e.Set(f())
		}
		if err := d.value(e, fmt.Sprintf("%s[%d]", path, v.Len())); err != nil {
			return err
		}
		v.Set(reflect.Append(v, e))
	}
	_, err := d.token(path)
	return err
}

// describe names a token for a reader.
func describe(t json.Token) string {
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return "an object"
		}
		return "a list"
	case string:
		return "a text"
	case bool:
		return "a truth value"
	case nil:
		return "null"
	}
	return "a number"
}
