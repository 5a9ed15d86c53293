package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
)

// ImportCmd keeps trace files in a database, also while a server has it open.
// The server's limits on size and space don't apply: whoever may write the file
// decides.
type ImportCmd struct {
	Files []string `arg:"" name:"file" help:"Trace files or patterns such as 'runs/*.json.gz'; - reads standard input."`
	DB    string   `name:"db" default:"stepscope.db" env:"STEPSCOPE_DB" type:"path" help:"Database file; made when missing."`
	Label string   `help:"Deployment that the traces come from; traces kept before get it too."`
	Note  string   `help:"Note on the traces; traces kept before get it too."`
}

// Run keeps each file and prints its id, size and whether it had been kept
// before and got another label or note. A file that can't be kept doesn't keep the others out.
func (cmd *ImportCmd) Run(ctx context.Context, streams *IO) (err error) {
	files, failed := expand(cmd.Files)
	if len(files) == 0 {
		return importErrors(failed)
	}
	st, err := sqlite.Open(ctx, cmd.DB, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for _, name := range files {
		if err := cmd.keep(ctx, streams, st, name); err != nil {
			failed = append(failed, err)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped at %q: %w", name, err)
		}
	}
	return importErrors(failed)
}

func (cmd *ImportCmd) keep(ctx context.Context, streams *IO, st store.Traces, name string) error {
	m := store.Meta{Label: cmd.Label, Note: cmd.Note}
	in := streams.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("%w; check the name and your permission to read it", err)
		}
		defer f.Close()
		if fi, err := f.Stat(); err == nil && fi.IsDir() {
			return fmt.Errorf("%q is a folder: name the files in it, for example with %q", name, filepath.Join(name, "*.json.gz"))
		}
		m.Name, in = filepath.Base(name), f
	}
	t, existing, err := st.KeepTrace(ctx, m, in)
	if err != nil {
		return fmt.Errorf("%q: %w%s", name, err, nextStep(err))
	}
	state, was := "new", ""
	if existing {
		state = "existing"
		if was, err = cmd.relabel(ctx, st, t); err != nil {
			return fmt.Errorf("%q is kept, its label and note stay as they were: %w", name, err)
		}
		if was != "" {
			state = "updated"
		}
	}
	_, err = fmt.Fprintf(streams.Out, "%s  %12d bytes  %-8s  %s%s\n", t.ID, t.Bytes, state, t.Name, was)
	return err
}

// relabel gives a trace that was kept before the label and the note of the
// command line, and says what it replaced.
func (cmd *ImportCmd) relabel(ctx context.Context, st store.Traces, t store.Trace) (was string, err error) {
	given := store.Meta{Label: cmd.Label, Note: cmd.Note}.Clean()
	var p store.Patch
	if given.Label != "" && given.Label != t.Label {
		p.Label, was = &given.Label, fmt.Sprintf("  (label was %q)", t.Label)
	}
	if given.Note != "" && given.Note != t.Note {
		p.Note, was = &given.Note, was+fmt.Sprintf("  (note was %q)", t.Note)
	}
	if was != "" {
		_, err = st.UpdateTrace(ctx, t.ID, p)
	}
	return was, err
}

// expand resolves the patterns that a shell left alone. A file whose name merely
// looks like a pattern is taken as it is.
func expand(args []string) (files []string, failed []error) {
	for _, arg := range args {
		if _, err := os.Lstat(arg); arg == "-" || err == nil {
			files = append(files, arg)
			continue
		}
		found, err := filepath.Glob(arg)
		switch {
		case err != nil:
			failed = append(failed, withCode(exitUsage, fmt.Errorf("%q is no valid pattern: %w", arg, err)))
		case len(found) == 0:
			failed = append(failed, fmt.Errorf("%q: no such file; check the name, relative names start at the current folder", arg))
		}
		files = append(files, found...)
	}
	return files, failed
}

// nextStep is what a person can do about a file that was not kept.
func nextStep(err error) string {
	switch {
	case errors.Is(err, store.ErrNotTrace):
		return "; give the file that the profiler wrote"
	case errors.Is(err, store.ErrDiskFull):
		return "; make room on the database's disk and import it again"
	case errors.Is(err, store.ErrBusy):
		return "; another program holds the database, try again"
	case errors.Is(err, store.ErrInterrupted):
		return "; import it again"
	}
	return ""
}

// importErrors joins what failed. The exit code says "not a trace" only if
// nothing worse happened.
func importErrors(failed []error) error {
	if len(failed) == 0 {
		return nil
	}
	code := exitOK
	for _, err := range failed {
		var coded *exitError
		switch {
		case errors.As(err, &coded):
			code = cmp.Or(code, coded.code)
		case errors.Is(err, store.ErrNotTrace):
			code = cmp.Or(code, exitNotTrace)
		default:
			return withCode(exitFailure, errors.Join(failed...))
		}
	}
	return withCode(code, errors.Join(failed...))
}
