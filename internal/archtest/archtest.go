// Package archtest holds the rules of who may import whom. Its test reads the
// imports of every package in the module and fails with the reason of the rule
// that was broken.
package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// module is the path all packages of this module start with.
const module = "github.com/stepscope/stepscope"

// Import is one import in one file.
type Import struct {
	Pkg  string // importing package, relative to the module: "web", "engine/trace"
	File string // importing file, relative to the module
	Path string // imported path
	Test bool   // the file is a test
}

// local is the imported package relative to the module, and whether it is in the module.
func (i Import) local() (string, bool) { return strings.CutPrefix(i.Path, module+"/") }

// external says whether the imported package is neither ours nor the standard
// library's, whose paths have no dot in their first part.
func (i Import) external() bool {
	first, _, _ := strings.Cut(i.Path, "/")
	return strings.Contains(first, ".") && i.Path != module && !strings.HasPrefix(i.Path, module+"/")
}

// Rule forbids some imports and says why.
type Rule struct {
	Why     string
	Forbids func(Import) bool
}

// in says whether a package is one of the given ones or lies below one.
func in(pkg string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return pkg == root || strings.HasPrefix(pkg, root+"/")
	})
}

// layer lets the packages below root import only the given parts of this
// module. Tests may reach further: they often bring the neighbour to talk to.
func layer(root, why string, allowed ...string) Rule {
	return Rule{Why: why, Forbids: func(i Import) bool {
		to, ours := i.local()
		return ours && !i.Test && in(i.Pkg, root) && !in(to, allowed...)
	}}
}

// only lets nobody but one package import a library.
func only(owner, library, why string) Rule {
	return Rule{Why: why, Forbids: func(i Import) bool {
		return in(i.Path, library) && !in(i.Pkg, owner)
	}}
}

// Rules are the module's rules, in the order of docs: layers, then leaf
// packages, then libraries with one owner.
var Rules = []Rule{
	layer("engine", "engine is the domain: it knows no database and no page", "engine"),
	layer("store", "store keeps what engine defines; it knows no page and no collector", "store", "engine"),
	layer("views", "views render plain values; fetching them is web's business", "views", "engine"),
	layer("collector", "collector and web don't import each other; what they say to each other is in collector/wire", "collector", "store", "engine"),
	layer("web", "web serves views from a store; it does not collect (collector/wire has the shared messages)", "web", "views", "store", "engine", "collector/wire"),
	layer("wasm", "wasm is glue: anything beyond engine/trace makes every first load larger", "engine/trace"),
	{
		Why: "cmd alone picks a store backend; everybody else takes the interface",
		Forbids: func(i Import) bool {
			to, ours := i.local()
			return ours && !i.Test && in(to, "store/sqlite", "store/postgres", "store/s3") && !in(i.Pkg, "cmd", to)
		},
	},
	{
		Why: "engine/trace is also the browser's reader: the standard library and klauspost/compress only, or the module outgrows its budget",
		Forbids: func(i Import) bool {
			to, ours := i.local()
			return in(i.Pkg, "engine/trace") && !i.Test &&
				(i.external() && !in(i.Path, "github.com/klauspost/compress") || ours && !in(to, "engine/trace"))
		},
	},
	{
		Why:     "wasm imports engine/trace and the standard library, nothing else",
		Forbids: func(i Import) bool { return in(i.Pkg, "wasm") && !i.Test && i.external() },
	},
	only("web", "github.com/labstack/echo", "only web imports echo, so that moving to another router touches one package"),
	only("collector/gpu", "github.com/NVIDIA/go-nvml", "only collector/gpu imports nvml, which needs cgo and a driver"),
	only("views/chart", "github.com/go-echarts/go-echarts", "only views/chart imports go-echarts; others see JSON options"),
	only("store/sqlite", "modernc.org/sqlite", "only store/sqlite imports its driver"),
	only("store/postgres", "github.com/jackc/pgx", "only store/postgres imports pgx"),
	only("store/s3", "github.com/minio/minio-go", "only store/s3 imports its client"),
	only("collector/config", "github.com/goccy/go-yaml", "only collector/config reads YAML; others see the checked configuration"),
	only("cmd", "github.com/alecthomas/kong", "only cmd knows the command line"),
	only("e2e", "github.com/chromedp", "browser tests are a module of their own, so that chromedp stays out of this one"),
}

// Check returns one message for each import that breaks a rule.
func Check(imports []Import, rules []Rule) []string {
	var broken []string
	for _, i := range imports {
		for _, r := range rules {
			if r.Forbids(i) {
				broken = append(broken, fmt.Sprintf("%s imports %s: %s", i.File, i.Path, r.Why))
			}
		}
	}
	return broken
}

// Imports reads the imports of all Go files below root, whatever their build
// tags, other modules and folders without our code left out.
func Imports(root string) ([]Import, error) {
	var all []Import
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			base := d.Name()
			if rel != "." && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "testdata" || rel == "e2e" || rel == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: import %s: %w", rel, spec.Path.Value, err)
			}
			all = append(all, Import{Pkg: path.Dir(rel), File: rel, Path: to, Test: strings.HasSuffix(rel, "_test.go")})
		}
		return nil
	})
	return all, err
}
