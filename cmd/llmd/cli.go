package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/llmd-dev/llmd/internal/config"
)

// Exit codes.
const (
	exitOK          = 0
	exitError       = 1   // something failed
	exitUsage       = 2   // the command line or the configuration is wrong
	exitInterrupted = 130 // as shells say of SIGINT
)

// cli is the command line.
type cli struct {
	Serve   serveCmd   `cmd:"" help:"Run the server."`
	Demo    demoCmd    `cmd:"" help:"Show streaming, a hand-off between two APIs and an abort, on this machine and without keys."`
	Call    callCmd    `cmd:"" help:"Send one prompt to a model and stream its answer."`
	Models  modelsCmd  `cmd:"" help:"List models."`
	Check   checkCmd   `cmd:"" help:"List providers, where their credentials come from and what is missing."`
	Health  healthCmd  `cmd:"" help:"Ask a running server how it is; exit code 0 if it serves, 1 if not."`
	Version versionCmd `cmd:"" help:"Print the version, the commit, the Go release and the wire APIs."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// session is what commands work with: the process, or a test's stand-in for it.
type session struct {
	// ctx ends when the process is asked to end.
	ctx            context.Context //nolint:containedctx // one command, one context
	stdin          io.Reader
	stdout, stderr io.Writer
	env            config.Env
}

// exitCodeError ends a command with a code; its message is already printed.
type exitCodeError int

func (e exitCodeError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a mistake on the command line that the parser cannot see.
type usageError struct{ problem string }

func (e *usageError) Error() string { return e.problem }

// filled is kong's own mapper of a type of strings, but refuses an empty value that is
// given: a script's variable that is not set must not mean that the flag is left out.
func filled(kind string) kong.Mapper {
	usual := kong.NewRegistry().RegisterDefaults().ForNamedType(kind, reflect.TypeFor[string]())
	return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		if given := ctx.Scan.Peek(); !given.IsEOL() && given.Value == "" {
			return errors.New("must not be empty")
		}
		return usual.Decode(ctx, target)
	})
}

// run is main without the process around it.
func run(s *session, args []string) int {
	var c cli
	code := -1
	parser, err := kong.New(&c, kong.Name("llmd"), kong.Description("Every large language model through one gRPC contract."),
		kong.Writers(s.stdout, s.stderr), kong.Exit(func(n int) { code = n }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.NamedMapper("path", filled("path")), kong.NamedMapper("name", filled("")),
		kong.Vars{"version": "llmd " + version(), "efforts": effortNames()})
	if err != nil {
		put(s.stderr, "llmd: %v\n", err)
		return exitError
	}
	switch {
	case len(args) == 0: // the usage is the error message
		parser.Stdout = s.stderr
		_, _ = parser.Parse([]string{"--help"})
		return exitUsage
	case args[0] == "help":
		args = append(args[1:len(args):len(args)], "--help")
	}
	parsed, err := parser.Parse(args)
	if code >= 0 { // --help or --version
		return code
	}
	if err != nil {
		put(s.stderr, "llmd: %v\n", err)
		return exitUsage
	}
	return s.exit(parsed.Run(s))
}

// exit prints what a command ended with and gives its exit code.
func (s *session) exit(err error) int {
	var (
		exit  exitCodeError
		usage *usageError
		parse *config.ParseError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return int(exit)
	}
	put(s.stderr, "llmd: %s\n", describe(err))
	if errors.As(err, &usage) || errors.As(err, &parse) {
		return exitUsage
	}
	return exitError
}
