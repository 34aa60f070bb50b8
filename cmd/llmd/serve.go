package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/gcpace"
	"github.com/llmd-dev/llmd/internal/procs"
	"github.com/llmd-dev/llmd/internal/server"
)

type serveCmd struct {
	Config string `help:"Configuration file (YAML); default $LLMD_CONFIG, or none." type:"path" placeholder:"FILE"`
}

// Help stands below the flags' in "llmd serve --help".
func (serveCmd) Help() string {
	return "Without a configuration it listens on tcp://127.0.0.1:50051 and offers the providers whose usual environment variables are set. " +
		"$LLMD_LISTEN has other addresses (host:port or unix:/path, separated by commas), which go before the configuration's server.listen."
}

// Run serves until SIGTERM or SIGINT; a second one ends at once, with exit code 130.
// SIGHUP, or a change of the configuration's files, reloads providers and models.
func (c *serveCmd) Run(s *session) error {
	file, err := config.Load(c.Config, s.env)
	if err != nil {
		return err
	}
	app, err := server.New(file, s.env, version(), s.stderr)
	if err != nil {
		return err
	}
	app.Follow = true
	listeners, err := server.ListenAll(s.ctx, file.Server.Addresses())
	if err != nil {
		return inUse(err, "server.listen or LLMD_LISTEN")
	}
	if admin := file.Server.Admin; admin.On() {
		if app.Admin, err = server.Listen(s.ctx, admin.Listen); err != nil {
			closeAll(listeners)
			return inUse(err, "admin.listen")
		}
	}
	native := len(file.Server.Listen)
	listeners, app.Web = listeners[:native:native], listeners[native:]
	defer gcpace.Start()()
	defer procs.Follow(app.Calls, app.Orphans)()
	served, stopNow := make(chan struct{}), make(chan struct{})
	defer close(served)
	go func() {
		<-s.ctx.Done()
		again := make(chan os.Signal, 1)
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(again)
		select {
		case <-again:
			close(stopNow)
		case <-served:
		}
	}()
	if err := app.Serve(s.ctx, listeners, stopNow); err != nil {
		return err
	}
	select {
	case <-stopNow:
		return exitCodeError(exitInterrupted) // what was running was not let finish
	default:
		return nil
	}
}

// inUse adds to an error of listening what helps where the port is taken.
func inUse(err error, by string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w (another program uses it: choose another by %s)", err, by)
	}
	return err
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		_ = l.Close()
	}
}
