package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// GenerateCmd writes a made-up capture of a DeepInfer engine in the layout of PyTorch's profiler.
type GenerateCmd struct {
	Steps  int    `default:"20" help:"Engine steps in the trace, idle ones included; about 4.9 MB each."`
	Seed   uint64 `default:"1" help:"Chooses the trace: the same seed gives the same bytes."`
	Idle   int    `help:"So many of the steps are idle placeholders."`
	ZOS    bool   `name:"zos" help:"Zero-overhead scheduling: a step's post-processing lies in the next step and the last step's GPU work is missing."`
	Output string `short:"o" placeholder:"FILE" help:"Where to write; - is standard output. Default: the name an engine gives such a file, in the current directory."`
	Gzip   bool   `help:"Compress with gzip."`
	Truth  string `placeholder:"FILE" help:"Also write what is in the trace as JSON: counts and times to test a reader against."`
	Force  bool   `help:"Replace files that exist."`
}

// Validate refuses impossible options before anything is written.
func (c *GenerateCmd) Validate() error {
	if c.Steps < 1 {
		return errors.New("--steps: a trace has at least one step")
	}
	if c.Truth == "-" && c.Output == "-" {
		return errors.New("--truth and --output cannot both be standard output; give one of them a file")
	}
	return c.options().Validate()
}

func (c *GenerateCmd) options() kineto.Options {
	return kineto.Options{Steps: c.Steps, Seed: c.Seed, IdleSteps: c.Idle, ZOS: c.ZOS}
}

// Run writes the trace, and the truth if asked for. A file appears under its name only when it is complete.
func (c *GenerateCmd) Run(ctx context.Context, streams *IO) error {
	name := c.Output
	if name == "" {
		name = c.options().FileName()
		if c.Gzip {
			name += ".gz"
		}
	}
	// Look before the work, not after it.
	for _, file := range []string{name, c.Truth} {
		if err := c.free(file); err != nil {
			return err
		}
	}
	var truth kineto.Truth
	if err := create(streams, name, func(w io.Writer) (err error) {
		truth, err = c.generate(stopper{ctx, w})
		return err
	}); err != nil {
		return err
	}
	if c.Truth != "" {
		if err := create(streams, c.Truth, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetEscapeHTML(false) // kernel names are full of <>
			e.SetIndent("", " ")
			return e.Encode(truth)
		}); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(streams.Err, "%s: %d steps, %d events, %d bytes of JSON\n", name, truth.StepCount, truth.Events, truth.Bytes)
	return err
}

func (c *GenerateCmd) generate(w io.Writer) (kineto.Truth, error) {
	if !c.Gzip {
		return kineto.Generate(w, c.options())
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return kineto.Truth{}, err
	}
	truth, err := kineto.Generate(z, c.options())
	if err != nil {
		return truth, err
	}
	return truth, z.Close()
}

// free says whether a file may be written.
func (c *GenerateCmd) free(name string) error {
	if name == "" || name == "-" || c.Force {
		return nil
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().IsRegular():
		return fmt.Errorf("%s exists: give --force to replace it, or another name", name)
	}
	return nil
}

// stopper is a writer that fails once its context is done, so that an interrupt ends a long generation.
type stopper struct {
	ctx context.Context
	w   io.Writer
}

func (s stopper) Write(p []byte) (int, error) {
	if err := context.Cause(s.ctx); err != nil {
		return 0, err
	}
	return s.w.Write(p)
}

// create lets write fill a file that takes its name when complete. Standard output, devices and pipes are written directly.
func create(streams *IO, name string, write func(io.Writer) error) error {
	if name == "-" {
		return write(streams.Out)
	}
	target := name
	if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() {
		target += ".part"
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Close())
	switch {
	case target == name:
		return err
	case err != nil:
		return errors.Join(err, os.Remove(target))
	}
	return os.Rename(target, name)
}
