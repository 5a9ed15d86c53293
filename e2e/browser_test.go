package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
)

// browser is one Chromium for all tests.
type browser struct {
	ctx     context.Context
	cancel  context.CancelFunc
	said    *lockedBuffer // its log, in which every console message of pages and workers appears
	netlog  string        // file it writes all its requests to
	version string
}

func browserOptions(exe, profile string) []chromedp.ExecAllocatorOption {
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(exe),
		chromedp.UserDataDir(profile),
		chromedp.Flag("headless", "new"),
		chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("enable-logging", "stderr"),
		// A page that tried to reach another host must fail for that reason alone, on any machine.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("lang", "en-US"),
	)
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	return opts
}

func startBrowser(exe, dir string) (*browser, error) {
	b := &browser{said: &lockedBuffer{}, netlog: filepath.Join(dir, "netlog.json")}
	opts := append(browserOptions(exe, filepath.Join(dir, "profile")),
		chromedp.CombinedOutput(b.said),
		chromedp.Flag("log-net-log", b.netlog),
	)
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, stop := chromedp.NewContext(alloc, chromedp.WithErrorf(func(string, ...any) {}))
	b.ctx = ctx
	b.cancel = func() { stop(); stopAlloc() }
	if err := chromedp.Do(ctx); err != nil {
		b.cancel()
		return nil, fmt.Errorf("starting %s: %w; it said: %s", exe, err, b.said)
	}
	return b, nil
}

// stop closes the browser and waits until it has written its log of requests.
func (b *browser) stop() error {
	err := chromedp.Cancel(b.ctx)
	b.cancel()
	return err
}

var consoleLine = regexp.MustCompile(`:(?:INFO|WARNING|ERROR):CONSOLE[:(]`)

// console returns the console messages of pages and workers printed since the given place in the log, and the new place.
func (b *browser) console(since int) ([]string, int) {
	text := b.said.String()
	var lines []string
	for _, line := range strings.Split(text[since:], "\n") {
		if consoleLine.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines, len(text)
}

// foreignRequests lists what pages and their workers asked for that is not on the page's own server, from the browser's
// own record: it has every request whoever made it. The browser's requests on its own account have no page as initiator.
func (b *browser) foreignRequests() ([]string, error) {
	raw, err := os.ReadFile(b.netlog)
	if err != nil {
		return nil, fmt.Errorf("the browser's record of requests: %w", err)
	}
	var log struct {
		Events []struct {
			Params struct {
				URL       string `json:"url"`
				Initiator string `json:"initiator"`
			} `json:"params"`
		} `json:"events"`
	}
	if err := json.Unmarshal(raw, &log); err != nil {
		return nil, fmt.Errorf("the browser's record of requests: %w", err)
	}
	var foreign []string
	own := 0
	for _, e := range log.Events {
		from, err := url.Parse(e.Params.Initiator)
		if err != nil || from.Host == "" || e.Params.URL == "" {
			continue
		}
		to, err := url.Parse(e.Params.URL)
		if err == nil && to.Host == from.Host || strings.HasPrefix(e.Params.URL, "blob:"+e.Params.Initiator) {
			own++
			continue
		}
		foreign = append(foreign, e.Params.Initiator+" → "+e.Params.URL)
	}
	if own == 0 {
		return nil, errors.New("the browser recorded no request of a page at all: its record cannot be trusted")
	}
	return foreign, nil
}

// patience is how long a page may take for one thing. Machines differ; nothing is judged by time here.
const patience = time.Minute
