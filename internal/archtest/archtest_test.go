package archtest

import (
	"slices"
	"strings"
	"testing"
)

func TestModuleKeepsItsRules(t *testing.T) {
	imports, err := Imports("../..")
	if err != nil {
		t.Fatal(err)
	}
	// A walk that finds nothing would keep every rule.
	if !slices.ContainsFunc(imports, func(i Import) bool { return i.Pkg == "web" && strings.Contains(i.Path, "labstack/echo") }) {
		t.Fatal("the walk did not find web's import of echo: it reads the wrong folder")
	}
	for _, msg := range Check(imports, Rules) {
		t.Error(msg)
	}
}

// Every rule must be able to fail, and must let its own owner pass.
func TestRulesCanFail(t *testing.T) {
	broken := map[string]bool{} // reasons seen
	f := func(pkg, path string, test bool, want ...string) {
		t.Helper()
		file := pkg + "/x.go"
		got := Check([]Import{{Pkg: pkg, File: file, Path: path, Test: test}}, Rules)
		if len(got) != len(want) {
			t.Errorf("%s imports %s: broke %q, want %d rules with %q", pkg, path, got, len(want), want)
			return
		}
		for i, w := range want {
			if !strings.Contains(got[i], w) || !strings.HasPrefix(got[i], file+" imports "+path+": ") {
				t.Errorf("%s imports %s: message %q has no %q", pkg, path, got[i], w)
			}
			_, why, _ := strings.Cut(got[i], path+": ")
			broken[why] = true
		}
	}
	const m = module + "/"

	f("engine/ledger", m+"store", false, "knows no database")
	f("engine/ledger", m+"engine/trace", false)
	f("store", m+"web", false, "knows no page")
	f("store/sqlite", m+"store", false)
	f("store/sqlite", m+"store/storetest", true)
	f("views", m+"store", false, "views render plain values")
	f("views", m+"views/i18n", false)
	f("collector", m+"web", false, "don't import each other")
	f("web", m+"collector", false, "does not collect")
	f("web", m+"collector/wire", false)
	f("wasm", m+"engine/sim/kineto", false, "wasm is glue")
	f("wasm", m+"engine/trace", false)
	f("web", m+"store/sqlite", false, "cmd alone picks")
	f("web", m+"store/sqlite", true)
	f("cmd/stepscope", m+"store/sqlite", false)
	f("engine/trace", "github.com/google/uuid", false, "outgrows its budget")
	f("engine/trace", m+"engine/ledger", false, "outgrows its budget")
	f("engine/trace", m+"engine/sim/kineto", true)
	f("engine/trace", "github.com/klauspost/compress/gzip", false)
	f("engine/trace", "encoding/json", false)
	f("wasm", "github.com/klauspost/compress/gzip", false, "nothing else")
	f("wasm", "syscall/js", false)
	f("views", "github.com/labstack/echo/v4", false, "another router")
	f("views", "github.com/labstack/echo/v4", true, "another router")
	f("web", "github.com/labstack/echo/v4", false)
	f("collector", "github.com/NVIDIA/go-nvml/pkg/nvml", false, "needs cgo")
	f("web", "github.com/go-echarts/go-echarts/v2/opts", false, "others see JSON")
	f("views/chart", "github.com/go-echarts/go-echarts/v2/opts", false)
	f("store", "modernc.org/sqlite", false, "its driver")
	f("store", "github.com/jackc/pgx/v5", false, "imports pgx")
	f("store", "github.com/minio/minio-go/v7", false, "its client")
	f("web", "github.com/alecthomas/kong", false, "command line")
	f("collector/logs", "github.com/goccy/go-yaml/ast", false, "reads YAML")
	f("collector/config", "github.com/goccy/go-yaml/ast", false)
	f("web", "github.com/chromedp/chromedp", true, "module of their own")

	for _, r := range Rules {
		if !broken[r.Why] {
			t.Errorf("no example breaks this rule: %s", r.Why)
		}
	}
}
