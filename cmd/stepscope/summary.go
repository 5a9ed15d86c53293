package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/stepscope/stepscope/engine/trace"
)

// SummaryCmd prints what trace files say, by the same code as the page.
type SummaryCmd struct {
	Files []string `arg:"" name:"file" help:"Trace files or patterns such as 'runs/*.json.gz'; - reads standard input."`
	JSON  bool     `help:"Print JSON (an array for several files); docs/trace-summary.md describes it."`
	NextN int64    `name:"nextn" default:"5" help:"Draft tokens a DeepInfer decode step may verify per sequence: tells decode from prefill."`
	Rows  int      `default:"15" help:"Most rows of each table; 0 prints all. JSON always has all."`
}

// Validate refuses impossible options before anything is read.
func (c *SummaryCmd) Validate() error {
	switch {
	case c.Rows < 0:
		return fmt.Errorf("--rows %d: give how many rows of each table to print, 0 for all", c.Rows)
	case c.NextN < 1 || c.NextN > 1024:
		return fmt.Errorf("--nextn %d: give the number of draft tokens, 1 to 1024", c.NextN)
	}
	return nil
}

// Run reads each file on all cores and prints its summary. A file that can't be read
// doesn't keep the others from being shown.
func (c *SummaryCmd) Run(ctx context.Context, streams *IO) error {
	files, failed := expand(c.Files)
	out := bufio.NewWriter(streams.Out)
	many := len(c.Files) > 1 || len(files) > 1 // the shape follows what was asked for, not what could be read
	printed := 0
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped before %q: %w", name, err)
		}
		s, err := c.read(streams, name)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if c.JSON {
			writeSeparator(out, printed, many)
			out.Write(s.AppendJSON(nil))
			if !many {
				out.WriteByte('\n')
			}
		} else {
			if printed > 0 {
				out.WriteByte('\n')
			}
			printSummary(out, s, c.Rows)
		}
		printed++
		if s.Health.Slices == 0 {
			fmt.Fprintf(streams.Err, "stepscope: %q: no slice in its %d events; %s\n", name, s.Health.Events, hollow(s))
		}
	}
	if c.JSON && many {
		if printed == 0 {
			out.WriteByte('[')
		}
		out.WriteString("\n]\n")
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return summaryErrors(failed)
}

func writeSeparator(out *bufio.Writer, printed int, many bool) {
	switch {
	case !many:
	case printed == 0:
		out.WriteString("[\n")
	default:
		out.WriteString(",\n")
	}
}

// hollow says what to do about a file that could be read and has nothing in it to go by:
// its zeros are no measurements.
func hollow(s *trace.Summary) string {
	if s.Health.TruncatedAt.OK {
		return "the file ends early: copy it again once its writer is done"
	}
	return "capture again, and check that the capture ran while the engine had work"
}

// read reads one file: a plain one in as many ranges as there are cores, anything else as
// a stream.
func (c *SummaryCmd) read(streams *IO, name string) (*trace.Summary, error) {
	var p *trace.Partial
	var err error
	if name == "-" {
		p, err = trace.Read(streams.In, trace.Options{})
	} else {
		p, err = readFile(name)
	}
	var bad *trace.Error
	if errors.As(err, &bad) {
		return nil, withCode(exitNotTrace, fmt.Errorf("%q: %w", name, err))
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w; check that the file can be read", name, err)
	}
	return trace.Analyze(p, trace.AnalyzeOptions{Name: filepath.Base(name), NextN: c.NextN}), nil
}

func readFile(name string) (*trace.Partial, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case fi.IsDir():
		return nil, fmt.Errorf("it is a folder, name the files in it (for example %q)", filepath.Join(name, "*.json.gz"))
	case !fi.Mode().IsRegular(): // a pipe or a device has no ranges
		return trace.Read(f, trace.Options{})
	}
	return trace.ReadRanges(f, fi.Size(), runtime.GOMAXPROCS(0), trace.Options{})
}

// summaryErrors joins what failed. The exit code says "not a trace" only if nothing worse
// happened.
func summaryErrors(failed []error) error {
	if len(failed) == 0 {
		return nil
	}
	code := exitOK
	for _, err := range failed {
		var coded *exitError
		if !errors.As(err, &coded) {
			return withCode(exitFailure, errors.Join(failed...))
		}
		code = cmp.Or(code, coded.code)
	}
	return withCode(code, errors.Join(failed...))
}
