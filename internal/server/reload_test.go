package server

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/internal/config"
)

const pollInTests = 10 * time.Millisecond

// logBuffer is a log that a server writes and a test reads.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) count(word string) int { return strings.Count(l.String(), word) }

// write puts a file in place at once: a server that looks for it every few
// milliseconds would find half of it.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// lab is a configuration with one provider of that id.
func lab(id string) string {
	return "server: {listen: ['unix:///s']}\nproviders:\n  - id: " + id + "\n    api: openai-completions\n    base_url: http://h\n    api_key: s3cret\n"
}

func newApp(t *testing.T, path string) (*App, *logBuffer) {
	t.Helper()
	env := func(string) (string, bool) { return "", false }
	file, err := config.Load(path, env)
	if err != nil {
		t.Fatal(err)
	}
	log := &logBuffer{}
	app, err := New(file, env, "test", log)
	if err != nil {
		t.Fatal(err)
	}
	app.pollEvery = pollInTests
	t.Cleanup(func() {
		if strings.Contains(log.String(), "s3cret") {
			t.Errorf("the log holds a key:\n%s", log)
		}
	})
	return app, log
}

// serve runs the app until the test ends, without an address.
func serve(t *testing.T, app *App) {
	t.Helper()
	app.Follow = true
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		close(ready)
		ended <- app.Serve(ctx, nil, nil)
	}()
	<-ready
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(pollInTests / 2) {
		if time.Now().After(end) {
			t.Fatalf("%s does not happen", what)
		}
	}
}

func has(app *App, provider string) bool {
	_, ok := app.Catalog().Provider(provider)
	return ok
}

func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llmd.yaml")
	write(t, path, lab("one"))
	app, log := newApp(t, path)

	for _, bad := range []struct{ name, text, says string }{
		{"syntax", "providers: [\n", path + ":1: "},
		{"unknown key", lab("two") + "    nonsense: s3cret\n", path + ":7: providers[0].nonsense: unknown key"},
		{"two mistakes", "server: {listn: 1}\nproviders:\n  - {id: two, aip: 2}\n", path + ":3: providers[0].aip: unknown key"},
		{"not whole", "providers:\n  - {id: two, api_key: s3cret}\n", path + ":2: providers[0].api: is missing"},
		{"key file", "providers:\n  - {id: openai, api_key_file: /nowhere/key}\n", path + ":2: providers[0].api_key_file: /nowhere/key: no such file"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			write(t, path, bad.text)
			before := app.Catalog()
			if err := app.Reload(); err == nil || app.Catalog() != before || !has(app, "one") {
				t.Errorf("a bad file: %v", err)
			}
			if !strings.Contains(log.String(), bad.says) {
				t.Errorf("the log does not say %q:\n%s", bad.says, log)
			}
		})
	}
	if n := log.count("level=ERROR"); n != 7 {
		t.Errorf("%d mistakes in the log, want one line for each of 7:\n%s", n, log)
	}
	write(t, path, lab("two"))
	if err := app.Reload(); err != nil || has(app, "one") || !has(app, "two") {
		t.Fatalf("a good file: %v", err)
	}
	if log.count("level=WARN") != 0 || log.count("configuration reloaded") != 1 {
		t.Errorf("log:\n%s", log)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := app.Reload(); err == nil || !has(app, "two") {
		t.Errorf("without the file: %v", err)
	}
}

// What a running server cannot change is said, each time.
func TestReloadNeedsRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llmd.yaml")
	write(t, path, lab("one"))
	app, log := newApp(t, path)
	write(t, path, "server: {listen: ['unix:///other'], max_receive_bytes: 1 MiB, log_level: warn, caller_keys: {allow: true}}\n")
	for range 2 {
		if err := app.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	const want = `keys="server.listen,server.max_receive_bytes,server.caller_keys"`
	quoted := strings.ReplaceAll(want, `"`, "")
	if log.count(want)+log.count(quoted) != 2 {
		t.Errorf("log:\n%s", log)
	}
	if log.count("level=INFO") != 0 {
		t.Errorf("the log level is not followed:\n%s", log)
	}
}

func TestFollowFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llmd.yaml")
	write(t, path, lab("one"))
	app, log := newApp(t, path)
	serve(t, app)
	write(t, path, lab("two"))
	eventually(t, "a reload", func() bool { return has(app, "two") })

	// A bad file is named once, not at each look.
	write(t, path, "providers: {}\n")
	eventually(t, "a message", func() bool { return log.count("level=ERROR") == 1 })
	time.Sleep(10 * pollInTests)
	if n := log.count("level=ERROR"); n != 1 || !has(app, "two") {
		t.Errorf("%d messages:\n%s", n, log)
	}
}

// A file that keeps changing is half of something.
func TestFollowGrowingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llmd.yaml")
	write(t, path, lab("one"))
	app, log := newApp(t, path)
	app.pollEvery = 20 * pollInTests
	serve(t, app)
	var pause time.Duration // the longest time that the file stood still
	for i := range 100 {
		began := time.Now()
		write(t, path, lab("half")+strings.Repeat("#", i))
		time.Sleep(pollInTests)
		pause = max(pause, time.Since(began))
	}
	// On a busy machine this test may have been the one that was too slow.
	if n := log.count("configuration reloaded"); n > 0 && pause < app.pollEvery/2 {
		t.Errorf("%d reloads of a file that was being written", n)
	}
	write(t, path, lab("whole"))
	eventually(t, "a reload", func() bool { return has(app, "whole") })
}

// Kubernetes mounts ..data -> ..2026_01 and llmd.yaml -> ..data/llmd.yaml, and swaps
// the first of them: neither the file nor its folder is written to.
func TestFollowConfigMap(t *testing.T) {
	dir := t.TempDir()
	version := func(name, config, key string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name, "llmd.yaml"), config)
		write(t, filepath.Join(dir, name, "key"), key)
		next := filepath.Join(dir, "..data_tmp")
		if err := os.Symlink(name, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "llmd.yaml")
	keyed := "providers:\n  - {id: openai, api_key_file: " + filepath.Join(dir, "key") + "}\n"
	version("..2026_01", keyed, "s3cret-1")
	for _, name := range []string{"llmd.yaml", "key"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	app, log := newApp(t, path)
	serve(t, app)
	key := func() string {
		p, _ := app.Catalog().Provider("openai")
		return p.Key.Reveal()
	}
	if key() != "s3cret-1" {
		t.Fatal("the first key is not read")
	}
	// The key alone changes: the file's text stays.
	version("..2026_02", keyed, "s3cret-2")
	eventually(t, "a new key", func() bool { return key() == "s3cret-2" })
	version("..2026_03", keyed+"  - {id: two, api: faux, base_url: 'http://h'}\n", "s3cret-2")
	eventually(t, "a new provider", func() bool { return has(app, "two") })
	// A key that is gone for a moment is an error, and its return is seen.
	if err := os.Remove(filepath.Join(dir, "key")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a message", func() bool { return log.count("api_key_file") > 0 })
	if key() != "s3cret-2" {
		t.Error("a bad file changed something")
	}
	write(t, filepath.Join(dir, "key"), "s3cret-3")
	eventually(t, "a new key", func() bool { return key() == "s3cret-3" })
}

func TestFollowHangup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llmd.yaml")
	write(t, path, lab("one"))
	app, log := newApp(t, path)
	app.pollEvery = time.Hour
	serve(t, app)
	// The signal would end the process if it came before the server catches it.
	stop := app.follow()
	defer stop()
	for i := range 3 {
		write(t, path, lab(fmt.Sprint("next", i)))
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a reload", func() bool { return has(app, fmt.Sprint("next", i)) })
	}
	if log.count("SIGHUP") == 0 {
		t.Errorf("log:\n%s", log)
	}
}

// Reloads from several sides, and requests meanwhile, are safe.
func TestReloadTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llmd.yaml")
	write(t, path, lab("one"))
	app, _ := newApp(t, path)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if err := app.Reload(); err != nil {
					t.Error(err)
				}
				if _, _, err := app.Catalog().Resolve("faux/echo"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
