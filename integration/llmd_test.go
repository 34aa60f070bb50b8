package integration

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// shared is ../shared, beside the checkout.
func shared(t testing.TB, parts ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{"..", "..", "shared"}, parts...)...)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("../shared is required in CI: %v", err)
		}
		t.Skip("../shared is absent: the recordings live beside the checkout")
	}
	return dir
}

type (
	host    = harness.Host
	model   = harness.Model
	outcome = harness.Outcome
)

// llmd is a server in this process and a client of it.
type llmd struct{ *harness.LLMD }

func start(t testing.TB, hosts ...*host) *llmd {
	t.Helper()
	return startWith(t, "", hosts...)
}

// startWith adds lines to the server section of the configuration.
func startWith(t testing.TB, serverYAML string, hosts ...*host) *llmd {
	t.Helper()
	return &llmd{harness.Start(t, serverYAML, hosts...)}
}

// stream calls Stream, reads to the end and checks the grammar. each is called with
// every event; it may be nil.
func (l *llmd) stream(ctx context.Context, req *llmdv1.StreamRequest, each func(*outcome, *llmdv1.StreamResponse)) *outcome {
	return harness.Run(ctx, l, req, each)
}

func limited(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	return harness.Limited(t, d)
}

func ask(model, prompt string, tools ...string) *llmdv1.Generation {
	return harness.Ask(model, prompt, tools...)
}
