package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1 // something failed
	exitUsage = 2 // the command line or the configuration is wrong
)

// cli is the command line.
type cli struct {
	Serve   serveCmd   `cmd:"" help:"Run the server."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// session is what commands work with.
type session struct {
	ctx            context.Context //nolint:containedctx // one command, one context
	stdout, stderr io.Writer
	env            func(string) (string, bool)
}

// exitCode ends a command with a code; its message is already printed.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	code := -1
	parser, err := kong.New(&c, kong.Name("llmd"), kong.Description("Every large language model through one gRPC contract."),
		kong.Writers(stdout, stderr), kong.Exit(func(n int) { code = n }), kong.UsageOnError())
	if err != nil {
		fmt.Fprintln(stderr, "llmd:", err)
		return exitError
	}
	parsed, err := parser.Parse(args)
	if code >= 0 { // --help
		return code
	}
	if err != nil {
		fmt.Fprintln(stderr, "llmd:", err)
		return exitUsage
	}
	err = parsed.Run(&session{ctx: ctx, stdout: stdout, stderr: stderr, env: os.LookupEnv})
	var exit exitCode
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return int(exit)
	}
	fmt.Fprintln(stderr, "llmd:", err)
	return exitError
}
