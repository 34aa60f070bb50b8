package service

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/service/generation"
	"github.com/llmd-dev/llmd/service/responses"
	"github.com/llmd-dev/llmd/transform"
)

func upstreamFailure(u *adapters.UpstreamError, committed, callerKey bool) error {
	return &generation.Failure{
		Err: u, Model: &profile.Model{ID: "m", Provider: "lab", API: "openai-completions"}, ResponseID: "i.r", RequestID: "q",
		ProviderRequestID: "p", Attempts: 1, Committed: committed, CallerKey: callerKey,
	}
}

func aborted(cause llmdv1.AbortCause, cancelled bool) error {
	return &generation.Failure{Err: &generation.Abort{Cause: cause, Cancelled: cancelled}, Committed: true, ResponseID: "i.r"}
}

func details[T proto.Message](err error) (found []T) {
	for _, d := range status.Convert(err).Details() {
		if x, ok := d.(T); ok {
			found = append(found, x)
		}
	}
	return found
}

// shown is "CODE REASON retry=delay pushback=ms retryable details".
func shown(err error) string {
	e := toStatus(err)
	s := status.Convert(e)
	out := s.Code().String()
	for _, i := range details[*errdetails.ErrorInfo](e) {
		out += " " + i.GetReason()
		if i.GetDomain() != "llmd.dev" {
			out += "!" + i.GetDomain()
		}
	}
	for _, r := range details[*errdetails.RetryInfo](e) {
		out += " retry=" + r.GetRetryDelay().AsDuration().String()
	}
	if p := pushback(err).Get("grpc-retry-pushback-ms"); len(p) > 0 {
		out += " pushback=" + p[0]
	}
	if ErrorOf(err).GetRetryable() {
		out += " retryable"
	}
	for _, d := range s.Details() {
		switch d.(type) {
		case *errdetails.ErrorInfo, *errdetails.RetryInfo:
		case *errdetails.RequestInfo:
			out += " Request"
		default:
			_, name, _ := strings.Cut(fmt.Sprintf("%T", d), ".")
			out += " " + name
		}
	}
	return out
}

// TestErrorTable is contract section 3, row by row.
func TestErrorTable(t *testing.T) {
	second, hour, frac := time.Second, time.Hour, 1500*time.Microsecond
	yes, no := true, false
	u := func(reason string, edit ...func(*adapters.UpstreamError)) error {
		x := &adapters.UpstreamError{Reason: reason, Status: 0}
		for _, e := range edit {
			e(x)
		}
		return upstreamFailure(x, false, false)
	}
	after := func(d *time.Duration) func(*adapters.UpstreamError) {
		return func(x *adapters.UpstreamError) { x.RetryDelay = d }
	}
	should := func(b *bool) func(*adapters.UpstreamError) {
		return func(x *adapters.UpstreamError) { x.ShouldRetry = b }
	}
	late := func(reason string, edit ...func(*adapters.UpstreamError)) error {
		x := &adapters.UpstreamError{Reason: reason}
		for _, e := range edit {
			e(x)
		}
		return upstreamFailure(x, true, false)
	}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"a broken rule", &InvalidError{Violations: []Violation{{Field: "a", Reason: "REQUIRED", Description: "b"}}}, "InvalidArgument INVALID_REQUEST BadRequest"},
		{"a broken field", &adapters.FieldError{Field: "a", Detail: "b"}, "InvalidArgument INVALID_REQUEST BadRequest"},
		{"an unknown model", &catalog.UnknownModelError{}, "NotFound MODEL_NOT_FOUND ResourceInfo"},
		{"an unknown provider", &catalog.UnknownProviderError{}, "NotFound PROVIDER_NOT_FOUND ResourceInfo"},
		{"a missing capability", &adapters.CapabilityError{Capability: "top_k", Field: "a", Detail: "b"}, "InvalidArgument CAPABILITY_UNSUPPORTED BadRequest"},
		{"a lossy hand-off", &transform.LossError{Changes: []*llmdv1.HandoffChange{{Rule: "thinking.foreign"}}}, "InvalidArgument HANDOFF_WOULD_LOSE_CONTENT BadRequest"},
		{"an unknown API", &generation.UnknownAPIError{API: "x"}, "Unimplemented API_UNSUPPORTED"},
		{"context too long", u(adapters.ReasonContextLengthExceeded), "InvalidArgument CONTEXT_LENGTH_EXCEEDED Request"},
		{"provider 400", u(adapters.ReasonRejectedRequest), "InvalidArgument PROVIDER_REJECTED_REQUEST Request"},
		{"signature refused", u(adapters.ReasonSignatureRejected), "InvalidArgument SIGNATURE_REJECTED Request"},
		{"prompt blocked", u(adapters.ReasonPromptBlocked), "InvalidArgument PROMPT_BLOCKED Request"},
		{"output filtered", late(adapters.ReasonContentFiltered), "FailedPrecondition CONTENT_FILTERED pushback=-1 Request"},
		{"413", u(adapters.ReasonRequestTooLarge), "InvalidArgument REQUEST_TOO_LARGE Request"},
		{"401, caller's key", upstreamFailure(&adapters.UpstreamError{Reason: adapters.ReasonCredentialsInvalid}, false, true), "Unauthenticated PROVIDER_AUTH_FAILED pushback=-1 Request"},
		{"401, llmd's key", u(adapters.ReasonCredentialsInvalid), "FailedPrecondition PROVIDER_CREDENTIALS_INVALID pushback=-1 Request PreconditionFailure"},
		{"403", u(adapters.ReasonPermissionDenied), "PermissionDenied PROVIDER_PERMISSION_DENIED pushback=-1 Request"},
		{"terms, region", u(adapters.ReasonPrecondition), "FailedPrecondition PROVIDER_PRECONDITION pushback=-1 Request"},
		{"404", u(adapters.ReasonModelNotFound), "NotFound MODEL_NOT_FOUND Request ResourceInfo"},
		{"402", u(adapters.ReasonQuotaExhausted), "ResourceExhausted QUOTA_EXHAUSTED pushback=-1 Request QuotaFailure"},
		{"402 with a delay", u(adapters.ReasonQuotaExhausted, after(&hour)), "ResourceExhausted QUOTA_EXHAUSTED pushback=-1 Request QuotaFailure"},
		{"429", u(adapters.ReasonRateLimited), "ResourceExhausted RATE_LIMITED retry=1s pushback=1000 retryable Request QuotaFailure"},
		{"429 with a delay", u(adapters.ReasonRateLimited, after(&frac)), "ResourceExhausted RATE_LIMITED retry=1.5ms pushback=2 retryable Request QuotaFailure"},
		{"429 with a long delay", u(adapters.ReasonRateLimited, after(&hour)), "ResourceExhausted RATE_LIMITED retry=1h0m0s pushback=-1 retryable Request QuotaFailure"},
		{"429, x-should-retry: false", u(adapters.ReasonRateLimited, after(&second), should(&no)), "ResourceExhausted RATE_LIMITED retry=1s pushback=-1 Request QuotaFailure"},
		{"429 after content", late(adapters.ReasonRateLimited, after(&second)), "ResourceExhausted RATE_LIMITED retryable Request QuotaFailure"},
		{"529", u(adapters.ReasonOverloaded), "Unavailable PROVIDER_OVERLOADED retry=2s pushback=2000 retryable Request"},
		{"529 with a delay", u(adapters.ReasonOverloaded, after(&second)), "Unavailable PROVIDER_OVERLOADED retry=1s pushback=1000 retryable Request"},
		{"529, x-should-retry: false", u(adapters.ReasonOverloaded, should(&no)), "Unavailable PROVIDER_OVERLOADED pushback=-1 Request"},
		{"529 after content", late(adapters.ReasonOverloaded), "Unavailable PROVIDER_OVERLOADED retryable Request"},
		{"400, x-should-retry: true", u(adapters.ReasonRejectedRequest, should(&yes)), "InvalidArgument PROVIDER_REJECTED_REQUEST retryable Request"},
		{"500", u(adapters.ReasonProviderError), "Unavailable PROVIDER_ERROR retry=1s pushback=1000 retryable Request"},
		{"connect", u(adapters.ReasonUnreachable), "Unavailable PROVIDER_UNREACHABLE retry=1s pushback=1000 retryable Request"},
		{"no first byte", u(adapters.ReasonTimeout), "Unavailable PROVIDER_TIMEOUT retry=1s pushback=1000 retryable Request"},
		{"idle", late(adapters.ReasonStreamIdle), "Unavailable PROVIDER_STREAM_IDLE pushback=-1 retryable Request"},
		{"truncated", u(adapters.ReasonStreamTruncated), "Unavailable PROVIDER_STREAM_TRUNCATED retry=500ms pushback=500 retryable Request"},
		{"truncated after content", late(adapters.ReasonStreamTruncated), "Unavailable PROVIDER_STREAM_TRUNCATED retryable Request"},
		{"unparsable", u(adapters.ReasonProtocolError), "Unavailable PROVIDER_PROTOCOL_ERROR pushback=-1 Request"},
		{"drain", &ShuttingDownError{}, "Unavailable SERVER_SHUTTING_DOWN retry=0s pushback=0 retryable"},
		{"drain of a stream", aborted(llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN, false), "Unavailable SERVER_SHUTTING_DOWN pushback=0 retryable"},
		{"soft deadline", aborted(llmdv1.AbortCause_ABORT_CAUSE_DEADLINE, false), "DeadlineExceeded DEADLINE_EXCEEDED"},
		{"view closed", generation.ErrViewClosed, "Unavailable SERVER_SHUTTING_DOWN retry=0s pushback=0 retryable"},
		{"view", generation.ErrViewOver, "DeadlineExceeded DEADLINE_EXCEEDED"},
		{"deadline", fmt.Errorf("x: %w", context.DeadlineExceeded), "DeadlineExceeded DEADLINE_EXCEEDED"},
		{"cancelled", context.Canceled, "Canceled CANCELLED"},
		{"left", aborted(llmdv1.AbortCause_ABORT_CAUSE_REQUESTED, true), "Canceled CANCELLED"},
		{"aborted while blocked", aborted(llmdv1.AbortCause_ABORT_CAUSE_REQUESTED, false), "Canceled ABORT_REQUESTED"},
		{"slow consumer", aborted(llmdv1.AbortCause_ABORT_CAUSE_SLOW_CONSUMER, false), "ResourceExhausted SLOW_CONSUMER pushback=-1"},
		{"request_id reused", &generation.ReusedError{ResponseID: "i.r"}, "AlreadyExists REQUEST_ID_REUSED"},
		{"unknown response", &ResponseNotFoundError{}, "NotFound RESPONSE_NOT_FOUND ResourceInfo"},
		{"foreign response", &WrongInstanceError{Instance: "j"}, "FailedPrecondition WRONG_INSTANCE"},
		{"no store", &responses.UnavailableError{Kind: "full", Err: errors.New("secret")}, "Unavailable RESPONSE_STORE_UNAVAILABLE retry=1s pushback=1000 retryable"},
		{"not in the store", fmt.Errorf("x: %w", responses.ErrNotFound), "NotFound RESPONSE_NOT_FOUND ResourceInfo"},
		{"behind the end", &responses.BeyondEndError{Last: 7}, "OutOfRange SEQUENCE_OUT_OF_RANGE"},
		{"events gone", responses.ErrGone, "OutOfRange EVENTS_GONE"},
		{"instance lost", &responses.LostError{Instance: "j"}, "Unavailable INSTANCE_LOST retryable"},
		{"a stored failure", &responses.StatusError{Status: ErrorOf(late(adapters.ReasonStreamIdle))}, "Unavailable PROVIDER_STREAM_IDLE pushback=-1 retryable Request"},
		{"a stored end", &responses.StatusError{Status: ErrorOf(&responses.LostError{})}, "Unavailable INSTANCE_LOST pushback=-1 retryable"},
		{"switched off", &DisabledError{}, "Unimplemented DISABLED"},
		{"caller keys", &CallerKeysError{}, "PermissionDenied CALLER_KEYS_NOT_ALLOWED pushback=-1"},
		{"llmd's own fault", errors.New("the prompt was: secret"), "Internal INTERNAL pushback=-1"},
		{"an unknown reason", u("SOMETHING_NEW"), "Internal INTERNAL pushback=-1 Request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := shown(c.err); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			e, s := ErrorOf(c.err), status.Convert(toStatus(c.err))
			if codes.Code(e.GetCode()) != s.Code() || e.GetReason() != details[*errdetails.ErrorInfo](s.Err())[0].GetReason() {
				t.Errorf("the event says %v %s, the status %v", codes.Code(e.GetCode()), e.GetReason(), s)
			}
			if s.Message() == "" || e.GetMessage() == "" || strings.Contains(s.Message()+e.GetMessage(), "secret") {
				t.Errorf("messages %q, %q", s.Message(), e.GetMessage())
			}
		})
	}
}

// Where the provider has no words of its own, llmd says what it knows, and nothing of
// what was sent.
func TestPlainWords(t *testing.T) {
	u := func(reason string, cause error) error {
		return &adapters.UpstreamError{Reason: reason, Err: cause}
	}
	const unreadable = "the provider sent something that cannot be read"
	secret := errors.New("secret")
	for want, err := range map[string]error{
		unreadable: u(adapters.ReasonProtocolError, secret),
		unreadable + ": frame 3 of its answer, at byte 170, is no JSON of this API": u(adapters.ReasonProtocolError,
			fmt.Errorf("x: %w", adapters.NewFrameError(frame.Frame{Index: 3, Offset: 170}, secret))),
		unreadable + ": frame 2 of its answer, at byte 90, is larger than 16 bytes": u(adapters.ReasonProtocolError,
			&frame.TooLargeError{Index: 2, Offset: 90, Limit: 16}),
		unreadable + ": frame 0 of its answer, at byte 0, is corrupt: checksum": u(adapters.ReasonProtocolError,
			&frame.CorruptError{Reason: "checksum"}),
		"the provider's answer ended before its terminal marker": u(adapters.ReasonStreamTruncated,
			adapters.NewFrameError(frame.Frame{Index: 3, Unterminated: true}, secret)),
		"the provider answered HTTP 502 with a page or text that is no JSON": &adapters.UpstreamError{
			Reason: adapters.ReasonProviderError, Status: 502, Err: generation.ErrNotJSON,
		},
		"a proxy on the way to the provider wants a user and a password (HTTP 407)": &adapters.UpstreamError{
			Reason: adapters.ReasonPrecondition, Status: 407, Err: generation.ErrNotJSON,
		},
		"the provider answered with a page or text that is no event stream": u(adapters.ReasonStreamTruncated, frame.ErrNoEvents),
		"the provider failed: provider error (HTTP 500)":                    &adapters.UpstreamError{Reason: adapters.ReasonProviderError, Status: 500},
	} {
		if got := ErrorOf(err).GetMessage(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A host that only says that there is nothing may have been called at a wrong address.
// What names a model, or anything else, stays as it is.
func TestNothingThere(t *testing.T) {
	const asks = "; the host names no model: are the provider's base_url and api right?"
	for _, c := range []struct {
		status           int
		typ, words, want string
	}{
		{404, "", "Not Found", "Not Found" + asks},                   // FastAPI: {"detail":"Not Found"}
		{404, "", "404 page not found", "404 page not found" + asks}, // Go
		{404, "not_found_error", "File Not Found", "File Not Found" + asks},
		{404, "404", "Resource not found", "Resource not found" + asks}, // Azure
		{404, "invalid_request_error", "Invalid URL (POST /v1/v1/responses)", "Invalid URL (POST /v1/v1/responses)" + asks},
		{404, "unknown_url", "Unknown request URL: POST /v1/x. Please check the URL for typos", "Unknown request URL: POST /v1/x. Please check the URL for typos" + asks},
		{404, "", "no Route matched with those values", "no Route matched with those values" + asks},
		{404, "", "", "the provider failed: model not found (HTTP 404)" + asks},
		{405, "", "Method Not Allowed", "Method Not Allowed" + asks},
		{404, "", strings.Repeat("not ", 300), ""},
		{404, "model_not_found", "", "the provider failed: model not found (HTTP 404)"},
		{404, "", "model 'x' not found", "model 'x' not found"},
		{404, "not_found_error", "model: claude-x", "model: claude-x"},
		{404, "", "No endpoints found for x/y.", "No endpoints found for x/y."},
		{404, "DeploymentNotFound", "The API deployment for this resource does not exist.", "The API deployment for this resource does not exist."},
		{410, "", "Gone", "Gone"},
		{400, "", "Not Found", "Not Found"},
	} {
		u := &adapters.UpstreamError{Reason: adapters.ReasonModelNotFound, Status: c.status, Type: c.typ, Message: c.words}
		if c.status == 405 || c.status == 400 {
			u.Reason = adapters.ReasonRejectedRequest
		}
		e := ErrorOf(upstreamFailure(u, false, false))
		if c.want == "" {
			if m := e.GetMessage(); len(m) > 1<<10 || !strings.HasSuffix(m, asks) {
				t.Errorf("%d bytes: %q", len(m), m)
			}
			continue
		}
		if e.GetMessage() != c.want || (e.GetMetadata()["cause"] == "address") != strings.HasSuffix(c.want, asks) {
			t.Errorf("%d %q: %q, cause %q", c.status, c.words, e.GetMessage(), e.GetMetadata()["cause"])
		}
	}
}

// The facts of the call are in ErrorInfo and in the event alike.
func TestErrorFacts(t *testing.T) {
	err := upstreamFailure(&adapters.UpstreamError{
		Reason: adapters.ReasonContextLengthExceeded, Status: 400, Type: "invalid_request_error", Message: "too long", LimitTokens: 1000, RequestedTokens: 2000,
	}, false, false)
	want := map[string]string{
		"provider": "lab", "api": "openai-completions", "model": "m", "responseId": "i.r", "requestId": "q", "providerRequestId": "p",
		"limitTokens": "1000", "requestedTokens": "2000", "providerErrorType": "invalid_request_error", "providerHttpStatus": "400",
	}
	info := details[*errdetails.ErrorInfo](toStatus(err))[0].GetMetadata()
	e := ErrorOf(err)
	for k, v := range want {
		if info[k] != v || e.GetMetadata()[k] != v {
			t.Errorf("%s is %q and %q, want %q", k, info[k], e.GetMetadata()[k], v)
		}
	}
	for k := range info {
		if !validKey(k) {
			t.Errorf("%q is no key of ErrorInfo", k)
		}
	}
	if e.GetProviderHttpStatus() != 400 || e.GetProviderErrorType() != "invalid_request_error" || e.GetProviderRequestId() != "p" || e.GetMessage() != "too long" {
		t.Errorf("%v", e)
	}
	if r := details[*errdetails.RequestInfo](toStatus(err)); len(r) != 1 || r[0].GetRequestId() != "p" {
		t.Errorf("%v", r)
	}
	if m := details[*errdetails.ErrorInfo](toStatus(&generation.ReusedError{ResponseID: "i.r"}))[0].GetMetadata(); m["responseId"] != "i.r" {
		t.Errorf("%v", m)
	}
	if m := details[*errdetails.ErrorInfo](toStatus(&WrongInstanceError{Instance: "j"}))[0].GetMetadata(); m["instance"] != "j" {
		t.Errorf("%v", m)
	}
}

// What is not found is named (google.rpc.ResourceInfo.resource_name), and a call that
// never had a response is found by the ids that its caller used (contract section 3:
// requestId and responseId are in the metadata whenever they are known).
func TestNotFoundIsNamed(t *testing.T) {
	for _, c := range []struct {
		err                                      error
		kind, name, responseID, requestID, model string
	}{
		{asked(&catalog.UnknownModelError{Name: "lab/n"}, "", "q"), "model", "lab/n", "", "q", ""},
		{asked(&catalog.UnknownProviderError{Name: "bal/n", Provider: "bal"}, "", "q"), "provider", "bal", "", "q", ""},
		{asked(&ResponseNotFoundError{}, "i.r", ""), "response", "i.r", "i.r", "", ""},
		{asked(&ResponseNotFoundError{}, "", "q"), "response", "q", "", "q", ""},
		{upstreamFailure(&adapters.UpstreamError{Reason: adapters.ReasonModelNotFound}, false, false), "model", "lab/m", "i.r", "q", "m"},
		{asked(&InvalidError{}, "", "q"), "", "", "", "q", ""},
		{asked(&generation.Failure{Err: &adapters.CapabilityError{Capability: "top_k"}, Model: &profile.Model{ID: "m"}}, "", "q"), "", "", "", "q", "m"},
		{asked(&generation.ReusedError{ResponseID: "i.r"}, "", "q"), "", "", "i.r", "q", ""},
	} {
		e := toStatus(c.err)
		m := details[*errdetails.ErrorInfo](e)[0].GetMetadata()
		if m["responseId"] != c.responseID || m["requestId"] != c.requestID || m["model"] != c.model {
			t.Errorf("%v: %v", e, m)
		}
		resource := append(details[*errdetails.ResourceInfo](e), nil)[0]
		if resource.GetResourceType() != c.kind || resource.GetResourceName() != c.name {
			t.Errorf("%v: resource %v", e, resource)
		}
	}
	// The host has no such path: no model is at fault.
	u := &adapters.UpstreamError{Reason: adapters.ReasonModelNotFound, Status: 404, Message: "404 page not found"}
	if r := details[*errdetails.ResourceInfo](toStatus(upstreamFailure(u, false, false))); len(r) != 0 {
		t.Errorf("%v", r)
	}
}

// validKey is the rule of https://google.aip.dev/193: [a-z][a-zA-Z0-9-_]+, at most 64.
func validKey(k string) bool {
	return len(k) > 1 && len(k) <= 64 && k[0] >= 'a' && k[0] <= 'z' && !strings.ContainsFunc(k, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", r)
	})
}

// nasty are texts that take more bytes in a trailer than they have.
var nasty = map[string]string{
	"ascii": strings.Repeat("word ", 2000), "percent": strings.Repeat("%", 5000), "accents": strings.Repeat("é", 5000), "euro": strings.Repeat("€", 5000),
	"emoji": strings.Repeat("😀", 5000), "joined": strings.Repeat("👩‍👩‍👧‍👦", 500), "controls": strings.Repeat("\x01\n\r\x7f", 2000), "mixed": strings.Repeat("a%é€😀\n", 1000),
	"null": strings.Repeat("\x00", 5000),
}

// encoded is how many bytes gRPC makes of a status message
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Status-Message).
func encoded(s string) int {
	n := 0
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '%' {
			n += 3
		} else {
			n++
		}
	}
	return n
}

// headerBytes is what a trailer takes in a header list: name, value and 32
// (https://www.rfc-editor.org/rfc/rfc9113#name-settings).
func headerBytes(md metadata.MD, err error) int {
	s := status.Convert(err)
	n := len("grpc-message") + encoded(s.Message()) + 32 + len("grpc-status") + 2 + 32
	if text, merr := proto.Marshal(s.Proto()); merr == nil && len(s.Details()) > 0 {
		n += len("grpc-status-details-bin") + base64.RawStdEncoding.EncodedLen(len(text)) + 32
	}
	for k, vs := range md {
		for _, v := range vs {
			n += len(k) + len(v) + 32
		}
	}
	return n
}

// TestTrailerBudget: whatever a provider says and a caller sends, messages keep their
// limits and the trailers stay under 4 KiB.
func TestTrailerBudget(t *testing.T) {
	for name, s := range nasty {
		violations := make([]Violation, 500)
		for i := range violations {
			violations[i] = Violation{Field: fmt.Sprintf("generation.context.messages[%d].%s", i, s[:min(len(s), 600)]), Reason: "INVALID", Description: s}
		}
		violations = slices.Clone(violations)
		for i := range violations {
			violations[i].Field, violations[i].Description = strings.ToValidUTF8(violations[i].Field, ""), strings.ToValidUTF8(violations[i].Description, "")
		}
		provider := &adapters.UpstreamError{
			Reason: adapters.ReasonRateLimited, Status: 429, Type: s, Message: s, RequestID: s, LimitTokens: 1 << 40, RequestedTokens: 1 << 40,
		}
		model := &profile.Model{ID: s, Provider: s, API: "openai-completions"}
		all := generation.Failure{Model: model, ResponseID: "instance." + strings.Repeat("X", 26), RequestID: cutBytes(s, 512), ProviderRequestID: s, Attempts: 110}
		upstream, planning, capability := all, all, all
		upstream.Err = provider
		planning.Err = &InvalidError{Violations: violations}
		capability.Err = &adapters.CapabilityError{Capability: s, Field: s, Detail: s}
		for _, err := range []error{
			&upstream, &planning, &capability,
			&InvalidError{Violations: violations},
			&catalog.UnknownModelError{Name: s, Suggestions: []string{s, s, s}},
			&adapters.FieldError{Field: s, Detail: s},
			&WrongInstanceError{Instance: s},
		} {
			e := toStatus(err)
			st := status.Convert(e)
			if n := encoded(st.Message()); n > 256 {
				t.Errorf("%s, %T: the status message has %d encoded bytes", name, err, n)
			}
			if !utf8.ValidString(st.Message()) {
				t.Errorf("%s, %T: the status message was cut inside a character", name, err)
			}
			for _, i := range details[*errdetails.ErrorInfo](e) {
				for k, v := range i.GetMetadata() {
					if len(v) > 256 || !utf8.ValidString(v) || !validKey(k) {
						t.Errorf("%s, %T: metadata %s has %d bytes, valid %v", name, err, k, len(v), utf8.ValidString(v))
					}
				}
			}
			md := pushback(err)
			if md == nil {
				md = metadata.MD{}
			}
			md.Set("llmd-response-id", all.ResponseID)
			md.Set("llmd-provider-request-id", strings.Repeat("p", 128))
			md.Set("llmd-request-id", strings.Repeat("q", 128))
			md.Set("llmd-attempts", "110")
			if n := headerBytes(md, e); n > 4<<10 {
				t.Errorf("%s, %T: the trailers have %d bytes", name, err, n)
			}
			if len(details[*errdetails.ErrorInfo](e)) != 1 {
				t.Errorf("%s, %T: no ErrorInfo", name, err)
			}
			w := ErrorOf(err)
			if len(w.GetMessage()) > 1<<10 || !utf8.ValidString(w.GetMessage()) {
				t.Errorf("%s, %T: Error.message has %d bytes", name, err, len(w.GetMessage()))
			}
			if _, merr := proto.Marshal(w); merr != nil {
				t.Errorf("%s, %T: %v", name, err, merr)
			}
		}
	}
}

// Violations are listed while they fit, and counted beyond.
func TestViolationsOmitted(t *testing.T) {
	var vs []Violation
	for i := range 300 {
		vs = append(vs, Violation{Field: fmt.Sprintf("field[%d]", i), Reason: "REQUIRED", Description: "must not be empty"})
	}
	err := toStatus(&InvalidError{Violations: vs})
	listed := details[*errdetails.BadRequest](err)[0].GetFieldViolations()
	omitted := details[*errdetails.ErrorInfo](err)[0].GetMetadata()["violationsOmitted"]
	if len(listed) < 20 || fmt.Sprint(300-len(listed)) != omitted {
		t.Errorf("%d listed, %s omitted", len(listed), omitted)
	}
	if m := status.Convert(err).Message(); m != "field[0]: must not be empty (and 299 more)" {
		t.Errorf("message %q", m)
	}
	one := toStatus(&InvalidError{Violations: vs[:1]})
	if v := details[*errdetails.BadRequest](one)[0].GetFieldViolations()[0]; v.GetField() != "field[0]" || v.GetReason() != "REQUIRED" || v.GetDescription() != "must not be empty" {
		t.Errorf("%v", v)
	}
	if _, there := details[*errdetails.ErrorInfo](one)[0].GetMetadata()["violationsOmitted"]; there {
		t.Error("nothing was omitted")
	}
}

// Keys that a provider repeats in its words are masked.
func TestSecretsInWords(t *testing.T) {
	const key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
	err := upstreamFailure(&adapters.UpstreamError{Reason: adapters.ReasonCredentialsInvalid, Message: "Incorrect API key provided: " + key, Type: key}, false, false)
	e := ErrorOf(err)
	if strings.Contains(e.String(), key) || strings.Contains(status.Convert(toStatus(err)).Proto().String(), key) {
		t.Errorf("the key is shown: %v", e)
	}
	if !strings.Contains(e.GetMessage(), "Incorrect API key provided") {
		t.Errorf("message %q", e.GetMessage())
	}
}

func TestCuts(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 2, "a"}, {"aé", 3, "aé"}, {"😀", 3, ""}, {"", 0, ""}} {
		if got := cutBytes(c.s, c.n); got != c.want {
			t.Errorf("cutBytes(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"a%b", 4, "a%"}, {"é", 5, ""}, {"é", 6, "é"}, {"€", 9, "€"}, {"😀x", 12, "😀"}, {"\n", 2, ""}} {
		if got := cutEncoded(c.s, c.n); got != c.want {
			t.Errorf("cutEncoded(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
	for name, s := range nasty {
		if got := cutEncoded(s, 256); encoded(got) > 256 || encoded(got) < 256-12 && len(got) < len(s) {
			t.Errorf("%s: cut to %d encoded bytes", name, encoded(got))
		}
	}
}
