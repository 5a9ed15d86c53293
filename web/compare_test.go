package web

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/store"
)

// compareHostile is what a deployment may be called.
const compareHostile = `"><script>alert(1)</script>@`

// deliverLevels stores an hour of lines of a deployment around a level, one every 30 s.
func (s *site) deliverLevels(name string, tps float64, now time.Time) {
	s.t.Helper()
	r := rand.New(rand.NewPCG(uint64(len(name)), 7))
	b := &store.Batch{
		Engines: []store.EngineInfo{{EngineKey: store.EngineKey{Deployment: name, Name: "rank0"}, Kind: "deepinfer", Rank: 0, GPU: 0, Role: "mixed"}},
		Layouts: []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "completion_TPS"}, {Metric: "avg_SPS"}, {Metric: "running"}}}},
	}
	for i := range 120 {
		noise := 1 + 0.02*r.NormFloat64()
		b.Rows = append(b.Rows, store.Row{Time: now.Add(-time.Duration(119-i) * 30 * time.Second).UnixNano(), Step: int64(100 * i),
			Flags: store.DecodeStep, Values: []float64{tps * noise, 30 * noise, 20}})
	}
	if _, err := s.st.Deliver(s.t.Context(), "test", b); err != nil {
		s.t.Fatal(err)
	}
}

func comparing(t *testing.T) (*site, time.Time) {
	s := newSite(t, nil)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s.now = func() time.Time { return now }
	s.deliverLevels("old", 1000, now)
	s.deliverLevels("new", 900, now)
	s.deliverLevels(compareHostile, 1000, now)
	return s, now
}

// compared asks for the page until its comparison is there.
func (s *site) compared(path string) string {
	s.t.Helper()
	for range 100 {
		res, body := s.do(http.MethodGet, path+"&part=body", nil, "Accept", "text/html")
		if res.StatusCode != http.StatusOK {
			s.t.Fatalf("%s: %s: %s", path, res.Status, body)
		}
		if strings.Contains(body, `data-pending="false"`) {
			return body
		}
	}
	s.t.Fatal("the comparison never came")
	return ""
}

func TestComparePageHasItsParts(t *testing.T) {
	s, _ := comparing(t)
	body := s.compared("/compare?c=old&c=new")
	for _, want := range []string{`id="m-completion_TPS-7c-7c-7c"`, "worse", "Is it a fair comparison?", `data-row="completion_TPS|||"`, "How this was computed"} {
		if !strings.Contains(body, want) {
			t.Errorf("the comparison lacks %q", want)
		}
	}
	// Only what differs: the level that is the same is left out.
	if body := s.compared("/compare?c=old&c=new&show=evidence"); !strings.Contains(body, `data-id="completion_TPS|||"`) || strings.Contains(body, `data-id="running|||"`) {
		t.Error("show=evidence shows other rows than those with evidence")
	}
	res, page := s.do(http.MethodGet, "/compare?range=1h", nil, "Accept", "text/html")
	if res.StatusCode != http.StatusOK || !strings.Contains(page, `<option value="old"`) || strings.Contains(page, `id="comparison"`) {
		t.Errorf("without columns the page offers the deployments and compares nothing: %s", res.Status)
	}
	if !strings.Contains(page, "&lt;script&gt;") || strings.Contains(page, "<script>alert") {
		t.Error("a deployment's name is not shown as text")
	}
}

func TestCompareBeginsWithTheLatestTwo(t *testing.T) {
	s := newSite(t, nil)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s.now = func() time.Time { return now }
	leads := func() string {
		res, _ := s.do(http.MethodGet, "/compare", nil, "Accept", "text/html")
		return res.Status + " " + res.Header.Get("Location")
	}
	s.deliverLevels("retired", 1000, now.Add(-48*time.Hour))
	if got := leads(); got != "200 OK " {
		t.Errorf("with one deployment /compare answers %q, want the page", got)
	}
	s.deliverLevels("one & all", 1000, now.Add(-time.Minute))
	s.deliverLevels("after", 900, now)
	if got, want := leads(), "303 See Other /compare?c=one+%26+all&c=after"; got != want {
		t.Errorf("/compare answers %q, want %q: those that reported last, the older one first", got, want)
	}
}

func TestCompareNamesWithMarkupStayText(t *testing.T) {
	s, _ := comparing(t)
	q := url.Values{"c": {"old", compare.ColumnSpec{Deployment: compareHostile}.String()}}
	body := s.compared("/compare?" + q.Encode())
	if strings.Contains(body, "<script>alert") || !strings.Contains(body, "&lt;script&gt;") {
		t.Error("a deployment's name became markup, or is missing")
	}
}

func TestCompareFormLeadsToOneAddress(t *testing.T) {
	s, _ := comparing(t)
	f := func(form url.Values, want string) {
		t.Helper()
		res, _ := s.do(http.MethodGet, "/compare?"+form.Encode(), nil, "Accept", "text/html")
		if got := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || got != want {
			t.Errorf("%v leads to %s %q, want %q", form, res.Status, got, want)
		}
	}
	f(url.Values{"d": {"old", "new", ""}, "r": {"", "-15m", ""}, "f": {"", "", ""}, "t": {"", "", ""}, "per": {"gpu"}},
		"/compare?c=old&c=new%40-15m&per=gpu")
	f(url.Values{"d": {"old"}, "r": {"baseline:last week"}, "f": {""}, "t": {""}, "part": {"body"}}, "/compare?c=old%40baseline%3Alast+week")
	f(url.Values{"d": {"old"}, "r": {"own"}, "f": {"2026-03-01T10:00:00"}, "t": {"2026-03-01T11:00:00"}},
		"/compare?c=old%402026-03-01T10%3A00Z..2026-03-01T11%3A00Z")
	// Its times come later: until then the page's.
	f(url.Values{"d": {"old"}, "r": {"own"}, "f": {""}, "t": {""}}, "/compare?c=old")
	res, body := s.do(http.MethodGet, "/compare?"+url.Values{"d": {"old"}, "r": {"own"}, "f": {"2026-03-01T10:00"}, "t": {"2026-03-01T09:00"}}.Encode(), nil, "Accept", "text/html")
	if res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "ends before it begins") {
		t.Errorf("a time that ends before it begins: %s", res.Status)
	}
}

func TestCompareRefusesInPlace(t *testing.T) {
	s, _ := comparing(t)
	for query, says := range map[string]string{
		"c=old&c=gone":                                               "gone",
		"c=old&c=new&per=elephant":                                   "elephant",
		"c=old&c=new&metric=completion_TSP":                          "completion_TPS",
		"c=old&c=new&since=foo":                                      "is not a length of time",
		"c=old&c=new&since=foo&lang=zh":                              "这样的时长",
		"c=old&c=gone&lang=zh":                                       "没有部署",
		"lang=zh&c=old&c=" + url.QueryEscape("new@-1"):               "列的写法为",
		"c=old&c=" + url.QueryEscape("new@-1"):                       "a column is",
		"c=old&c=new&c=old&c=new&c=old&c=new&c=old":                  "7 columns",
		"c=old&c=" + url.QueryEscape("new@baseline:no such"):         "no such",
		"c=old&c=" + url.QueryEscape("new@2026-03-02T00:00Z..2025-"): "a column is",
	} {
		var res *http.Response
		var body string
		for range 50 { // one that reads the store first is not there at once
			if res, body = s.do(http.MethodGet, "/compare?"+query, nil, "Accept", "text/html"); !strings.Contains(body, `data-pending="true"`) {
				break
			}
		}
		if res.StatusCode < 400 || res.StatusCode >= 500 || !strings.Contains(body, says) || !strings.Contains(body, `id="columns"`) {
			t.Errorf("%s: %s; the page should say %q and offer the columns", query, res.Status, says)
		}
	}
}

func TestCompareNarrowed(t *testing.T) {
	s, _ := comparing(t)
	res, body := s.do(http.MethodGet, "/api/compare?c=old&c=new&since=30m&metric=avg_SPS&format=csv", nil)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, "avg_SPS") || strings.Contains(body, "completion_TPS") {
		t.Errorf("only avg_SPS: %s: %s", res.Status, body)
	}
	body = s.compared("/compare?c=old&c=new&since=30m")
	if !strings.Contains(body, "2026-03-01 11:30:00–12:00:00") {
		t.Error("since=30m does not cover the last half hour")
	}
	if strings.Contains(body, "part=body") {
		t.Error("links of the part lead to the bare part")
	}
}

func TestCompareAPIFormats(t *testing.T) {
	s, _ := comparing(t)
	for format, kind := range map[string]string{"": "application/json", "json": "application/json", "csv": "text/csv", "md": "text/markdown"} {
		res, body := s.do(http.MethodGet, "/api/compare?c=old&c=new&format="+format, nil)
		says := "completion_TPS"
		if format == "md" {
			says = "Generated tokens per second"
		}
		if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), kind) || !strings.Contains(body, says) {
			t.Errorf("format %q: %s, %s", format, res.Status, res.Header.Get("Content-Type"))
		}
		if kind == "application/json" && !json.Valid([]byte(body)) {
			t.Errorf("format %q is no JSON", format)
		}
	}
	if res, body := s.do(http.MethodGet, "/api/compare?c=old&c=new&format=xml", nil); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "format=json, csv or md") {
		t.Errorf("an unknown format: %s %s", res.Status, body)
	}
}

func TestCompareTrails(t *testing.T) {
	s, now := comparing(t)
	res, body := s.do(http.MethodGet, "/api/compare/trails?c=old&c=new", nil)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", res.Status, body)
	}
	var got trailsJSON
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	curve := got.Rows["completion_TPS|||"]
	if len(curve) != 2 || len(curve[0].T) < 50 || len(curve[0].T) != len(curve[0].V) || !slices.IsSorted(curve[0].T) {
		t.Fatalf("the curves of completion_TPS: %d columns", len(curve))
	}
	// Columns begin and end where their points do: within the hour before now.
	if c := got.Columns[0]; c.From < millis(now.Add(-61*time.Minute).UnixNano()) || c.To > millis(now.UnixNano()) || c.From >= c.To {
		t.Errorf("the column spans %v … %v", c.From, c.To)
	}
	// Steps rise by 100 every 30 s.
	marks := got.Columns[0].Steps
	first, last := marks[0], marks[len(marks)-1]
	if perSecond := (last[1] - first[1]) / ((last[0] - first[0]) / 1000); math.Abs(perSecond-100.0/30) > 0.01 {
		t.Errorf("steps rise by %v a second, want 100 / 30", perSecond)
	}
}

func TestTrailsKeepExtremes(t *testing.T) {
	var trail []compare.Point
	for i := range 1000 {
		v := 10.0
		if i == 777 {
			v = 99
		} else if i == 333 {
			v = -5
		}
		trail = append(trail, compare.Point{Time: int64(i) * 1e6, Value: v})
	}
	got := thin(trail, 100)
	if len(got.T) > 100 || !slices.IsSorted(got.T) {
		t.Fatalf("%d points, sorted %v", len(got.T), slices.IsSorted(got.T))
	}
	if slices.Max(got.V) != 99 || slices.Min(got.V) != -5 {
		t.Errorf("values from %v to %v: a spike was lost", slices.Min(got.V), slices.Max(got.V))
	}
	if at := slices.Index(got.V, 99); got.T[at] != 777 {
		t.Errorf("the spike is at %v ms, want 777", got.T[at])
	}
	if got := thin(trail[:3], 100); len(got.T) != 3 {
		t.Errorf("a short trail has %d of 3 points", len(got.T))
	}
}

func TestComparisonsAreShared(t *testing.T) {
	s, now := comparing(t)
	q := compareQuery{Specs: []compare.ColumnSpec{{Deployment: "old"}, {Deployment: "new"}}, Now: now, Since: time.Hour}
	one, err := s.comparisons.start(q)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.comparisons.start(q); err != nil || again != one {
		t.Errorf("the same query is computed twice (%v)", err)
	}
	other := q
	other.Per = compare.PerEngine
	if again, err := s.comparisons.start(other); err != nil || again == one {
		t.Errorf("another normalisation gets the same result (%v)", err)
	}
	if _, err := one.wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	s.at(now.Add(compareFor))
	if again, err := s.comparisons.start(q); err != nil || again == one {
		t.Errorf("an old result is shown for ever (%v)", err)
	}
}
