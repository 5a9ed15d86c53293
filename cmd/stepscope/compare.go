package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sides"
	"github.com/stepscope/stepscope/store/sqlite"
)

// CompareCmd prints a comparison of deployments, and holds it against thresholds.
type CompareCmd struct {
	Columns []string `arg:"" name:"column" help:"Two to six deployments, the first is the baseline: NAME, NAME@-1h, NAME@FROM..TO (times as 2026-03-01T10:00Z) or NAME@baseline:LABEL."`

	Since  span     `default:"1h" placeholder:"TIME" help:"Range of columns that name none, such as 90s, 15m, 1h or 7d; it ends now. Default: 1h."`
	DB     string   `name:"db" env:"STEPSCOPE_DB" placeholder:"FILE" type:"path" help:"Database to read, also while a server has it open. Default: stepscope.db."`
	Server string   `env:"STEPSCOPE_SERVER" placeholder:"URL" help:"Ask this server instead."`
	Token  string   `env:"STEPSCOPE_TOKEN" help:"The server's token, if reading needs one; better in the environment."`
	Metric []string `help:"Only these metrics (keys such as completion_TPS); the figures of the load come with them."`
	Per    string   `placeholder:"gpu|engine|token" help:"Divide sums by gpu or engine, or give timers per generated token (token)."`

	Format string `enum:"text,json,csv,markdown" default:"text" help:"text, json, csv or markdown."`
	JSON   bool   `help:"The same as --format json."`
	CSV    bool   `name:"csv" help:"The same as --format csv."`
	MD     bool   `name:"markdown" help:"The same as --format markdown."`
	Lang   string `enum:"en,zh" default:"en" help:"Language of the texts: en or zh."`
	All    bool   `help:"Print all rows, not only the main ones and those with something to say."`

	FailOn        []string `sep:"none" placeholder:"THRESHOLD" help:"End with exit code 4 when a difference is evident and beyond the threshold, as in 'completion_TPS<-3%' or 'TTFT.p95>+10%'; with 5 when that can be neither shown nor ruled out."`
	PassUndecided bool     `help:"End with 0 where a threshold is neither shown to be crossed nor ruled out."`
}

// span is a length of time as columns have it, days included.
type span time.Duration

// UnmarshalText reads a length of time from the command line.
func (s *span) UnmarshalText(text []byte) error {
	d, err := compare.ParseSpan(string(text))
	*s = span(d)
	return err
}

// Exit codes of the gate; docs/compare.md describes them.
const (
	exitRegression = 4
	exitUndecided  = 5
)

// Help tells how a gate ends.
func (c *CompareCmd) Help() string {
	return `Exit codes:
  0  compared; no threshold of --fail-on is crossed
  1  could not compare: no such deployment, database or server
  2  the command line is wrong
  4  a threshold is crossed: the difference is evident and lies beyond it
  5  not decided: crossing is neither shown nor ruled out, or there is nothing
     to compare; 0 with --pass-undecided`
}

// compareTimeout bounds the server's answer.
const compareTimeout = 2 * time.Minute

// Validate refuses what can't be asked before anything is read.
func (c *CompareCmd) Validate() error {
	if _, err := compare.ParseColumns(c.Columns); err != nil {
		return err
	}
	if _, err := compare.ParseGates(c.FailOn); err != nil {
		return err
	}
	if err := compare.CheckMetrics(c.Metric); err != nil {
		return fmt.Errorf("--metric: %w", err)
	}
	if !slices.Contains([]compare.Per{compare.PerDeployment, compare.PerGPU, compare.PerEngine, compare.PerToken}, compare.Per(c.Per)) {
		return fmt.Errorf("--per: %.40q is none of gpu, engine and token", c.Per)
	}
	if c.DB != "" && c.Server != "" {
		return errors.New("--db and --server: give one of them")
	}
	return nil
}

// Run prints the comparison; thresholds decide how it ends.
func (c *CompareCmd) Run(ctx context.Context, streams *IO) error {
	t, err := c.table(ctx)
	if err != nil {
		return err
	}
	gates, err := compare.ParseGates(c.FailOn)
	if err != nil {
		return err
	}
	results := t.Check(gates)
	if err := c.write(streams.Out, t, results); err != nil {
		return err
	}
	return c.ending(results)
}

func (c *CompareCmd) format() string {
	switch {
	case c.JSON:
		return "json"
	case c.CSV:
		return "csv"
	case c.MD:
		return "markdown"
	}
	return c.Format
}

func (c *CompareCmd) write(out io.Writer, t *compare.Table, results []compare.GateResult) error {
	switch c.format() {
	case "json":
		return t.Write(out, "json", c.Lang)
	case "csv":
		return t.Write(out, "csv", c.Lang)
	case "markdown":
		return t.Write(out, "md", c.Lang)
	}
	var text bytes.Buffer // one write: a terminal shows it whole
	printComparison(&text, t, c.Lang, c.All)
	printGates(&text, results, c.Lang)
	_, err := out.Write(text.Bytes())
	return err
}

// ending turns the gates' results into the exit code.
func (c *CompareCmd) ending(results []compare.GateResult) error {
	var crossed, undecided []string
	for _, r := range results {
		line := "ABCDEF"[r.Column:r.Column+1] + ": " + plain(r.Gate.String())
		switch r.Outcome {
		case compare.Crossed:
			crossed = append(crossed, line)
		case compare.Undecided:
			undecided = append(undecided, line)
		}
	}
	switch {
	case len(crossed) > 0:
		return withCode(exitRegression, fmt.Errorf("regression: beyond the threshold in %s", strings.Join(crossed, "; ")))
	case len(undecided) > 0 && !c.PassUndecided:
		return withCode(exitUndecided, fmt.Errorf("not enough evidence to decide %s: compare a longer time, or pass with --pass-undecided", strings.Join(undecided, "; ")))
	}
	return nil
}

// table reads the comparison from a server or a database.
func (c *CompareCmd) table(ctx context.Context) (*compare.Table, error) {
	if c.Server != "" {
		return c.ask(ctx)
	}
	db := c.DB
	if db == "" {
		db = "stepscope.db"
	}
	if _, err := os.Stat(db); err != nil { // opening would make it
		return nil, fmt.Errorf("%w; name the server's database with --db, or its address with --server", err)
	}
	st, err := sqlite.Open(ctx, db, store.Options{})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	columns, err := compare.ParseColumns(c.Columns)
	if err != nil {
		return nil, err
	}
	all, err := sides.Load(ctx, st, columns, sides.Options{Since: time.Duration(c.Since), Metrics: c.Metric})
	if err != nil {
		return nil, err
	}
	return compare.Compare(all, compare.Options{Per: compare.Per(c.Per), Metrics: c.Metric})
}

// ask gets the comparison from a server.
func (c *CompareCmd) ask(ctx context.Context) (*compare.Table, error) {
	base, err := url.Parse(c.Server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("--server %.80q is not an address such as http://127.0.0.1:8080", c.Server)
	}
	columns, err := compare.ParseColumns(c.Columns)
	if err != nil {
		return nil, err
	}
	q := url.Values{"format": {"json"}}
	for _, s := range columns {
		if s.Since == 0 && s.From.IsZero() && s.Baseline == "" {
			s.Since = time.Duration(c.Since)
		}
		q.Add("c", s.String())
	}
	for _, key := range c.Metric {
		q.Add("metric", key)
	}
	if c.Per != "" {
		q.Set("per", c.Per)
	}
	u := base.JoinPath("/api/compare")
	u.RawQuery = q.Encode()
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w; is the server up?", base.Redacted(), err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, refusedBy(base, resp, c.Lang)
	}
	t, err := compare.ReadJSON(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", base.Redacted(), err)
	}
	return t, nil
}

// refusedBy tells a server's refusal in a language; a proxy's answer is none of ours and
// is shown as it came.
func refusedBy(base *url.URL, resp *http.Response, lang string) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // the status says enough if this fails
	type words struct {
		Error string `json:"error"`
		Hint  string `json:"hint"`
	}
	var said struct {
		words
		ZH words `json:"zh"`
	}
	if err := json.Unmarshal(text, &said); err != nil || said.Error == "" {
		return fmt.Errorf("%s answers %s: %s", base.Redacted(), resp.Status, plain(strings.TrimSpace(string(text[:min(len(text), 300)]))))
	}
	w := said.words
	if lang == "zh" && said.ZH.Error != "" {
		w = said.ZH
	}
	if w.Hint == "" {
		return errors.New(plain(w.Error))
	}
	return fmt.Errorf("%s; %s", plain(w.Error), plain(w.Hint))
}
