package web

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// No link of a page hands on what was done just now; where a time is about now, one fixes it.
func TestLinksOfAPage(t *testing.T) {
	s := newSite(t, nil)
	seedFleet(s)
	_, page := s.do("GET", "/deployments/fine?done=baseline&range=15m", nil, "Accept", "text/html")
	if !strings.Contains(page, `class="banner" role="status"`) {
		t.Error("what was done is not told")
	}
	if strings.Contains(page, "done=") {
		t.Error("a link says it again")
	}
	fixed := regexp.MustCompile(`data-role="fix" href="([^"]*)"`)
	found := fixed.FindStringSubmatch(page)
	if found == nil {
		t.Fatal("no link fixes the time")
	}
	u, err := url.Parse(html.UnescapeString(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	want := url.Values{"from": {seedNow.Add(-15 * time.Minute).UTC().Format(time.RFC3339Nano)}, "to": {seedNow.UTC().Format(time.RFC3339Nano)}}
	if u.Path != "/deployments/fine" || q.Encode() != want.Encode() {
		t.Errorf("fixed: %s, want %s", u, want.Encode())
	}
	// A column that ends now on its own is fixed as well, one with ends is not touched.
	_, page = s.do("GET", "/compare?c=fine%40baseline%3Ax&c=worse%40-30m&range=1h", nil, "Accept", "text/html")
	if found = fixed.FindStringSubmatch(page); found == nil {
		t.Fatal("no link fixes the comparison")
	}
	if u, err = url.Parse(html.UnescapeString(found[1])); err != nil {
		t.Fatal(err)
	}
	columns := u.Query()["c"]
	if len(columns) != 2 || columns[0] != "fine@baseline:x" || columns[1] != "worse@2026-03-01T11:30Z..2026-03-01T12:00Z" {
		t.Errorf("columns %q", columns)
	}
}

func TestRefusalsOfDeploymentsOfferThem(t *testing.T) {
	s := newSite(t, nil)
	seedFleet(s)
	res, page := s.do("GET", "/compare?c=fine&c=worse&range=foo", nil, "Accept", "text/html")
	if res.StatusCode != 400 || !strings.Contains(page, `class="button" href="/compare"`) || !strings.Contains(page, `class="button" href="/fleet"`) || strings.Contains(page, `class="button" href="/traces"`) {
		t.Errorf("compare: %d %s", res.StatusCode, page)
	}
	res, page = s.do("GET", "/captures?deployment=nope", nil, "Accept", "text/html")
	if res.StatusCode != 404 || !strings.Contains(text(page), "There is no deployment “nope”") {
		t.Errorf("captures of nobody: %d %s", res.StatusCode, text(page))
	}
	res, page = s.do("GET", "/captures?deployment=fine", nil, "Accept", "text/html")
	if res.StatusCode != 200 || strings.Contains(text(page), "There is no deployment") {
		t.Errorf("captures of one: %d", res.StatusCode)
	}
}
