package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmd-dev/llmd/interceptors"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/fetch"
	"github.com/llmd-dev/llmd/internal/principal"
	"github.com/llmd-dev/llmd/internal/procs"
	"github.com/llmd-dev/llmd/internal/telemetry"
	"github.com/llmd-dev/llmd/internal/upstream"
	"github.com/llmd-dev/llmd/service"
)

// App is a configured llmd.
type App struct {
	// File is the configuration it was made from. What "server" says there holds
	// until the end, but for the log level and for who may call.
	File *config.File
	// Follow: Serve reloads the configuration on SIGHUP, and when one of its files
	// changes. It is set before Serve.
	Follow bool
	// Admin is where the admin pages are served; nil = nowhere. It is set before Serve.
	Admin net.Listener
	// Web are the listeners of server.web. They are set before Serve.
	Web []net.Listener
	// Calls counts those that are at work.
	Calls *procs.Calls

	env       config.Env
	log       *slog.Logger
	level     slog.LevelVar
	client    *upstream.Client
	service   *service.Service
	gate      *interceptors.Gate
	transport *transport
	telemetry *telemetry.Telemetry

	models atomic.Pointer[catalog.Catalog]
	// pollEvery is how often the files are looked at.
	pollEvery time.Duration

	reloading sync.Mutex
	// inForce is the "server" section that was read last, and loaded when; for the
	// reloading.
	inForce config.Server
	loaded  atomic.Int64 // in Unix seconds
	// seen are the files that were read last, as they were then; for the reloading.
	seen fingerprints
}

// New puts an llmd together. version is what it calls itself towards providers;
// log lines go to logTo. A mistake of the configuration is a *config.ParseError.
func New(file *config.File, env config.Env, version string, logTo io.Writer) (*App, error) {
	seen := sourcesOf(file)
	userAgent := "llmd/" + version
	ready, err := prepare(file, env, userAgent)
	if err != nil {
		return nil, err
	}
	a := &App{
		File: file, Calls: procs.NewCalls(), env: env, pollEvery: pollEvery, seen: seen,
		client: upstream.New(upstream.Options{UserAgent: userAgent, Trace: telemetry.Inject}), inForce: file.Server,
	}
	if err := a.setLevel(file.Server.LogLevel); err != nil {
		return nil, err
	}
	a.models.Store(ready.models)
	a.loaded.Store(time.Now().Unix())
	a.log = slog.New(a.logHandler(logTo))
	listen(a.log)
	if err := a.startTelemetry(version); err != nil {
		return nil, err
	}
	a.begin(ready.models)
	store, err := sharedStore(file, a.log)
	if err != nil {
		return nil, err
	}
	a.service = service.New(a.models.Load, a.client, service.Options{
		Instance: file.Server.Instance, CallerKeys: file.Server.CallerKeys.Allow, NoStore: !file.Server.PartialStore, Log: a.log,
		MaxDetached: file.Server.Responses.MaxDetached, Store: store,
		Images: ready.images, Principal: principal.Name, Telemetry: a.telemetry,
	})
	a.gate = interceptors.NewGate(file.Server, a.telemetry)
	certs := ready.certs
	if certs != nil {
		certs.log = a.log
	}
	chain := interceptors.Options{Log: a.log, Gate: a.gate, Telemetry: a.telemetry, Calls: a.Calls}
	if a.transport, err = newTransport(file.Server, a.service, chain, certs); err != nil {
		return nil, err
	}
	a.telemetry.Watch(func() []telemetry.Reading { return a.readings(certs) })
	a.telemetry.Watch(storeReadings(store, file.Server.Responses.MaxBytes))
	return a, nil
}

// prepared is what a configuration and the files that it names make, before anything
// runs.
type prepared struct {
	models *catalog.Catalog
	images *fetch.Fetcher // nil = nothing is downloaded
	certs  *certificates  // nil = no TLS
}

// prepare finds the mistakes of a configuration that are not in its text alone.
func prepare(file *config.File, env config.Env, userAgent string) (_ *prepared, err error) {
	if err := file.Exposed(); err != nil {
		return nil, err
	}
	var p prepared
	if p.models, err = catalog.Load(file, env); err != nil {
		return nil, err
	}
	if p.images, err = imageFetcher(file.Server.Images, userAgent); err != nil {
		return nil, err
	}
	if file.Server.TLS.On() {
		if p.certs, err = newCertificates(file); err != nil {
			return nil, err
		}
	}
	return &p, nil
}

// Check refuses what [New] refuses, with the same error, and starts nothing. The
// models are those of the configuration. [CheckStore] looks at the shared store.
func Check(file *config.File, env config.Env) (*catalog.Catalog, error) {
	p, err := prepare(file, env, "llmd")
	if err != nil {
		return nil, err
	}
	if err := telemetry.Check(env); err != nil {
		return nil, telemetryMistake(err)
	}
	return p.models, nil
}

// imageFetcher downloads images for conversations; nil = nothing is downloaded.
func imageFetcher(c config.Images, userAgent string) (*fetch.Fetcher, error) {
	if c.Disabled {
		return nil, nil
	}
	return fetch.New(fetch.Options{Allow: c.AllowHosts, UserAgent: userAgent})
}

// Catalog is what this llmd can reach now.
func (a *App) Catalog() *catalog.Catalog { return a.models.Load() }

func (a *App) setLevel(word string) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(word)); err != nil {
		return fmt.Errorf("server: log level: %w", err)
	}
	a.level.Set(level)
	return nil
}

// Serve answers on the listeners until ctx ends, then drains. Closing stopNow ends
// a drain at once. Listeners of the web are in Web. The App cannot be used afterwards.
func (a *App) Serve(ctx context.Context, listeners []net.Listener, stopNow <-chan struct{}) error {
	if err := a.serve(ctx, listeners, stopNow); err != nil {
		return err
	}
	a.log.Info("stopped")
	return nil
}

func (a *App) serve(ctx context.Context, listeners []net.Listener, stopNow <-chan struct{}) error {
	// What happens until the end is measured until the end, and then sent.
	defer a.flush(stopNow) //nolint:contextcheck // ctx has ended by then
	defer a.client.Close()
	defer a.service.Close()
	if a.Admin != nil {
		defer newAdmin(a).serve(a.Admin, a.log)() //nolint:contextcheck // as above
	}
	if a.Follow {
		defer a.follow()() //nolint:contextcheck // a reload counts for no call
	}
	return a.transport.serve(ctx, listeners, a.Web, stopNow)
}

// Orphans are the responses that are made while nobody reads them.
func (a *App) Orphans() int64 { return a.service.Inference.Orphans() }
