package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What all tests share: the program, one browser, one server.
var (
	program string   // path of the built stepscope
	chrome  *browser // started once; every page has its own profile in it
	shared  *server  // for tests that do not mind what others kept there
	scratch string   // folder for generated traces, removed at the end
)

func TestMain(m *testing.M) {
	if os.Getenv("STEPSCOPE_NO_BROWSER") == "1" {
		fmt.Println("the browser tests are left out: STEPSCOPE_NO_BROWSER=1")
		os.Exit(0)
	}
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// runTests brings up what the tests share and looks, after they ran, for what no single one of them can see.
func runTests(m *testing.M) (code int, err error) {
	if program, err = findProgram(); err != nil {
		return 1, err
	}
	exe, err := findChromium()
	if err != nil {
		return 1, err
	}
	if scratch, err = os.MkdirTemp("", "stepscope-e2e-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if chrome, err = startBrowser(exe, scratch); err != nil {
		return 1, err
	}
	if shared, err = startServer(filepath.Join(scratch, "shared.db"), "127.0.0.1:0"); err != nil {
		return 1, errors.Join(err, chrome.stop())
	}
	if flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.bench").Value.String() == "" {
		if err := os.RemoveAll("out"); err != nil { // pictures of states that are no more
			return 1, errors.Join(err, shared.stop(), chrome.stop())
		}
	}
	code = m.Run()
	err = errors.Join(shared.stop(), chrome.stop())
	if foreign, logErr := chrome.foreignRequests(); logErr != nil {
		err = errors.Join(err, logErr)
	} else if len(foreign) > 0 {
		err = errors.Join(err, fmt.Errorf("pages asked for addresses outside their server:\n  %s", strings.Join(foreign, "\n  ")))
	}
	return code, err
}

func findProgram() (string, error) {
	path := os.Getenv("STEPSCOPE_BIN")
	if path == "" {
		path = filepath.Join("..", "bin", "stepscope")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: build it first with make build, or name it in STEPSCOPE_BIN", err)
	}
	return path, nil
}

// findChromium fails where there is no browser: tests that are skipped in silence are tests nobody runs. The script reads
// STEPSCOPE_CHROMIUM, looks around, installs a browser if it may, and otherwise says how to.
func findChromium() (string, error) {
	var said strings.Builder
	cmd := exec.Command(filepath.Join("..", "scripts", "install-chromium.sh"))
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("no browser to test with (%w); STEPSCOPE_NO_BROWSER=1 leaves these tests out\n%s", err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
