package config

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// maxRange bounds a range of ports.
const maxRange = 1024

// addresses reads the addresses of a block; those of engines with metrics may be http addresses.
func (r *reader) addresses(b *block, seen places, urls bool) (out []string) {
	list := b.texts("addresses")
	if b.short != nil {
		list = []item{{b.short, b.short.Value}}
	}
	if len(list) == 0 {
		b.fault(b.at, "%s needs addresses", b.where)
	}
	for _, it := range list {
		list, err := expand(it.text, urls)
		if err != nil {
			b.fault(it.Node, "address %q: %v", it.text, err)
			continue
		}
		for _, a := range list {
			seen.check(r, it.Node, "address", a)
		}
		out = append(out, list...)
	}
	return out
}

// expand opens a range such as host:6070-6077.
func expand(s string, urls bool) ([]string, error) {
	scheme, rest := "", s
	if i := strings.Index(s, "://"); i >= 0 {
		scheme, rest = s[:i+3], s[i+3:]
		if !urls || scheme != "http://" && scheme != "https://" {
			return nil, fmt.Errorf("give host:port")
		}
		u, err := url.Parse(s)
		if err == nil && (u.User != nil || u.RawQuery != "" || u.Path != "" && u.Path != "/") {
			return nil, fmt.Errorf("give the host and port only, a path of its own has its own key")
		}
		rest = strings.TrimSuffix(rest, "/")
	}
	host, ports, err := net.SplitHostPort(rest)
	if err != nil || host == "" || strings.ContainsAny(host, " /@") {
		return nil, fmt.Errorf("give host:port or host:first-last, as in 10.0.0.7:6070-6077")
	}
	low, high, ranged := strings.Cut(ports, "-")
	if !ranged {
		high = low
	}
	first, err1 := strconv.ParseUint(low, 10, 16)
	last, err2 := strconv.ParseUint(high, 10, 16)
	switch {
	case err1 != nil || err2 != nil || first == 0:
		return nil, fmt.Errorf("%q is no port; give 1 to 65535, or a range of them", ports)
	case last < first:
		return nil, fmt.Errorf("the range %s ends before it begins", ports)
	case last-first >= maxRange:
		return nil, fmt.Errorf("the range %s has more than %d ports", ports, maxRange)
	}
	var list []string
	for p := first; p <= last; p++ {
		list = append(list, scheme+net.JoinHostPort(host, strconv.FormatUint(p, 10)))
	}
	return list, nil
}
