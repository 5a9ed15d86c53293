// Command stepscope shows where the time of LLM inference deployments goes: it
// collects from engines, serves the pages, compares, and reads traces in a terminal.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/engine/sim"
)

// IO holds the streams a command reads and writes, so that tests can give their own.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
}

// Exit codes. Scripts tell a wrong command line from a file that is no trace.
const (
	exitOK       = 0
	exitFailure  = 1
	exitUsage    = 2
	exitNotTrace = 3
)

// exitError is an error that asks for an exit code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// withCode makes the command that returns err end with the given exit code.
func withCode(code int, err error) error { return &exitError{code: code, err: err} }

// commands is the whole command line.
type commands struct {
	Serve   ServeCmd   `cmd:"" help:"Serve the pages: open traces in the browser, keep them here."`
	Collect CollectCmd `cmd:"" help:"Collect statistics and traces from engines, for a server or a database."`
	Trace   struct {
		Summary  SummaryCmd  `cmd:"" help:"Print what the pages show about trace files."`
		Generate GenerateCmd `cmd:"" help:"Write a made-up trace, for trying things out."`
	} `cmd:"" help:"Read and write trace files."`
	Engine  EngineCmd        `cmd:"" help:"Run simulated engines: ledger lines, /profile and traces to observe without a GPU."`
	Import  ImportCmd        `cmd:"" help:"Keep trace files in the server's database."`
	Backup  BackupCmd        `cmd:"" help:"Copy the database to a file while it is in use."`
	Restore RestoreCmd       `cmd:"" help:"Make a database of a copy, after checking it."`
	Capture CaptureCmd       `cmd:"" help:"Capture traces of a deployment's engines and follow them until they are stored."`
	Compare CompareCmd       `cmd:"" help:"Compare deployments, and fail where one is worse than a threshold allows."`
	Version kong.VersionFlag `help:"Print the version and exit."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second interrupt ends the program at once: the first one's handling is over by then.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], &IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// run is the program without its process: it returns the exit code.
func run(ctx context.Context, args []string, streams *IO) int {
	var cli commands
	exit := -1
	parser, err := kong.New(&cli,
		kong.Name("stepscope"),
		kong.Description("Shows where the time of LLM inference deployments goes: traces, statistics, comparisons."),
		kong.Vars{"version": version(), "scenarios": strings.Join(sim.BuiltinNames(), ", ")},
		kong.Writers(streams.Out, streams.Err),
		kong.Exit(func(code int) { exit = code }),
		kong.Bind(streams),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		fmt.Fprintln(streams.Err, "stepscope:", err)
		return exitFailure
	}
	cmd, err := parser.Parse(args)
	if exit >= 0 { // --help or --version has printed what was asked for
		return exit
	}
	if err != nil {
		fmt.Fprintf(streams.Err, "stepscope: %v\n%s\n", err, helpFor(err))
		return exitUsage
	}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(streams.Err, "stepscope:", err)
		var ee *exitError
		if errors.As(err, &ee) {
			return ee.code
		}
		return exitFailure
	}
	return exitOK
}

// helpFor says where the help is that explains a wrong command line.
func helpFor(err error) string {
	var pe *kong.ParseError
	if errors.As(err, &pe) && pe.Context != nil {
		if at := pe.Context.Selected(); at != nil && at.Leaf() {
			return fmt.Sprintf("Run stepscope %s --help for its flags.", strings.TrimPrefix(at.FullPath(), "stepscope "))
		}
	}
	return "Run stepscope --help for the commands and their flags."
}

// version is the module's version as the Go tool recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
