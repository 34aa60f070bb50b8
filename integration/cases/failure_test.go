package cases

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/llmd-dev/llmd/integration/harness"
)

// failure is what a call says of its error, by an event or by the status alone.
type failure struct {
	code      codes.Code
	reason    string
	message   string
	retryable bool
	delay     *time.Duration
}

// codeOf is the contract's table of reasons that a provider's answer leads to,
// for llmd's own key.
var codeOf = map[string]codes.Code{
	"PROVIDER_CREDENTIALS_INVALID": codes.FailedPrecondition,
	"PROVIDER_PERMISSION_DENIED":   codes.PermissionDenied,
	"PROVIDER_PRECONDITION":        codes.FailedPrecondition,
	"MODEL_NOT_FOUND":              codes.NotFound,
	"PROVIDER_REJECTED_REQUEST":    codes.InvalidArgument,
	"SIGNATURE_REJECTED":           codes.InvalidArgument,
	"REQUEST_TOO_LARGE":            codes.InvalidArgument,
	"CONTEXT_LENGTH_EXCEEDED":      codes.InvalidArgument,
	"PROMPT_BLOCKED":               codes.InvalidArgument,
	"CONTENT_FILTERED":             codes.FailedPrecondition,
	"RATE_LIMITED":                 codes.ResourceExhausted,
	"QUOTA_EXHAUSTED":              codes.ResourceExhausted,
	"PROVIDER_OVERLOADED":          codes.Unavailable,
	"PROVIDER_ERROR":               codes.Unavailable,
	"PROVIDER_TIMEOUT":             codes.Unavailable,
	"PROVIDER_STREAM_TRUNCATED":    codes.Unavailable,
	"PROVIDER_STREAM_IDLE":         codes.Unavailable,
	"PROVIDER_PROTOCOL_ERROR":      codes.Unavailable,
}

// defaultDelay is for a failure before the commit point whose provider names none.
// Only these reasons are worth the same request again.
var defaultDelay = map[string]time.Duration{
	"RATE_LIMITED":              time.Second,
	"PROVIDER_OVERLOADED":       2 * time.Second,
	"PROVIDER_ERROR":            time.Second,
	"PROVIDER_UNREACHABLE":      time.Second,
	"PROVIDER_TIMEOUT":          time.Second,
	"PROVIDER_STREAM_TRUNCATED": 500 * time.Millisecond,
	"PROVIDER_STREAM_IDLE":      0,
}

// failureOf reads an outcome's error, nil if it has none.
func failureOf(o *harness.Outcome) *failure {
	f := &failure{code: o.Status.Code(), reason: o.Reason(), message: o.Status.Message(), delay: o.RetryInfo()}
	if e := o.Err; e != nil {
		f.message, f.retryable = e.GetMessage(), e.GetRetryable()
		if d := e.GetRetryDelay(); d != nil {
			delay := d.AsDuration()
			f.delay = &delay
		}
		return f
	}
	if f.code == codes.OK {
		return nil
	}
	// A status has no field for it: the reason says it, unless the pushback forbids.
	// A rate limit of more than a minute forbids to gRPC's own retry alone.
	_, f.retryable = defaultDelay[f.reason]
	if slices.Equal(o.Trailer.Get("grpc-retry-pushback-ms"), []string{"-1"}) && f.reason != "RATE_LIMITED" {
		f.retryable = false
	}
	return f
}

// wrong says how the failure differs from the rows of these reasons.
func (f *failure) wrong(reasons []string) string {
	if !slices.Contains(reasons, f.reason) {
		return fmt.Sprintf("reason %s (%s), want one of %v: %s", f.reason, f.code, reasons, f.message)
	}
	if f.code != codeOf[f.reason] {
		return fmt.Sprintf("code %s for %s, want %s", f.code, f.reason, codeOf[f.reason])
	}
	return ""
}

// reasonsOf is the table at the end of the cases' schema.
func reasonsOf(kind string) []string {
	return map[string][]string{
		"auth":             {"PROVIDER_CREDENTIALS_INVALID"},
		"permission":       {"PROVIDER_PERMISSION_DENIED", "PROVIDER_PRECONDITION"},
		"not_found":        {"MODEL_NOT_FOUND"},
		"invalid_request":  {"PROVIDER_REJECTED_REQUEST"},
		"context_overflow": {"CONTEXT_LENGTH_EXCEEDED"},
		"rate_limit":       {"RATE_LIMITED"},
		"quota":            {"QUOTA_EXHAUSTED"},
		"overloaded":       {"PROVIDER_OVERLOADED"},
		"server":           {"PROVIDER_ERROR", "PROVIDER_OVERLOADED"},
		"refusal":          {"CONTENT_FILTERED", "PROMPT_BLOCKED"},
		"content_filter":   {"CONTENT_FILTERED", "PROMPT_BLOCKED"},
	}[kind]
}

// codeNamed reads a status name of the cases as the contract has it: INTERNAL is
// llmd's own fault, a deadline is the caller's, a refused key is llmd's set-up.
func codeNamed(name string) (codes.Code, error) {
	switch name {
	case "INTERNAL", "DEADLINE_EXCEEDED", "DATA_LOSS":
		return codes.Unavailable, nil
	case "UNAUTHENTICATED":
		return codes.FailedPrecondition, nil
	}
	var c codes.Code
	err := c.UnmarshalJSON([]byte(`"` + strings.ToUpper(name) + `"`))
	return c, err
}
