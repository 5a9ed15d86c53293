package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/store"
)

// CaptureCmd asks a server for traces and follows them until they are stored.
type CaptureCmd struct {
	Server string `default:"http://127.0.0.1:8080" env:"STEPSCOPE_SERVER" placeholder:"URL" help:"The server whose collectors reach the engines."`
	Token  string `env:"STEPSCOPE_TOKEN" help:"The server's token; better in the environment than on the command line."`

	Deployment string   `required:"" placeholder:"NAME" help:"Deployment to capture."`
	Engine     []string `sep:"none" placeholder:"NAME" help:"Only this engine; may be repeated. Default: all that can be captured, at the same time."`
	Steps      int      `default:"20" help:"Engine steps to record, 1 to 50: about 4.9 MB each for DeepInfer."`
	OutputDir  string   `placeholder:"DIR" help:"Folder on the engines' node for the files. Default: what the collector's configuration says."`
	Note       string   `help:"Goes into the traces' notes."`
	Force      bool     `help:"Also when an engine has nothing to do: its trace will be empty steps."`

	Follow bool `default:"true" negatable:"" help:"Print each state until all traces are stored; interrupting cancels what is not done."`
	JSON   bool `name:"json" help:"Print the captures as JSON, at the end, instead of their states."`

	Interval time.Duration `default:"1s" help:"Between two looks at the states."`
}

// Validate refuses what no engine would take.
func (c *CaptureCmd) Validate() error {
	if c.Steps < 1 || c.Steps > profile.MaxSteps {
		return fmt.Errorf("--steps %d: give 1 to %d", c.Steps, profile.MaxSteps)
	}
	if c.Interval < time.Millisecond {
		return fmt.Errorf("--interval %s: give a time such as 1s", c.Interval)
	}
	_, err := newCapturesAPI(c.Server, c.Token)
	return err
}

const (
	// serverAway is how long a server may be away before following gives up; captures go on without us.
	serverAway = time.Minute
	// cancelWait is how long the end of cancelled captures is awaited.
	cancelWait = 10 * time.Second
)

// Run starts the captures and follows them. It fails when one of them does.
func (c *CaptureCmd) Run(ctx context.Context, streams *IO) error {
	api, err := newCapturesAPI(c.Server, c.Token)
	if err != nil {
		return err
	}
	list, err := api.start(ctx, wire.CaptureRequest{Deployment: c.Deployment, Engines: c.Engine, Steps: c.Steps,
		OutputDir: c.OutputDir, Note: c.Note, Force: c.Force})
	if err != nil {
		return err
	}
	f := &follower{api: api, out: streams.Out, every: c.Interval, said: map[int64]map[store.CaptureState]bool{}, warned: map[int64]string{}}
	if c.JSON {
		f.out = io.Discard
	}
	f.take(list)
	if c.Follow {
		err = f.follow(ctx, streams.Err)
	}
	if c.JSON {
		e := json.NewEncoder(streams.Out)
		e.SetIndent("", "  ")
		err = errors.Join(err, e.Encode(map[string]any{"captures": f.list}))
	}
	return err
}

// follower prints captures as they go on.
type follower struct {
	api    *capturesAPI
	out    io.Writer
	every  time.Duration
	list   []captureAnswer
	said   map[int64]map[store.CaptureState]bool
	warned map[int64]string
}

// follow asks for the states until all are done.
func (f *follower) follow(ctx context.Context, problems io.Writer) error {
	var away time.Time // since when the server does not answer
	for !f.done() {
		select {
		case <-time.After(f.every):
		case <-ctx.Done():
			return f.cancel(problems)
		}
		err := f.refresh(ctx)
		switch {
		case ctx.Err() != nil: // the next turn cancels
		case err == nil:
			away = time.Time{}
		case away.IsZero():
			away = time.Now()
			fmt.Fprintf(problems, "stepscope: %v; trying again for %s\n", err, serverAway)
		case time.Since(away) > serverAway:
			return fmt.Errorf("%w; the captures go on: the page /captures shows them", err)
		}
	}
	return f.result()
}

// cancel ends what is not done. Its context has ended, so it brings its own.
func (f *follower) cancel(problems io.Writer) error {
	fmt.Fprintln(problems, "stepscope: interrupted: cancelling; interrupt again to leave at once")
	ctx, stop := context.WithTimeout(context.Background(), cancelWait)
	defer stop()
	for _, c := range f.list {
		if c.Done {
			continue
		}
		if err := f.api.cancel(ctx, c.ID); err != nil {
			fmt.Fprintf(problems, "stepscope: capture %d: %v\n", c.ID, err)
		}
	}
	for !f.done() {
		// A failing server is asked again until the time is over.
		_ = f.refresh(ctx)
		if f.done() {
			break
		}
		select {
		case <-time.After(f.every):
		case <-ctx.Done():
			return errors.New("interrupted; not all captures have ended yet: the page /captures shows them")
		}
	}
	return errors.New("interrupted; the captures are cancelled, as far as they were not stored yet")
}

// refresh gets the captures that are not done.
func (f *follower) refresh(ctx context.Context) error {
	list := slices.Clone(f.list)
	for i, c := range list {
		if c.Done {
			continue
		}
		got, err := f.api.get(ctx, c.ID)
		if err != nil {
			return err
		}
		list[i] = got
	}
	f.take(list)
	return nil
}

func (f *follower) done() bool {
	return !slices.ContainsFunc(f.list, func(c captureAnswer) bool { return !c.Done })
}

// states in the order in which they are printed when several came at once.
var states = []store.CaptureState{store.Queued, store.Asked, store.PickedUp, store.Captured, store.Found, store.Stored, store.Failed, store.Cancelled}

// take prints what is new.
func (f *follower) take(list []captureAnswer) {
	f.list = list
	for _, c := range list {
		if f.said[c.ID] == nil {
			f.said[c.ID] = map[store.CaptureState]bool{}
		}
		for _, s := range states {
			at, ok := c.Times[s]
			if !ok || f.said[c.ID][s] {
				continue
			}
			f.said[c.ID][s] = true
			fmt.Fprintf(f.out, "%6d  %-24s  %-10s %s  %8s%s\n", c.ID, fold(plain(c.Engine), 24), words(s),
				at.Local().Format("15:04:05.000"), since(c.Times[store.Queued], at), f.detail(c, s))
		}
		if c.Warning != "" && c.Warning != f.warned[c.ID] {
			f.warned[c.ID] = c.Warning
			last := c.Warning[strings.LastIndex(c.Warning, "\n")+1:]
			fmt.Fprintf(f.out, "%6d  %-24s  ! %s\n", c.ID, fold(plain(c.Engine), 24), plain(last))
		}
	}
}

// words is a state as people say it.
func words(s store.CaptureState) string { return strings.ReplaceAll(string(s), "_", " ") }

// since is the time from the beginning of a capture.
func since(start, at time.Time) string {
	if start.IsZero() || at.Before(start) {
		return ""
	}
	return fmt.Sprintf("+%.1f s", at.Sub(start).Seconds())
}

// detail is what else there is to say about a state.
func (f *follower) detail(c captureAnswer, s store.CaptureState) string {
	switch s {
	case store.Found:
		return fmt.Sprintf("  %d bytes, %s", c.Bytes, plain(c.Path))
	case store.Stored:
		text := fmt.Sprintf("  %s", f.api.link("/traces", c.Trace))
		if n := len(c.MoreTraces); n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		return text
	case store.Failed, store.Cancelled:
		text := ""
		for _, t := range []string{c.Error, c.Hint} {
			if t != "" {
				text += "\n        " + plain(t)
			}
		}
		return text
	}
	return ""
}

// result is the end of all captures as one error.
func (f *follower) result() error {
	failed := 0
	for _, c := range f.list {
		if c.State != store.Stored {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d captures gave no trace", failed, len(f.list))
	}
	return nil
}
