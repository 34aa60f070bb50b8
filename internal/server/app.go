package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/upstream"
	"github.com/llmd-dev/llmd/service"
)

// App is a configured llmd.
type App struct {
	// File is the configuration it was made from.
	File *config.File
	// Catalog is what it can reach.
	Catalog *catalog.Catalog

	client    *upstream.Client
	service   *service.Service
	transport *transport
}

// New puts an llmd together. version is what it calls itself towards providers;
// log lines go to logTo. A mistake of the configuration is a *config.ParseError.
func New(file *config.File, env config.Env, version string, logTo io.Writer) (*App, error) {
	models, err := catalog.Load(file, env)
	if err != nil {
		return nil, err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(file.Server.LogLevel)); err != nil {
		return nil, fmt.Errorf("server: log level: %w", err)
	}
	a := &App{File: file, Catalog: models, client: upstream.New(upstream.Options{UserAgent: "llmd/" + version})}
	log := slog.New(slog.NewTextHandler(logTo, &slog.HandlerOptions{Level: level}))
	a.service = service.New(func() *catalog.Catalog { return models }, a.client, service.Options{
		Instance: file.Server.Instance, CallerKeys: file.Server.CallerKeys.Allow, NoStore: !file.Server.PartialStore, Log: log,
	})
	a.transport = newTransport(file.Server, a.service, log)
	return a, nil
}

// Serve answers on the listeners until ctx ends, then drains. Closing stopNow ends
// a drain at once. The App cannot be used afterwards.
func (a *App) Serve(ctx context.Context, listeners []net.Listener, stopNow <-chan struct{}) error {
	defer a.client.Close()
	defer a.service.Close()
	return a.transport.serve(ctx, listeners, stopNow)
}
