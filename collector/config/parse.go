package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones are named on hosts that have no zone files

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/stepscope/stepscope/collector/capture"
	"github.com/stepscope/stepscope/collector/tail"
	"github.com/stepscope/stepscope/store"
)

// maxNesting bounds what the YAML parser recurses into; a configuration needs a handful of levels.
const maxNesting = 64

// Parse reads a configuration from YAML. An error tells every fault with its line.
func Parse(text []byte) (*Config, error) {
	if err := shallow(text); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, syntax(err)
	}
	var body ast.Node
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			return nil, &fault{lineOf(d.Body), "a second document begins here; one file is one configuration"}
		}
		body = d.Body
	}
	if body == nil {
		return nil, errors.New("line 1: the file is empty; give at least deployments")
	}
	r := &reader{}
	c := r.config(body)
	if err := r.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// shallow refuses deep nesting before anything recurses into it.
func shallow(text []byte) error {
	line, flow := 1, 0
	indent, start := 0, true
	for _, c := range text {
		switch {
		case c == '\n':
			line, indent, start = line+1, 0, true
			continue
		case start && (c == ' ' || c == '-' || c == '?'):
			indent++
		default:
			start = false
		}
		switch c {
		case '[', '{':
			flow++
		case ']', '}':
			flow = max(0, flow-1)
		}
		if flow > maxNesting || indent > 4*maxNesting {
			return &fault{line, "nested too deeply"}
		}
	}
	return nil
}

var syntaxPlace = regexp.MustCompile(`^\[(\d+):\d+\] ([^\n]*)`)

// syntax puts a parser's error into one line.
func syntax(err error) error {
	if m := syntaxPlace.FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1]) // the pattern has digits only
		return &fault{line, "not YAML: " + m[2]}
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("not YAML: %s", first)
}

func (r *reader) config(n ast.Node) *Config {
	b := r.block(n, "the configuration")
	defer b.end()
	c := &Config{Name: b.name("collector", "collector", store.MaxEngineName)}
	seen := map[string]int{}
	paths, addresses := places{}, places{}
	for _, d := range b.list("deployments") {
		dep := r.deployment(d, paths, addresses)
		if first := seen[dep.Name]; first > 0 && dep.Name != "" {
			r.fault(d, "deployment %q was described at line %d already; give both's targets to one", dep.Name, first)
		}
		seen[dep.Name] = lineOf(d)
		c.Deployments = append(c.Deployments, dep)
	}
	if len(c.Deployments) == 0 && len(r.faults) == 0 {
		r.fault(n, "there are no deployments: nothing would be collected")
	}
	return c
}

// name is a text that the store takes as a name.
func (b *block) name(key, what string, most int) string {
	n := b.keys[key]
	s := b.text(key)
	if s != "" {
		if err := store.CheckName(what, s, most); err != nil {
			b.fault(n.Value, "%v", err)
		}
	}
	return s
}

// places are where targets were named first.
type places map[string]int

func (p places) check(r *reader, n ast.Node, what, s string) {
	if first := p[s]; first > 0 {
		r.fault(n, "%s %s is a target at line %d already", what, s, first)
		return
	}
	p[s] = lineOf(n)
}

func (r *reader) deployment(n ast.Node, paths, addresses places) Deployment {
	b := r.block(n, "a deployment")
	defer b.end()
	d := Deployment{Name: b.name("name", "deployment", store.MaxLabel)}
	if d.Name == "" {
		b.fault(n, "a deployment needs a name")
	} else {
		b.where = fmt.Sprintf("deployment %q", d.Name)
	}
	d.Model, d.Parallel, d.Host = b.text("model"), b.text("parallel"), b.text("host")
	d.Role = b.choice("role", "mixed", "prompt", "decode")
	d.GPUs, d.PeakTFLOPs = b.number("gpu_count", 0, 1, MaxGPUs), b.quantity("peak_tflops", 1, MaxPeak)
	at := b.keys["host_in_names"]
	d.HostInNames = b.flag("host_in_names")
	for _, l := range b.each("logs") {
		log := r.log(l, paths)
		if d.HostInNames && log.Host == "" && d.Host == "" {
			r.fault(at.Key, "host_in_names needs to know the host of each log: give host here or there")
		}
		d.Logs = append(d.Logs, log)
	}
	for _, m := range b.each("metrics") {
		d.Metrics = append(d.Metrics, r.metrics(r.targets(m, "metrics"), paths, addresses))
	}
	for _, p := range b.each("profile") {
		d.Profile = append(d.Profile, r.profile(r.targets(p, "profile"), addresses))
	}
	setPortBases(d.Profile)
	if g := b.get("gpu"); g != nil {
		if d.GPU = r.gpu(g); d.GPU != nil {
			addresses.check(r, g, "gpu:", "this host's cards")
		}
	}
	for _, s := range b.each("schedule") {
		d.Schedule = append(d.Schedule, r.schedule(s, d.Name))
	}
	return d
}

// targets opens what describes some targets. The address alone will do.
func (r *reader) targets(n ast.Node, where string) *block {
	if s, ok := n.(*ast.StringNode); ok {
		return &block{reader: r, at: n, where: where, short: s}
	}
	return r.block(n, where)
}

// each is the elements of a list; a single element may stand without its dash.
func (b *block) each(key string) []ast.Node {
	n := b.get(key)
	if n == nil {
		return nil
	}
	return b.nodes(n)
}

func (r *reader) log(n ast.Node, paths places) Log {
	if s, ok := n.(*ast.StringNode); ok { // the path alone
		return Log{Paths: r.globs([]item{{n, s.Value}}, paths)}
	}
	b := r.block(n, "a log")
	defer b.end()
	if b.keys["paths"] == nil {
		b.fault(n, "a log needs paths")
	}
	l := Log{
		Paths: r.globs(b.texts("paths"), paths), Host: b.text("host"), Zone: b.zone("zone"),
		Kind: b.choice("kind", "deepinfer", "vllm", "sglang", "tensorrt-llm"), Engine: b.name("engine", "engine", store.MaxEngineName),
	}
	if named := l.Kind != "" && l.Kind != "deepinfer"; named != (l.Engine != "") {
		b.fault(n, "a log of vllm, sglang or tensorrt-llm needs the name of its engine, and only such a one has it")
	}
	switch b.choice("start", "beginning", "end", "rotated") {
	case "end":
		l.Start = tail.AtEnd
	case "rotated":
		l.Start = tail.WithRotated
	}
	return l
}

// globs checks patterns and makes them absolute, so that positions don't depend on where the collector was started.
func (r *reader) globs(list []item, paths places) (out []string) {
	for _, it := range list {
		p := it.text
		if p == "-" {
			if len(list) > 1 {
				r.fault(it.Node, "standard input is a log of its own; give files another one")
			}
		} else if _, err := filepath.Match(p, ""); err != nil {
			r.fault(it.Node, "pattern %q cannot match anything: %v", p, err)
			continue
		} else if abs, err := filepath.Abs(p); err == nil {
			p = abs
		}
		paths.check(r, it.Node, "log", p)
		out = append(out, p)
	}
	return out
}

func (b *block) zone(key string) string {
	n := b.get(key)
	if n == nil {
		return ""
	}
	s := b.word(n, b.where+": "+key)
	if s == "" || s == "Local" {
		return s
	}
	if _, err := time.LoadLocation(s); err != nil {
		b.fault(n, "%s: there is no zone %q; give an IANA name such as Asia/Shanghai, UTC or Local", b.where, s)
		return ""
	}
	return s
}

func (r *reader) metrics(b *block, paths, addresses places) Metrics {
	defer b.end()
	n := b.at
	m := Metrics{
		Kind: b.choice("kind", "vllm", "sglang", "tensorrt-llm"), Addresses: r.addresses(b, addresses, true), Path: b.text("path"),
		Every: b.duration("every", 0, 100*time.Millisecond, time.Hour), Token: b.secret("token_file"),
		Logs: r.globs(b.texts("logs"), paths),
	}
	if len(m.Logs) > 0 && (len(m.Addresses) != 1 || m.Kind == "") {
		b.fault(n, "metrics with logs: give the kind and one address, so that the lines' engine is known")
	}
	if m.Path != "" && !strings.HasPrefix(m.Path, "/") {
		b.fault(n, "metrics: path %q should begin with a slash", m.Path)
	}
	if t := b.get("traces"); t != nil {
		if m.Kind == "" {
			b.fault(t, "metrics with traces: give the kind, each is captured in its own way")
		}
		tb := r.block(t, "traces")
		m.Traces = r.traces(tb)
		tb.end()
	}
	return m
}

// secret is what a file holds, so that it need not stand in the configuration.
func (b *block) secret(key string) string {
	n := b.get(key)
	if n == nil {
		return ""
	}
	path := b.word(n, b.where+": "+key)
	text, err := os.ReadFile(path)
	if err != nil {
		b.fault(n, "%s: %v", key, err)
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (r *reader) gpu(n ast.Node) *GPU {
	if v, ok := n.(*ast.BoolNode); ok {
		if !v.Value {
			return nil
		}
		return &GPU{Every: DefaultGPUEvery}
	}
	if _, ok := n.(*ast.StringNode); ok {
		r.fault(n, "gpu: give true, false, or keys such as {every: 5s}, not %s", kind(n))
		return nil
	}
	b := r.block(n, "gpu")
	defer b.end()
	return &GPU{Every: b.duration("every", DefaultGPUEvery, time.Second, time.Hour), Library: b.text("library")}
}

func (r *reader) schedule(n ast.Node, deployment string) capture.Schedule {
	b := r.block(n, "a schedule")
	defer b.end()
	if b.keys["every"] == nil {
		b.fault(n, "a schedule needs every, the time between two captures")
	}
	s := capture.Schedule{
		Deployment: deployment, Every: b.duration("every", time.Hour, capture.MinEvery, 30*24*time.Hour),
		Steps: b.number("steps", 20, 1, 50), OnlyWhenLoaded: b.flag("only_when_loaded"),
	}
	for _, it := range b.texts("engines") {
		s.Engines = append(s.Engines, it.text)
	}
	return s
}
