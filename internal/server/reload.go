package server

import (
	"crypto/sha256"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
)

// pollEvery is how often a server that follows its files looks at them. Looking is
// a matter of microseconds, works on every file system, and sees what Kubernetes
// does to a mounted ConfigMap: it swaps a link two folders up.
const pollEvery = time.Second

// maxHashedBytes is more than any file of a configuration may have.
const maxHashedBytes = 16 << 20

// Reload reads the configuration again and puts the new providers and models in
// place of the old at once. A mistake changes nothing; it is logged and returned.
// Running responses keep the model and the provider they began with. Of "server",
// only log_level and auth take effect; what else differs is logged.
func (a *App) Reload() error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	if err := a.reload(); err != nil {
		for _, mistake := range mistakes(err) {
			a.log.Error("the configuration is not reloaded; the old one stays", "problem", mistake.Error())
		}
		a.telemetry.Reloaded(false)
		return err
	}
	a.telemetry.Reloaded(true)
	return nil
}

func (a *App) reload() error {
	// Files are looked at before they are read, so that what changes in between is
	// seen as a change later.
	a.seen = take(slices.Collect(maps.Keys(a.seen)))
	file, err := a.File.Reload(a.env)
	if err != nil {
		return err
	}
	a.seen = sourcesOf(file)
	if err := a.stillGuarded(file); err != nil {
		return err
	}
	models, err := catalog.Load(file, a.env)
	if err != nil {
		return err
	}
	if err := a.setLevel(file.Server.LogLevel); err != nil {
		return err
	}
	a.inForce = file.Server
	a.loaded.Store(time.Now().Unix())
	a.models.Store(models)
	a.begin(models)
	a.gate.SetAuth(file.Server.Auth)
	if keys := slices.DeleteFunc(file.Server.Changed(a.File.Server), changesAtOnce); len(keys) > 0 {
		a.log.Warn("these changes take effect at the next start", "keys", strings.Join(keys, ","))
	}
	a.log.Info("configuration reloaded", "providers", len(models.Providers()))
	return nil
}

// changesAtOnce are the keys of "server" that a reload changes.
func changesAtOnce(key string) bool { return key == "server.log_level" || key == "server.auth" }

// stillGuarded refuses a configuration whose callers, at the addresses that are
// open, would leave them unprotected.
func (a *App) stillGuarded(file *config.File) error {
	next := *a.File
	next.Server.Auth = file.Server.Auth
	return next.Exposed()
}

// mistakes takes joined errors apart, one log line each.
func mistakes(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// follow reloads on SIGHUP and when a file changes, until stop is called, which
// waits for a reload that is under way. SIGHUP is caught when follow returns.
func (a *App) follow() (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		poll := time.NewTicker(a.pollEvery)
		defer poll.Stop()
		last := take(a.sources())
		for {
			select {
			case <-end:
				return
			case <-hangup:
				a.log.Info("SIGHUP")
				_ = a.Reload() // it logs what is wrong
			case <-poll.C:
				now := take(a.sources())
				// Half a file is often a valid one: a change counts once it stands
				// still.
				if maps.Equal(now, last) && !a.knows(now) {
					_ = a.Reload()
				}
				last = now
			}
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(end)
		<-ended
	}
}

// sources are the files to look at.
func (a *App) sources() []string {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	return slices.Sorted(maps.Keys(a.seen))
}

// knows says whether the files are as they were read last.
func (a *App) knows(now fingerprints) bool {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	return maps.Equal(now, a.seen)
}

// fingerprints tell contents of files apart, by path.
type fingerprints map[string]string

func take(paths []string) fingerprints {
	all := fingerprints{}
	for _, path := range paths {
		all[path] = fingerprint(path)
	}
	return all
}

// sourcesOf are the files of a configuration. Its own has been read already; those
// that it names have not.
func sourcesOf(file *config.File) fingerprints {
	all := take(file.Sources())
	if file.Path != "" {
		all[file.Path] = string(file.Digest[:])
	}
	return all
}

// fingerprint is a digest of a file's content, or what is in the way of reading
// it. Links are followed. What is no regular file is never read: that could block,
// or take what somebody else is to read.
func fingerprint(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "error: " + err.Error()
	}
	if !info.Mode().IsRegular() {
		return "not a regular file"
	}
	f, err := os.Open(path)
	if err != nil {
		return "error: " + err.Error()
	}
	defer func() { _ = f.Close() }()
	digest := sha256.New()
	if _, err := io.Copy(digest, io.LimitReader(f, maxHashedBytes)); err != nil {
		return "error: " + err.Error()
	}
	return string(digest.Sum(nil))
}
