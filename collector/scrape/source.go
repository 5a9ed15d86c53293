package scrape

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/source"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/foreign"
)

// Options are one server to scrape.
type Options struct {
	Deployment string
	Kind       string // foreign.VLLM, SGLang or TensorRTLLM; "" is found out from the first answer
	Address    string // host:port, or http(s)://host:port
	// Path of the metrics; "" is the kind's own: /metrics, and for TensorRT-LLM both the list of iterations at /metrics and
	// /prometheus/metrics.
	Path string
	// Every is the time between two scrapes; 0 is 10 s, and 5 s for lists that the engine forgets when they are read.
	Every time.Duration
	Token string // sent as bearer token, to this server only
	// Host is the name of the collector's own host: it stands for a loopback address in the engine's name.
	Host     string
	Role     string
	Model    string // "": as the server says
	Parallel string

	Now func() time.Time // nil: time.Now
}

// The defaults of Options.Every. A list is read more often because the engine keeps only so
// many iterations.
const (
	DefaultEvery     = 10 * time.Second
	DefaultListEvery = 5 * time.Second
)

// paths of the interfaces.
const (
	metricsPath    = "/metrics"
	prometheusPath = "/prometheus/metrics"
)

// Source scrapes one server. It is a [source.Source].
type Source struct {
	opt    Options
	base   *url.URL
	fault  error // of the address
	client *http.Client

	mu        sync.Mutex
	endpoints []*endpoint
	kind      string
	version   string
}

// New returns a source; it asks nothing before Run. A faulty address is told by Targets.
func New(opt Options) *Source {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	s := &Source{opt: opt, kind: opt.Kind, client: newClient()}
	s.base, s.fault = parseAddress(opt.Address)
	paths := []string{opt.Path}
	if opt.Path == "" {
		paths = []string{metricsPath}
		if opt.Kind == foreign.TensorRTLLM {
			paths = append(paths, prometheusPath)
		}
	}
	for _, p := range paths {
		s.endpoints = append(s.endpoints, s.newEndpoint(p))
	}
	return s
}

// parseAddress reads host:port with or without a scheme.
func parseAddress(address string) (*url.URL, error) {
	text := address
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("address %q is not host:port", address)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("address %q is neither http nor https", address)
	case u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("address %q is not host:port, with http:// or https:// before it if need be", address)
	}
	return u, nil
}

// engineName is the server's name as an engine: host:port, where a loopback address is the
// collector's own host, since others have that address too.
func (s *Source) engineName() string {
	return EngineName(s.opt.Address, s.opt.Host)
}

// EngineName is how the server at an address is called as an engine. host is the name of
// the collector's own host.
func EngineName(address, host string) string {
	u, err := parseAddress(address)
	if err != nil {
		return address
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	name := net.JoinHostPort(hostOf(u, host), port)
	if p := strings.TrimRight(u.Path, "/"); p != "" {
		name += p
	}
	return name
}

// hostOf is the server's host, or own for a loopback address.
func hostOf(u *url.URL, own string) string {
	host := u.Hostname()
	if ip := net.ParseIP(host); (host == "localhost" || ip != nil && ip.IsLoopback()) && own != "" {
		return own
	}
	return host
}

// Run scrapes until ctx ends.
func (s *Source) Run(ctx context.Context, sink source.Sink) error {
	if s.fault != nil {
		<-ctx.Done() // nothing to try until the configuration changes
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.client.CloseIdleConnections()
	var running sync.WaitGroup
	fail := make(chan error, 1)
	var start func(e *endpoint)
	start = func(e *endpoint) {
		running.Go(func() {
			err := e.run(ctx, sink, func(more *endpoint) { start(more) })
			if err != nil && ctx.Err() == nil {
				select {
				case fail <- err:
				default:
				}
				cancel()
			}
		})
	}
	for _, e := range s.list() {
		start(e)
	}
	running.Wait()
	select {
	case err := <-fail:
		return err
	default:
		return nil
	}
}

// list returns the endpoints known now.
func (s *Source) list() []*endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*endpoint(nil), s.endpoints...)
}

// learn sets the kind that an answer told, if it was not known, and returns an endpoint
// that the kind has besides, nil if none.
func (s *Source) learn(kind string) *endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kind != "" {
		return nil
	}
	s.kind = kind
	if kind != foreign.TensorRTLLM || s.opt.Path != "" || len(s.endpoints) > 1 {
		return nil
	}
	e := s.newEndpoint(prometheusPath)
	s.endpoints = append(s.endpoints, e)
	return e
}

// forget undoes learn, for an address that has answered otherwise since. A kind stays as
// long as it has given something through another interface.
func (s *Source) forget(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kind == kind && len(s.endpoints) == 1 {
		s.kind, s.version = "", ""
	}
}

// known is the kind and version as far as known.
func (s *Source) known() (kind, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kind, s.version
}

// Targets is the state of each interface of the server.
func (s *Source) Targets() []wire.Target {
	kind, _ := s.known()
	if s.fault != nil {
		return []wire.Target{{
			Name: s.opt.Address, Source: "metrics", Kind: kind, Health: wire.Down,
			Problem: s.problem("metrics.address", s.fault.Error()),
		}}
	}
	var all []wire.Target
	endpoints := s.list()
	for _, e := range endpoints {
		all = append(all, e.target(kind, endpoints))
	}
	return all
}

// every is the time between two scrapes.
func (s *Source) every(list bool) time.Duration {
	if list {
		return cmp.Or(max(s.opt.Every, 0), DefaultListEvery)
	}
	return cmp.Or(max(s.opt.Every, 0), DefaultEvery)
}
