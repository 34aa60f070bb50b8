package generation

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/upstream"
)

// The forms of ../shared/reference/host-behaviour.md 5.4; where that reads numbers
// leniently, the whole value must be one here.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, ms, after string
		want            time.Duration
		none            bool
	}{
		{name: "nothing", none: true},
		{name: "milliseconds", ms: "1250", want: 1250 * time.Millisecond},
		{name: "a fraction of one", ms: "1250.5", want: 1250*time.Millisecond + 500*time.Microsecond},
		{name: "milliseconds stand before seconds", ms: "100", after: "7", want: 100 * time.Millisecond},
		{name: "negative milliseconds", ms: "-5", after: "7", want: 0},
		{name: "milliseconds that are no number", ms: "soon", after: "7", want: 7 * time.Second},
		{name: "endless milliseconds", ms: "Infinity", after: "7", want: 7 * time.Second},
		{name: "NaN", ms: "NaN", after: "NaN", none: true},
		{name: "seconds", after: "7", want: 7 * time.Second},
		{name: "no seconds", after: "0", want: 0},
		{name: "blanks around", after: " 7 ", want: 7 * time.Second},
		{name: "a fraction", after: "1.5", want: 1500 * time.Millisecond},
		{name: "negative seconds", after: "-3", want: 0},
		{name: "endless seconds", after: "Infinity", none: true},
		{name: "a number and more", after: "12abc", none: true},
		{name: "words", after: "abc", none: true},
		{name: "a date", after: "Mon, 30 Nov 2026 12:00:30 GMT", want: 30 * time.Second},
		{name: "an old form of a date", after: "Monday, 30-Nov-26 12:00:30 GMT", want: 30 * time.Second},
		{name: "the oldest form", after: "Mon Nov 30 12:00:30 2026", want: 30 * time.Second},
		{name: "a date in the past", after: "Mon, 30 Nov 2026 11:00:00 GMT", want: 0},
		{name: "a date that HTTP does not have", after: "2026-11-30", none: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{}
			if c.ms != "" {
				h.Set("Retry-After-Ms", c.ms)
			}
			if c.after != "" {
				h.Set("Retry-After", c.after)
			}
			got, ok := retryAfter(h, now)
			if ok == c.none || got != c.want {
				t.Errorf("%v, %v; want %v", got, ok, c.want)
			}
		})
	}
}

func TestShouldRetry(t *testing.T) {
	yes, no := true, false
	for value, want := range map[string]*bool{"true": &yes, "false": &no, "True": nil, "1": nil, "": nil} {
		u := &adapters.UpstreamError{Reason: adapters.ReasonRejectedRequest}
		directives(u, http.Header{"X-Should-Retry": {value}}, time.Now())
		if (u.ShouldRetry == nil) != (want == nil) || want != nil && *u.ShouldRetry != *want {
			t.Errorf("%q is read as %v", value, u.ShouldRetry)
		}
	}
	// What the body said stands where the headers are silent.
	delay := 3 * time.Second
	u := &adapters.UpstreamError{RetryDelay: &delay}
	directives(u, http.Header{}, time.Now())
	if u.RetryDelay != &delay {
		t.Error("the delay of the body is lost")
	}
	directives(u, http.Header{"Retry-After": {"9"}}, time.Now())
	if *u.RetryDelay != 9*time.Second {
		t.Error("the header does not win")
	}
}

// The headers are in the spellings of the providers' documentation.
func TestReset(t *testing.T) {
	now := time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		headers map[string]string
		want    time.Duration
	}{
		"OpenAI's":             {map[string]string{"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, 6 * time.Minute},
		"in milliseconds":      {map[string]string{"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms"}, 120 * time.Millisecond},
		"the last of several":  {map[string]string{"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7.66s"}, 7660 * time.Millisecond},
		"not used up":          {map[string]string{"x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "6m0s"}, 0},
		"Azure's -1":           {map[string]string{"x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": "0"}, 0},
		"Anthropic's":          {map[string]string{"anthropic-ratelimit-input-tokens-remaining": "0", "anthropic-ratelimit-input-tokens-reset": "2026-11-30T16:00:20Z"}, 20 * time.Second},
		"OpenRouter's":         {map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796054430000"}, 30 * time.Second},
		"long past":            {map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1754667660000"}, 0},
		"a number of anything": {map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, 0},
		"nonsense":             {map[string]string{"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "soon"}, 0},
		"far away":             {map[string]string{"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9999h"}, 0},
	} {
		h := http.Header{}
		for k, v := range c.headers {
			h.Set(k, v)
		}
		if got := reset(h, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	h := http.Header{}
	h.Set("X-Ratelimit-Remaining", "0")
	h.Set("X-Ratelimit-Reset", "1796054430000")
	limited, other := &adapters.UpstreamError{Reason: adapters.ReasonRateLimited}, &adapters.UpstreamError{Reason: adapters.ReasonProviderError}
	directives(limited, h, now)
	directives(other, h, now)
	if limited.RetryDelay == nil || *limited.RetryDelay != 30*time.Second || other.RetryDelay != nil {
		t.Errorf("delays %v and %v", limited.RetryDelay, other.RetryDelay)
	}
	h.Set("Retry-After", "2")
	directives(limited, h, now)
	if *limited.RetryDelay != 2*time.Second {
		t.Errorf("Retry-After loses: %v", *limited.RetryDelay)
	}
}

func TestBackoff(t *testing.T) {
	ms := time.Millisecond
	for n, want := range map[int][2]time.Duration{
		1: {375 * ms, 500 * ms}, 2: {750 * ms, 1000 * ms}, 3: {1500 * ms, 2000 * ms}, 4: {3000 * ms, 4000 * ms},
		5: {6000 * ms, 8000 * ms}, 6: {6000 * ms, 8000 * ms}, 100: {6000 * ms, 8000 * ms},
	} {
		least, most := time.Hour, time.Duration(0)
		for range 2000 {
			d := backoff(n)
			least, most = min(least, d), max(most, d)
		}
		if least < want[0] || most > want[1] {
			t.Errorf("try %d waits from %v to %v, want %v to %v", n, least, most, want[0], want[1])
		}
		if spread := want[1] - want[0]; most-least < spread/2 {
			t.Errorf("try %d hardly varies: %v to %v", n, least, most)
		}
	}
}

func TestAgain(t *testing.T) {
	second, minute, hour := time.Second, time.Minute, time.Hour
	yes, no := true, false
	three := &llmdv1.RetryPolicy{MaxRetries: 3}
	hasty := &llmdv1.RetryPolicy{MaxRetries: 3, MaxDelay: durationpb.New(100 * time.Millisecond)}
	for _, c := range []struct {
		name   string
		u      adapters.UpstreamError
		policy *llmdv1.RetryPolicy
		tried  int
		want   bool
		delay  *time.Duration
	}{
		{name: "by default never", u: adapters.UpstreamError{Reason: adapters.ReasonOverloaded}, tried: 1},
		{name: "overloaded", u: adapters.UpstreamError{Reason: adapters.ReasonOverloaded}, policy: three, tried: 1, want: true},
		{name: "the last retry", u: adapters.UpstreamError{Reason: adapters.ReasonOverloaded}, policy: three, tried: 3, want: true},
		{name: "one too many", u: adapters.UpstreamError{Reason: adapters.ReasonOverloaded}, policy: three, tried: 4},
		{name: "rate limited", u: adapters.UpstreamError{Reason: adapters.ReasonRateLimited, RetryDelay: &second}, policy: three, tried: 1, want: true, delay: &second},
		{name: "the longest wait", u: adapters.UpstreamError{Reason: adapters.ReasonRateLimited, RetryDelay: &minute}, policy: three, tried: 1, want: true, delay: &minute},
		{name: "too long a wait", u: adapters.UpstreamError{Reason: adapters.ReasonRateLimited, RetryDelay: &hour}, policy: three, tried: 1},
		{name: "too long for the caller", u: adapters.UpstreamError{Reason: adapters.ReasonRateLimited, RetryDelay: &second}, policy: hasty, tried: 1},
		{name: "provider error", u: adapters.UpstreamError{Reason: adapters.ReasonProviderError}, policy: three, tried: 1, want: true},
		{name: "unreachable", u: adapters.UpstreamError{Reason: adapters.ReasonUnreachable}, policy: three, tried: 1, want: true},
		{name: "timeout", u: adapters.UpstreamError{Reason: adapters.ReasonTimeout}, policy: three, tried: 1, want: true},
		{name: "truncated", u: adapters.UpstreamError{Reason: adapters.ReasonStreamTruncated}, policy: three, tried: 1, want: true},
		{name: "idle", u: adapters.UpstreamError{Reason: adapters.ReasonStreamIdle}, policy: three, tried: 1},
		{name: "protocol error", u: adapters.UpstreamError{Reason: adapters.ReasonProtocolError}, policy: three, tried: 1},
		{name: "quota", u: adapters.UpstreamError{Reason: adapters.ReasonQuotaExhausted}, policy: three, tried: 1},
		{name: "quota, though told to", u: adapters.UpstreamError{Reason: adapters.ReasonQuotaExhausted, ShouldRetry: &yes}, policy: three, tried: 1},
		{name: "overflow, though told to", u: adapters.UpstreamError{Reason: adapters.ReasonContextLengthExceeded, ShouldRetry: &yes}, policy: three, tried: 1},
		{name: "rejected", u: adapters.UpstreamError{Reason: adapters.ReasonRejectedRequest}, policy: three, tried: 1},
		{name: "rejected, but told to", u: adapters.UpstreamError{Reason: adapters.ReasonRejectedRequest, ShouldRetry: &yes}, policy: three, tried: 1, want: true},
		{name: "overloaded, but told not to", u: adapters.UpstreamError{Reason: adapters.ReasonOverloaded, ShouldRetry: &no}, policy: three, tried: 1},
		{name: "credentials", u: adapters.UpstreamError{Reason: adapters.ReasonCredentialsInvalid}, policy: three, tried: 1},
		{name: "permission", u: adapters.UpstreamError{Reason: adapters.ReasonPermissionDenied}, policy: three, tried: 1},
		{name: "filtered", u: adapters.UpstreamError{Reason: adapters.ReasonContentFiltered}, policy: three, tried: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			delay, ok := tryAgain(&c.u, c.policy, c.tried)
			switch {
			case ok != c.want:
				t.Errorf("again: %v", ok)
			case ok && c.delay != nil && delay != *c.delay:
				t.Errorf("after %v, want %v", delay, *c.delay)
			case ok && delay > 8*time.Second && c.delay == nil:
				t.Errorf("after %v", delay)
			}
		})
	}
	if d, _ := tryAgain(&adapters.UpstreamError{Reason: adapters.ReasonOverloaded}, hasty, 1); d != 100*time.Millisecond {
		t.Errorf("a backoff over the caller's limit waits %v, want that limit", d)
	}
}

// An unknown time in a policy is no time.
func TestZeroMaxDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {status(503), text("x")}})
		defer l.registry.Close()
		req := ask("lab/a").retries(1)
		req.Generation.Retry.MaxDelay = durationpb.New(0)
		if s := l.run(t, req); s.err != nil || s.took != 0 {
			t.Errorf("%v after %v", s.err, s.took)
		}
	})
}

// What was never sent for want of a key is told as such, and nothing else is.
func TestUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {status(503)}, "b": {unconfigured}, "c": {text("x")}, "d": {unconfigured}})
		defer l.registry.Close()
		seen := &watches{}
		l.cfg.Observer = seen
		l.run(t, ask("lab/a").fallback("lab/b", "lab/c"))
		l.run(t, ask("lab/d"))
		synctest.Wait()
		if want := []bool{false, true, false, true}; !slices.Equal(seen.unsent, want) {
			t.Errorf("%v with reasons %q, want %v", seen.unsent, seen.ended, want)
		}
	})
}

// What was damaged on its way is not what was cut.
func TestBroken(t *testing.T) {
	for want, end := range map[string]error{
		adapters.ReasonStreamTruncated: io.ErrUnexpectedEOF,
		adapters.ReasonProtocolError:   fmt.Errorf("%w: %w", upstream.ErrCorrupt, gzip.ErrChecksum),
	} {
		if u := asUpstream((&answer{}).broken(&frame.TruncatedError{Err: end})); u.Reason != want {
			t.Errorf("%v: %s, want %s", end, u.Reason, want)
		}
	}
}
