package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/telemetry"
)

// flushTimeout is how long the last metrics, spans and events may take to be sent; hurried
// when everything is to end at once.
const (
	flushTimeout = 5 * time.Second
	hurried      = 500 * time.Millisecond
)

func (a *App) logHandler(to io.Writer) slog.Handler {
	o := &slog.HandlerOptions{Level: &a.level}
	if a.File.Server.LogFormat == "json" {
		return slog.NewJSONHandler(to, o)
	}
	return slog.NewTextHandler(to, o)
}

// startTelemetry measures if somebody looks.
func (a *App) startTelemetry(version string) error {
	s := a.File.Server
	t, err := telemetry.New(context.Background(), telemetry.Options{
		Version: version, Instance: s.Instance, Env: a.env, Log: a.log, Prometheus: s.Admin.On(),
		GenAI: telemetry.Conventions(s.Telemetry.GenAI), Callers: s.Telemetry.Callers,
	})
	if err != nil {
		return telemetryMistake(err)
	}
	a.telemetry = t
	return nil
}

func telemetryMistake(err error) error {
	if e, ok := errors.AsType[*telemetry.VariableError](err); ok {
		return &config.ParseError{File: "environment", Key: e.Name, Problem: e.Problem}
	}
	return &config.ParseError{File: "environment", Key: "OTEL_*", Problem: err.Error()}
}

// begin has the counters of providers that are ready begin.
func (a *App) begin(models *catalog.Catalog) {
	for _, p := range models.Providers() {
		if p.Configured {
			a.telemetry.Provider(p.ID)
		}
	}
}

// flush sends the last metrics, spans and events.
func (a *App) flush(stopNow <-chan struct{}) {
	limit := flushTimeout
	select {
	case <-stopNow:
		limit = hurried
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if a.telemetry.Shutdown(ctx) != nil {
		a.log.Warn("the last metrics, spans and events may not have been sent")
	}
}

// readings are the gauges of the process as a whole.
func (a *App) readings(certs *certificates) []telemetry.Reading {
	all := []telemetry.Reading{telemetry.Loaded(a.loaded.Load()), telemetry.Draining(a.transport.draining.Load())}
	if end := certs.expires(); !end.IsZero() {
		all = append(all, telemetry.Expires(end.Unix()))
	}
	return all
}
