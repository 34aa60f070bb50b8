package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/upstream"
	"github.com/llmd-dev/llmd/service"
)

type serveCmd struct {
	Config string `help:"Configuration file (YAML); default $LLMD_CONFIG, or none." type:"path" placeholder:"FILE"`
}

// Run serves until SIGTERM or SIGINT; a second one ends at once.
func (c *serveCmd) Run(s *session) error {
	app, err := load(c.Config, s.env, s.stderr)
	if err != nil {
		return configFailure(s.stderr, err)
	}
	defer app.close()
	var listeners []net.Listener
	for _, a := range app.file.Server.Listen {
		l, err := listen(s.ctx, a)
		if err != nil {
			for _, open := range listeners {
				_ = open.Close()
			}
			return err
		}
		listeners = append(listeners, l)
	}
	again := make(chan os.Signal, 1)
	stopNow := make(chan struct{})
	go func() {
		<-s.ctx.Done()
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		<-again
		close(stopNow)
	}()
	return app.server.serve(s.ctx, listeners, stopNow)
}

// app is a configured llmd.
type app struct {
	file    *config.File
	catalog *catalog.Catalog
	client  *upstream.Client
	service *service.Service
	server  *server
}

// load reads the configuration and puts everything together. A
// *config.ParseError is the user's to mend.
func load(path string, env config.Env, logTo io.Writer) (*app, error) {
	file, err := config.Load(path, env)
	if err != nil {
		return nil, err
	}
	return assemble(file, env, logTo)
}

func assemble(file *config.File, env config.Env, logTo io.Writer) (*app, error) {
	models, err := catalog.Load(file, env)
	if err != nil {
		return nil, err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(file.Server.LogLevel)); err != nil {
		return nil, fmt.Errorf("log level: %w", err)
	}
	a := &app{file: file, catalog: models, client: upstream.New(upstream.Options{UserAgent: "llmd/" + version()})}
	a.service = service.New(func() *catalog.Catalog { return models }, a.client, service.Options{
		Instance: file.Server.Instance, CallerKeys: file.Server.CallerKeys.Allow, NoStore: !file.Server.PartialStore,
	})
	a.server = newServer(file.Server, a.service, slog.New(slog.NewTextHandler(logTo, &slog.HandlerOptions{Level: level})))
	return a, nil
}

func (a *app) close() {
	a.service.Close()
	a.client.Close()
}

// configFailure prints a mistake of the configuration and gives its exit code.
func configFailure(w io.Writer, err error) error {
	var parse *config.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	fmt.Fprintln(w, "llmd:", err)
	return exitCode(exitUsage)
}
