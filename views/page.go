// Package views renders the pages: templ components that take plain values and
// know neither the router nor the store. The generated files are committed;
// make check fails when they are stale.
package views

import (
	"net/url"

	"github.com/a-h/templ"

	"github.com/stepscope/stepscope/views/i18n"
)

// Page is what the frame around every page needs.
type Page struct {
	Lang   i18n.Lang
	Theme  string            // "auto", "light" or "dark"
	Nav    string            // the navigation entry that is current: "fleet", "trace", …, or ""
	Title  string            // for the tab, without the product's name
	Path   string            // of this page, for the language and theme links
	Query  url.Values        // of this page, likewise
	Assets map[string]string // source name → URL, as in "app.css" → "/static/app-….css"
	Range  *Range            // of a page about a time; nil: the page has none
}

// t is the catalogue in the page's language.
func (p Page) t(key string, args ...string) string { return p.Lang.T(key, args...) }

// with is this page's own address with one query parameter set, so that
// switching the language or the theme keeps what is open.
func (p Page) with(key, value string) templ.SafeURL {
	q := url.Values{}
	for k, v := range p.Query {
		q[k] = v
	}
	q.Set(key, value)
	return templ.SafeURL((&url.URL{Path: p.Path, RawQuery: q.Encode()}).String())
}

// ariaCurrent marks the entry that is in force among several.
func ariaCurrent(on bool, value string) templ.Attributes {
	if !on {
		return nil
	}
	return templ.Attributes{"aria-current": value}
}

// Themes are the choices of the theme switch, the default first.
var Themes = []string{"auto", "light", "dark"}
