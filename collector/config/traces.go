package config

import (
	"cmp"
	"fmt"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/stepscope/stepscope/collector/capture"
)

func (r *reader) traces(b *block) *Traces {
	dir := b.keys["output_dir"]
	t := &Traces{OutputDir: b.text("output_dir"), Remove: b.flag("remove"), Ranks: b.number("ranks", 0, 1, 4096)}
	for _, p := range b.each("paths") {
		t.Paths = append(t.Paths, r.path(p))
	}
	if t.OutputDir != "" {
		if err := fetchable(t.OutputDir, t.Paths); err != nil {
			r.fault(dir.Value, "%s: output_dir %v", b.where, err)
		}
	}
	return t
}

// systemFolders lie below the root and hold no data. Below dev there is shared memory, which may.
var systemFolders = []string{"bin", "boot", "etc", "lib", "lib64", "proc", "sbin", "sys"}

// fetchable says why traces that an engine writes to a folder could never be fetched, or nil. Without paths the
// folder itself is the one that may be read, which the root of all files must not be.
func fetchable(dir string, paths capture.Paths) error {
	if len(paths) > 0 {
		return paths.Allows(dir)
	}
	clean := path.Clean(dir)
	if clean == "/" {
		return fmt.Errorf("%q would have the collector read all files of the host; give traces a folder of their own", dir)
	}
	if top, _, _ := strings.Cut(strings.TrimPrefix(clean, "/"), "/"); path.IsAbs(clean) && slices.Contains(systemFolders, top) {
		return fmt.Errorf("%q is below a folder of the system, where engines that run as root would write; give traces a folder of their own, or name it under paths too", dir)
	}
	return capture.Paths{{Engine: dir}}.Allows(dir)
}

func (r *reader) path(n ast.Node) capture.Path {
	if s, ok := n.(*ast.StringNode); ok { // the same on both sides
		return r.checked(n, capture.Path{Engine: s.Value})
	}
	b := r.block(n, "a path")
	defer b.end()
	return r.checked(n, capture.Path{Engine: b.need("engine"), Local: b.text("local")})
}

func (r *reader) checked(n ast.Node, p capture.Path) capture.Path {
	if err := (capture.Paths{p}).Check(); err != nil {
		r.fault(n, "%v", err)
	}
	return p
}

func (r *reader) profile(b *block, addresses places) Profile {
	defer b.end()
	p := Profile{
		Addresses: r.addresses(b, addresses, false), Host: b.text("host"), Zone: b.zone("zone"),
	}
	p.PortBase = b.number("port_base", 0, 1, 65535)
	p.Traces = *r.traces(b)
	return p
}

// maxGPUs is how many of a host's GPUs the default port base is taken to serve.
const maxGPUs = 64

// setPortBases says which port is that of the engine on GPU 0 where nobody did: the default, or with other ports than
// it gives the lowest of them. A deployment's blocks count together: each may list one engine.
func setPortBases(list []Profile) {
	base := 0
	for _, p := range list {
		for _, addr := range p.Addresses {
			_, text, err := net.SplitHostPort(addr)
			port, perr := strconv.Atoi(text)
			switch {
			case err != nil || perr != nil || p.PortBase != 0:
			case port >= DefaultPortBase && port < DefaultPortBase+maxGPUs:
				base = DefaultPortBase
			case base != DefaultPortBase && (base == 0 || port < base):
				base = port
			}
		}
	}
	for i := range list {
		list[i].PortBase = cmp.Or(list[i].PortBase, base, DefaultPortBase)
	}
}
