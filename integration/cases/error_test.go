package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

func (c *testCase) testError(t *testing.T) {
	p := c.play(t)
	l := c.start(t, p.URL)
	if c.AbortAfter != nil {
		c.testCancelBackoff(t, l, p)
		return
	}
	o := harness.Run(harness.Limited(t, c.limit()), l, &llmdv1.StreamRequest{Generation: c.ask()}, nil)
	checkGrammar(t, o)
	f := failureOf(o)
	if f == nil || o.Stop() != "ERROR" {
		t.Fatalf("stop reason %s, status %s", o.Stop(), o.Status.Code())
	}
	if n := len(p.requests()); n != 1 {
		t.Errorf("the provider saw %d requests though no retry was asked for", n)
	}
	if c.Status >= 400 && len(o.Events) > 0 {
		t.Errorf("%d events before the provider had accepted the request", len(o.Events))
	}
	if d := f.wrong(c.reasons()); d != "" {
		t.Error(d)
	}
	if r := c.Expect.Retryable; r != nil && f.retryable != *r {
		t.Errorf("retryable is %v, want %v (%s)", f.retryable, *r, f.reason)
	}
	c.checkDelay(t, o, f)
	c.checkMessage(t, o, f)
	c.checkTime(t, o.Took)
}

// reasons are those that the case's kinds stand for, where status and words leave
// the contract no other choice.
func (c *testCase) reasons() []string {
	e, words := &c.Expect, strings.ToLower(c.Body)
	switch final := e.Retryable != nil && !*e.Retryable; {
	case c.Status == 402, e.Kind == "quota", e.Kind == "rate_limit" && final:
		return []string{"QUOTA_EXHAUSTED"} // paid or daily: no use to wait
	case e.Kind == "auth" && e.Code == "PERMISSION_DENIED":
		return reasonsOf("permission")
	case c.Status == 413 && e.Kind != "context_overflow":
		return []string{"REQUEST_TOO_LARGE"}
	case c.Status == 408 || c.Status == 409:
		return []string{"PROVIDER_ERROR", "PROVIDER_TIMEOUT"}
	case e.Kind == "server" && c.Status != 503 && c.Status != 529 && !strings.Contains(words, "overload"):
		return []string{"PROVIDER_ERROR"}
	case e.Kind == "invalid_request" && strings.Contains(words, "signature"):
		return []string{"SIGNATURE_REJECTED"}
	case e.Kind == "invalid_request" && slices.Contains(e.KindAlt, "content_filter"):
		return reasonsOf("content_filter")
	}
	var out []string
	for _, k := range append([]string{e.Kind}, e.KindAlt...) {
		out = append(out, reasonsOf(k)...)
	}
	return out
}

// checkDelay: the provider's delay, else the contract's default; none where there
// is no use in the same request.
func (c *testCase) checkDelay(t *testing.T, o *harness.Outcome, f *failure) {
	t.Helper()
	want := c.Expect.RetryAfterMS
	if want == nil {
		def, has := defaultDelay[f.reason]
		has = has && f.retryable && len(o.Events) == 0
		switch {
		case has && (f.delay == nil || *f.delay != def):
			t.Errorf("delay %v, want the default of %s: %v", f.delay, f.reason, def)
		case !has && f.delay != nil && *f.delay != 0:
			t.Errorf("delay %v for %s", *f.delay, f.reason)
		}
		return
	}
	if f.delay == nil {
		t.Fatalf("no delay, want %v ms", want)
	}
	ms := json.Number(fmt.Sprint(f.delay.Milliseconds()))
	if d := match(want, ms); d != "" {
		t.Errorf("the delay in milliseconds %s", d)
	}
}

func (c *testCase) checkMessage(t *testing.T, o *harness.Outcome, f *failure) {
	t.Helper()
	want := &c.Expect.Message
	if want.Matches != "" && !found(want.Matches, o.Words()) {
		t.Errorf("the error does not say %q: %s", want.Matches, o.Words())
	}
	if want.NotMatches != "" && found(want.NotMatches, o.Words()) {
		t.Errorf("the error says %q: %s", want.NotMatches, o.Words())
	}
	if want.MaxLength > 0 && len(f.message) > want.MaxLength {
		t.Errorf("a message of %d bytes, at most %d allowed", len(f.message), want.MaxLength)
	}
}

// testCancelBackoff: the caller leaves while llmd waits to try again.
func (c *testCase) testCancelBackoff(t *testing.T, l *harness.LLMD, p *provider) {
	t.Helper()
	ctx, cancel := context.WithCancel(harness.Limited(t, c.limit()))
	defer cancel()
	go func() {
		<-p.asked
		time.Sleep(time.Duration(c.AbortAfter.MS) * time.Millisecond)
		cancel()
	}()
	g := c.ask()
	g.Retry = &llmdv1.RetryPolicy{MaxRetries: 2}
	o := harness.Run(ctx, l, &llmdv1.StreamRequest{Generation: g}, nil)
	if o.Status.Code() != codes.Canceled {
		t.Errorf("status %s after the cancel", o.Status.Code())
	}
	c.checkTime(t, o.Took)
	time.Sleep(200 * time.Millisecond) // a retry would come now
	if n := len(p.requests()); n != 1 {
		t.Errorf("the provider saw %d requests", n)
	}
}
