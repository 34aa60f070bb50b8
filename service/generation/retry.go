package generation

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const defaultMaxDelay = 60 * time.Second

// directives reads what response headers say about retrying into the error; what
// the body said stands unless a header is plainer. See
// https://www.rfc-editor.org/rfc/rfc9110#field.retry-after; Retry-After-Ms and
// X-Should-Retry are the spellings of OpenAI and Anthropic.
func directives(u *adapters.UpstreamError, h http.Header, now time.Time) {
	if d, ok := retryAfter(h, now); ok {
		u.RetryDelay = &d
	}
	if d := reset(h, now); u.RetryDelay == nil && u.Reason == adapters.ReasonRateLimited && d > 0 {
		u.RetryDelay = &d
	}
	switch h.Get("X-Should-Retry") {
	case "true":
		yes := true
		u.ShouldRetry = &yes
	case "false":
		no := false
		u.ShouldRetry = &no
	}
}

func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil && ms == ms && ms < 1e12 {
		return max(0, time.Duration(ms*float64(time.Millisecond))), true
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s == s && s < 1e9 {
		return max(0, time.Duration(s*float64(time.Second))), true
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, t.Sub(now)), true
	}
	return 0, false
}

// reset is how long until a used-up limit is there again, where headers say so; 0 =
// they do not. Of several limits the last one counts. The spellings are those of
// OpenAI and Groq (6m0s), Anthropic (RFC 3339) and OpenRouter (milliseconds since
// 1970).
//
// https://platform.openai.com/docs/guides/rate-limits,
// https://platform.claude.com/docs/en/api/rate-limits#response-headers and
// https://openrouter.ai/docs/api/reference/limits
func reset(h http.Header, now time.Time) (longest time.Duration) {
	for _, l := range []struct{ remaining, reset string }{
		{"X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
		{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
		{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
		{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
		{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
		{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
		{"Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
	} {
		if strings.TrimSpace(h.Get(l.remaining)) == "0" {
			longest = max(longest, until(strings.TrimSpace(h.Get(l.reset)), now))
		}
	}
	return longest
}

// until reads when a limit is reset. A bare number that is no time of this century is
// not said to be seconds or anything else by those who send one.
func until(v string, now time.Time) time.Duration {
	const farthest = 31 * 24 * time.Hour
	d, err := time.ParseDuration(v)
	if err != nil {
		t, err := time.Parse(time.RFC3339, v)
		if ms, no := strconv.ParseInt(v, 10, 64); err != nil && no == nil {
			t = time.UnixMilli(ms)
		}
		d = t.Sub(now)
	}
	if d < 0 || d > farthest {
		return 0
	}
	return d
}

// backoff is the wait before try n (1, 2, ...) where the provider named none:
// 0.5 s doubling up to 8 s, less up to a quarter at random.
func backoff(n int) time.Duration {
	d := min(500*time.Millisecond<<min(n-1, 10), 8*time.Second)
	return d - time.Duration(rand.Int64N(int64(d)/4)) //nolint:gosec // jitter needs no secrecy
}

// tryAgain says whether the same candidate may be tried once more, and after what
// wait. A wait that the policy does not allow is not waited for.
func tryAgain(u *adapters.UpstreamError, p *llmdv1.RetryPolicy, tried int) (time.Duration, bool) {
	if tried > int(p.GetMaxRetries()) || !u.Retryable() || u.Reason == adapters.ReasonStreamIdle {
		return 0, false
	}
	longest := defaultMaxDelay
	if p.GetMaxDelay() != nil {
		longest = p.GetMaxDelay().AsDuration()
	}
	if u.RetryDelay != nil {
		return *u.RetryDelay, *u.RetryDelay <= longest
	}
	return min(backoff(tried), longest), true
}
