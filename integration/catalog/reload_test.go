package catalogtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// holding is a host whose answers begin at once and end when they are let go.
type holding struct {
	*httptest.Server
	began   chan struct{}
	release chan struct{}
}

func newHolding(t *testing.T) *holding {
	t.Helper()
	h := &holding{began: make(chan struct{}, 1000), release: make(chan struct{})}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sse("", `{"choices":[{"index":0,"delta":{"content":"o"},"finish_reason":null}]}`))
		_ = http.NewResponseController(w).Flush()
		h.began <- struct{}{}
		<-h.release
		_, _ = io.WriteString(w, sse("", `{"choices":[{"index":0,"delta":{"content":"k"},"finish_reason":"stop"}]}`)+sse("", "[DONE]"))
	}))
	t.Cleanup(h.Close)
	return h
}

// Reloads under load, good files and bad ones, lose no stream: those that run keep
// their model, even where its provider is taken out.
func TestReloadUnderLoad(t *testing.T) {
	const long, slow, held = 30, 20, 20
	h := newHolding(t)
	with := "providers:\n  - {id: held, api: openai-completions, base_url: " + h.URL + ", api_key: none, models: [{id: m}]}\n"
	files := []string{
		with + "  - {id: faux, models: [{id: echo, aliases: [ECHO]}]}\n",
		"providers: [\n",
		"providers:\n  - {id: faux, disabled: true}\n", // the providers of all that runs are gone
		with + "  - {id: held}\n",
		with,
	}
	l := start(t, with)
	var streams sync.WaitGroup
	answers := make(chan string, long+slow+held)
	run := func(model string) {
		o := harness.Run(harness.Limited(t, 3*time.Minute), l, &llmdv1.StreamRequest{Generation: harness.Ask(model, "Hello.")}, nil)
		text := ""
		for _, c := range o.Message.GetContent() {
			text += harness.TextOf(c)
		}
		if o.Status.Code() != codes.OK || o.Stop() != "STOP" || len(o.Faults) > 0 {
			t.Errorf("%s: %v %s %v %.100q", model, o.Status, o.Stop(), o.Faults, text)
		}
		answers <- model + " " + text
	}
	for range long {
		streams.Go(func() { run("faux/long") })
	}
	for range slow {
		streams.Go(func() { run("faux/slow") })
	}
	for range held {
		streams.Go(func() { run("held/m") })
	}
	for range held {
		<-h.began
	}
	began := time.Now()
	for i := range 20 {
		text := files[i%len(files)]
		write(t, l.path, text)
		bad := i%len(files) == 1 || i%len(files) == 3
		if err := l.app.Reload(); (err != nil) != bad {
			t.Errorf("reload %d: %v", i, err)
		}
		// What is asked now follows what holds now.
		_, err := l.ask(t, "faux/echo")
		if gone := i%len(files) == 2 || i%len(files) == 3; gone != (status.Code(err) == codes.NotFound) {
			t.Errorf("after reload %d: %v", i, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("20 reloads in %s", time.Since(began))
	close(h.release)
	streams.Wait()
	close(answers)
	count := map[string]int{}
	for a := range answers {
		model, text, _ := strings.Cut(a, " ")
		count[model+fmt.Sprintf(" %d", strings.Count(text, " ")+1)]++
	}
	if count["faux/long 2000"] != long || count["faux/slow 10"] != slow || count["held/m 1"] != held {
		t.Errorf("answers by model and words: %v", count)
	}
	if n := strings.Count(l.log.String(), "the old one stays"); n != 8 {
		t.Errorf("%d mistakes in the log, want 8:\n%s", n, l.log)
	}
}

// A request that is tried again keeps the provider it was planned for; the next one
// goes to the new one.
func TestReloadBetweenTries(t *testing.T) {
	tries := make(chan string, 10)
	var count atomic.Int32
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tries <- r.Header.Get("Authorization")
		if count.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, answer(r.URL.Path))
	}))
	t.Cleanup(old.Close)
	next := newHost(t)
	file := func(url, key string) string {
		return "providers:\n  - {id: lab, api: openai-completions, base_url: " + url + ", api_key: " + secret + key + ", models: [{id: m}]}\n"
	}
	l := start(t, file(old.URL, "old"))
	g := harness.Ask("lab/m", "Hello.")
	g.Retry = &llmdv1.RetryPolicy{MaxRetries: 1}
	ended := make(chan error, 1)
	go func() {
		_, err := l.Complete(limited(t), &llmdv1.CompleteRequest{Generation: g})
		ended <- err
	}()
	<-tries
	write(t, l.path, file(next.URL, "new"))
	if err := l.app.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if key := <-tries; key != "Bearer "+secret+"old" {
		t.Errorf("the second try went with %q", key)
	}
	if _, err := l.ask(t, "lab/m"); err != nil {
		t.Error(err)
	}
	if r, _ := next.asked(); r == nil || r.Header.Get("Authorization") != "Bearer "+secret+"new" {
		t.Errorf("the next request: %+v", r)
	}
}

// A rotated key file is read again.
func TestRotatedKey(t *testing.T) {
	h := newHost(t)
	file := filepath.Join(t.TempDir(), "key")
	write(t, file, secret+"one")
	l := start(t, "providers:\n  - {id: lab, api: openai-completions, base_url: "+h.URL+", api_key_file: "+file+", models: [{id: m}]}\n")
	for _, key := range []string{"one", "two"} {
		write(t, file, secret+key)
		if err := l.app.Reload(); err != nil {
			t.Fatal(err)
		}
		if _, err := l.ask(t, "lab/m"); err != nil {
			t.Fatal(err)
		}
		if r, _ := h.asked(); r.Header.Get("Authorization") != "Bearer "+secret+key {
			t.Errorf("sent %q, want key %s", r.Header.Get("Authorization"), key)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := l.app.Reload(); err == nil {
		t.Error("a key file that is gone is no mistake")
	}
	if _, err := l.ask(t, "lab/m"); err != nil {
		t.Errorf("after a bad reload: %v", err)
	}
}
