package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/service/generation"
	"github.com/llmd-dev/llmd/service/responses"
	"github.com/llmd-dev/llmd/transform"
)

// Domain is the domain of every ErrorInfo.
const Domain = "llmd.dev"

// row is one row of the error table of the contract (section 3).
type row struct {
	code   codes.Code
	reason string
	// delay is what RetryInfo says before the commit point where the provider named
	// none; 0 = nothing.
	delay time.Duration
	// never: the client's library must not try again (pushback -1).
	never bool
}

// upstreamRow maps what a provider's answer leads to.
func upstreamRow(reason string, callerKey bool) row {
	switch reason {
	case adapters.ReasonContextLengthExceeded, adapters.ReasonRejectedRequest, adapters.ReasonSignatureRejected,
		adapters.ReasonPromptBlocked, adapters.ReasonRequestTooLarge:
		return row{code: codes.InvalidArgument, reason: reason}
	case adapters.ReasonContentFiltered, adapters.ReasonPrecondition:
		return row{code: codes.FailedPrecondition, reason: reason, never: true}
	case adapters.ReasonModelNotFound:
		return row{code: codes.NotFound, reason: reason}
	case adapters.ReasonCredentialsInvalid:
		if callerKey {
			return row{code: codes.Unauthenticated, reason: "PROVIDER_AUTH_FAILED", never: true}
		}
		return row{code: codes.FailedPrecondition, reason: reason, never: true}
	case adapters.ReasonPermissionDenied:
		return row{code: codes.PermissionDenied, reason: reason, never: true}
	case adapters.ReasonQuotaExhausted:
		return row{code: codes.ResourceExhausted, reason: reason, never: true}
	case adapters.ReasonRateLimited:
		return row{code: codes.ResourceExhausted, reason: reason, delay: time.Second}
	case adapters.ReasonOverloaded:
		return row{code: codes.Unavailable, reason: reason, delay: 2 * time.Second}
	case adapters.ReasonProviderError, adapters.ReasonUnreachable, adapters.ReasonTimeout:
		return row{code: codes.Unavailable, reason: reason, delay: time.Second}
	case adapters.ReasonStreamTruncated:
		return row{code: codes.Unavailable, reason: reason, delay: 500 * time.Millisecond}
	case adapters.ReasonStreamIdle, adapters.ReasonProtocolError:
		return row{code: codes.Unavailable, reason: reason, never: true}
	}
	return row{code: codes.Internal, reason: "INTERNAL", never: true}
}

func abortRow(a *generation.Abort) row {
	switch a.Cause {
	case llmdv1.AbortCause_ABORT_CAUSE_DEADLINE:
		return row{code: codes.DeadlineExceeded, reason: "DEADLINE_EXCEEDED"}
	case llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN:
		return row{code: codes.Unavailable, reason: "SERVER_SHUTTING_DOWN"}
	case llmdv1.AbortCause_ABORT_CAUSE_SLOW_CONSUMER:
		return row{code: codes.ResourceExhausted, reason: "SLOW_CONSUMER", never: true}
	case llmdv1.AbortCause_ABORT_CAUSE_REQUESTED, llmdv1.AbortCause_ABORT_CAUSE_UNSPECIFIED,
		llmdv1.AbortCause_ABORT_CAUSE_INSTANCE_LOST: // another llmd says that
	}
	if a.Cancelled {
		return row{code: codes.Canceled, reason: "CANCELLED"}
	}
	return row{code: codes.Canceled, reason: "ABORT_REQUESTED"}
}

// The handlers' own errors.
type (
	// InvalidError lists what is wrong with a request, and how much more there is.
	InvalidError struct {
		Violations []Violation
		More       int
	}
	// ResponseNotFoundError means that there is no such response, or not the caller's.
	ResponseNotFoundError struct{}
	// WrongInstanceError means that the response lives in another llmd.
	WrongInstanceError struct{ Instance string }
	// ShuttingDownError means that no new work is taken.
	ShuttingDownError struct{}
	// DisabledError means that the feature is switched off by configuration.
	DisabledError struct{ Feature string }
	// CallerKeysError means that the configuration does not take keys from callers.
	CallerKeysError struct{}
	// NotAllowedError means that the configuration keeps a model from the caller.
	NotAllowedError struct{}
)

// Violation is one fault of a request.
type Violation struct {
	// Field is the path of the field, such as "generation.model".
	Field string
	// Reason is a stable word such as "REQUIRED".
	Reason string
	// Description is for people; it does not quote the request.
	Description string
}

func (e *InvalidError) Error() string {
	if len(e.Violations) == 0 {
		return "the request is invalid"
	}
	v := e.Violations[0]
	more := ""
	if n := len(e.Violations) - 1 + e.More; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Sprintf("%s: %s%s", v.Field, v.Description, more)
}

func (*ResponseNotFoundError) Error() string { return "no such response, or it has expired" }

func (e *WrongInstanceError) Error() string {
	return "the response belongs to instance " + e.Instance + ": ask that one; if it has ended, so have its responses"
}

func (*ShuttingDownError) Error() string { return "the server is shutting down" }

func (e *DisabledError) Error() string { return e.Feature + " is switched off in the configuration" }

func (*CallerKeysError) Error() string {
	return "this server does not accept provider keys from callers: server.caller_keys.allow is not set"
}

func (*NotAllowedError) Error() string {
	return "the caller may not use this model; ListModels shows those that it may"
}

// fault is an error in the contract's words: what Error and status are made of.
type fault struct {
	row
	message    string
	metadata   map[string]string
	violations []Violation
	// moreViolations are counted alone.
	moreViolations int
	upstream       *adapters.UpstreamError
	retryAfter     *time.Duration
	committed      bool
	// resource and resourceName are what is NOT_FOUND: its kind and the caller's name of it.
	resource, resourceName string
}

// describe is the only map from errors to the contract's codes and reasons.
func describe(err error) *fault {
	f := &fault{metadata: map[string]string{}}
	var failure *generation.Failure
	if errors.As(err, &failure) {
		f.callFacts(failure)
	}
	var (
		upstream  *adapters.UpstreamError
		abort     *generation.Abort
		invalid   *InvalidError
		field     *adapters.FieldError
		lacks     *adapters.CapabilityError
		loss      *transform.LossError
		noModel   *catalog.UnknownModelError
		noHost    *catalog.UnknownProviderError
		noAPI     *generation.UnknownAPIError
		reused    *generation.ReusedError
		notFound  *ResponseNotFoundError
		elsewhere *WrongInstanceError
		closing   *ShuttingDownError
		disabled  *DisabledError
		keys      *CallerKeysError
		forbidden *NotAllowedError
		stored    *responses.StatusError
		noStore   *responses.UnavailableError
		beyond    *responses.BeyondEndError
		lost      *responses.LostError
	)
	f.message = withoutPackage(err.Error())
	if fallback, ok := errors.AsType[*generation.FallbackError](err); ok {
		f.message = fallback.Field + ": " + withoutPackage(fallback.Err.Error())
	}
	switch {
	case errors.As(err, &upstream):
		f.fromUpstream(upstream, failure != nil && failure.CallerKey)
	case errors.As(err, &abort):
		f.row, f.message = abortRow(abort), abort.Error()
	case errors.As(err, &invalid):
		f.row, f.violations, f.moreViolations = row{code: codes.InvalidArgument, reason: "INVALID_REQUEST"}, invalid.Violations, invalid.More
		f.message = invalid.Error() // it begins with a field, which may be called like a package
	case errors.As(err, &field):
		f.row = row{code: codes.InvalidArgument, reason: "INVALID_REQUEST"}
		f.message = field.Field + ": " + field.Detail
		f.violations = []Violation{{Field: field.Field, Reason: "INVALID", Description: field.Detail}}
	case errors.As(err, &lacks):
		f.row = row{code: codes.InvalidArgument, reason: "CAPABILITY_UNSUPPORTED"}
		f.message = lacks.Field + ": " + lacks.Detail
		f.metadata["capability"] = lacks.Capability
		f.violations = []Violation{{Field: lacks.Field, Reason: "CAPABILITY_UNSUPPORTED", Description: lacks.Detail}}
	case errors.As(err, &loss):
		f.row = row{code: codes.InvalidArgument, reason: "HANDOFF_WOULD_LOSE_CONTENT"}
		f.message = fmt.Sprintf("the hand-off would lose content in %s", count(len(loss.Changes), "place"))
		f.violations = lossViolations(loss)
	case errors.As(err, &noModel):
		f.row, f.resource, f.resourceName = row{code: codes.NotFound, reason: "MODEL_NOT_FOUND"}, "model", noModel.Name
		f.suggest(noModel.Suggestions)
	case errors.As(err, &noHost):
		f.row, f.resource, f.resourceName = row{code: codes.NotFound, reason: "PROVIDER_NOT_FOUND"}, "provider", noHost.Provider
		f.suggest(noHost.Suggestions)
	case errors.As(err, &noAPI):
		f.row = row{code: codes.Unimplemented, reason: "API_UNSUPPORTED"}
		f.metadata["api"] = noAPI.API
	case errors.As(err, &reused):
		f.row = row{code: codes.AlreadyExists, reason: "REQUEST_ID_REUSED"}
		f.metadata["responseId"] = reused.ResponseID
	case errors.As(err, &stored):
		f.fromStored(stored.Status)
	case errors.As(err, &noStore):
		f.row = row{code: codes.Unavailable, reason: "RESPONSE_STORE_UNAVAILABLE"}
		f.metadata["cause"] = noStore.Kind
		f.retryAfter = new(time.Second)
	case errors.As(err, &lost):
		f.row = row{code: codes.Unavailable, reason: "INSTANCE_LOST"}
		f.metadata["instance"] = lost.Instance
	case errors.As(err, &beyond):
		f.row = row{code: codes.OutOfRange, reason: "SEQUENCE_OUT_OF_RANGE"}
		f.metadata["lastSequenceNumber"] = strconv.Itoa(int(beyond.Last))
	case errors.Is(err, responses.ErrGone):
		f.row = row{code: codes.OutOfRange, reason: "EVENTS_GONE"}
	case errors.As(err, &notFound), errors.Is(err, responses.ErrNotFound):
		f.row, f.resource = row{code: codes.NotFound, reason: "RESPONSE_NOT_FOUND"}, "response"
		f.resourceName = cmp.Or(f.metadata["responseId"], f.metadata["requestId"])
	case errors.As(err, &elsewhere):
		f.row = row{code: codes.FailedPrecondition, reason: "WRONG_INSTANCE"}
		f.metadata["instance"] = elsewhere.Instance
	case errors.As(err, &closing), errors.Is(err, generation.ErrViewClosed):
		f.row = row{code: codes.Unavailable, reason: "SERVER_SHUTTING_DOWN"}
		f.retryAfter = new(time.Duration) // at once, elsewhere
	case errors.As(err, &disabled):
		f.row = row{code: codes.Unimplemented, reason: "DISABLED"}
	case errors.As(err, &keys):
		f.row = row{code: codes.PermissionDenied, reason: "CALLER_KEYS_NOT_ALLOWED", never: true}
	case errors.As(err, &forbidden):
		f.row = row{code: codes.PermissionDenied, reason: "MODEL_NOT_ALLOWED", never: true}
	case errors.Is(err, generation.ErrViewOver):
		f.row = row{code: codes.DeadlineExceeded, reason: "DEADLINE_EXCEEDED"}
		f.message = "the time of this call is over, and the response goes on: attach again"
	case errors.Is(err, context.DeadlineExceeded):
		f.row, f.message = row{code: codes.DeadlineExceeded, reason: "DEADLINE_EXCEEDED"}, "the caller's deadline has passed"
	case errors.Is(err, context.Canceled):
		f.row, f.message = row{code: codes.Canceled, reason: "CANCELLED"}, "the call was cancelled"
	default:
		// The text may hold anything: it stays here.
		f.row, f.message = row{code: codes.Internal, reason: "INTERNAL", never: true}, "internal error"
	}
	f.message = cutBytes(f.message, maxMessage)
	return f
}

// withoutPackage drops the name of the package that an error text begins with: it
// says nothing to a caller.
func withoutPackage(s string) string {
	for _, name := range []string{"catalog: ", "generation: ", "transform: ", "adapters: ", "service: ", "responses: "} {
		if rest, ok := strings.CutPrefix(s, name); ok {
			return rest
		}
	}
	return s
}

func (f *fault) callFacts(c *generation.Failure) {
	f.committed = c.Committed
	if c.Model != nil {
		f.metadata["provider"], f.metadata["api"], f.metadata["model"] = c.Model.Provider, c.Model.API, c.Model.ID
	}
	for k, v := range map[string]string{"responseId": c.ResponseID, "requestId": c.RequestID, "providerRequestId": c.ProviderRequestID} {
		if v != "" {
			f.metadata[k] = v
		}
	}
}

// asked adds to an error the ids that the caller used, where nobody knows of a response:
// by them the caller finds the call that failed.
func asked(err error, responseID, requestID string) error {
	f, ok := errors.AsType[*generation.Failure](err)
	if !ok {
		return &generation.Failure{Err: err, ResponseID: responseID, RequestID: requestID}
	}
	named := *f
	named.Err, named.ResponseID, named.RequestID = err, cmp.Or(f.ResponseID, responseID), cmp.Or(f.RequestID, requestID)
	return &named
}

func (f *fault) fromUpstream(u *adapters.UpstreamError, callerKey bool) {
	f.row, f.upstream = upstreamRow(u.Reason, callerKey), u
	f.message = adapters.MaskSecrets(u.Message)
	if f.message == "" {
		f.message = plainWords(u)
	}
	switch {
	case nothingThere(u):
		f.message = cutBytes(f.message, maxMessage-len(askAddress)) + askAddress
		f.metadata["cause"] = CauseAddress
	case u.Reason == adapters.ReasonModelNotFound && f.metadata["model"] != "":
		f.resource, f.resourceName = "model", f.metadata["provider"]+"/"+f.metadata["model"]
	}
	if u.Type != "" {
		f.metadata["providerErrorType"] = adapters.MaskSecrets(u.Type)
	}
	if u.Status != 0 {
		f.metadata["providerHttpStatus"] = strconv.Itoa(u.Status)
	}
	if u.LimitTokens > 0 {
		f.metadata["limitTokens"] = strconv.FormatInt(u.LimitTokens, 10)
	}
	if u.RequestedTokens > 0 {
		f.metadata["requestedTokens"] = strconv.FormatInt(u.RequestedTokens, 10)
	}
	f.metadata["retryable"] = strconv.FormatBool(u.Retryable())
	if u.ShouldRetry != nil && !*u.ShouldRetry {
		f.never = true
	}
	switch {
	case f.committed || !u.Retryable() && u.Reason != adapters.ReasonRateLimited:
	case u.RetryDelay != nil:
		f.retryAfter = u.RetryDelay
	case f.delay > 0 && !f.never:
		f.retryAfter = &f.delay
	}
}

// CauseAddress is the metadata "cause" of a failure that a wrong base_url or api of the
// provider's entry explains.
const CauseAddress = "address"

// askAddress goes behind the words of such a failure. The URL is not shown: its path may
// name an account.
const askAddress = "; the host names no model: are the provider's base_url and api right?"

// nothingThere: the host says that it has no such path, or method there, and none of its
// words is about a model or anything else of the request.
func nothingThere(u *adapters.UpstreamError) bool {
	if u.Status != http.StatusNotFound && u.Status != http.StatusMethodNotAllowed ||
		u.Reason != adapters.ReasonModelNotFound && u.Reason != adapters.ReasonRejectedRequest {
		return false
	}
	// OpenAI, Groq ("Unknown request URL"), Kong, Express and LM Studio.
	text := strings.ToLower(u.Message)
	for _, words := range []string{"invalid url", "request url", "no route", "cannot post", "endpoint or method"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	for _, word := range strings.FieldsFunc(text+" "+strings.ToLower(u.Type), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if !strings.Contains(emptyWords, " "+word+" ") {
			return false
		}
	}
	return true
}

// emptyWords are those with which hosts say that there is nothing, and nothing more.
const emptyWords = " api does endpoint error exist file found http invalid method no not page path post request requested " +
	"resource route such the there this type uri url was allowed " +
	"notfound notfounderror unknownoperationexception "

// plainWords stand in where the provider said nothing.
func plainWords(u *adapters.UpstreamError) string {
	words := map[string]string{
		adapters.ReasonUnreachable:     "the provider could not be reached",
		adapters.ReasonTimeout:         "the provider sent no answer in time",
		adapters.ReasonStreamIdle:      "the provider fell silent in the middle of its answer",
		adapters.ReasonStreamTruncated: "the provider's answer ended before its terminal marker",
		adapters.ReasonProtocolError:   "the provider sent something that cannot be read",
		adapters.ReasonContentFiltered: "the provider filtered or refused the answer",
	}[u.Reason]
	if words == "" {
		words = "the provider failed: " + strings.ToLower(strings.ReplaceAll(u.Reason, "_", " "))
	}
	const proxyAuth = 407 // only proxies answer so: RFC 9110, 15.5.8
	switch {
	case u.Status == proxyAuth:
		return "a proxy on the way to the provider wants a user and a password (HTTP 407)"
	case errors.Is(u.Err, generation.ErrNotJSON):
		return fmt.Sprintf("the provider answered HTTP %d with a page or text that is no JSON", u.Status)
	case errors.Is(u.Err, frame.ErrNoEvents):
		return "the provider answered with a page or text that is no event stream"
	case u.Status != 0:
		return words + fmt.Sprintf(" (HTTP %d)", u.Status)
	}
	return words + wrongFrame(u.Err)
}

// wrongFrame says which part of a provider's answer is at fault. It says nothing of
// what was in it.
func wrongFrame(err error) string {
	var (
		bad     *adapters.FrameError
		large   *frame.TooLargeError
		corrupt *frame.CorruptError
	)
	switch {
	case errors.As(err, &large):
		return fmt.Sprintf(": frame %d of its answer, at byte %d, is larger than %d bytes", large.Index, large.Offset, large.Limit)
	case errors.As(err, &corrupt):
		return fmt.Sprintf(": frame %d of its answer, at byte %d, is corrupt: %s", corrupt.Index, corrupt.Offset, corrupt.Reason)
	case errors.As(err, &bad) && !errors.Is(err, adapters.ErrTruncated):
		return fmt.Sprintf(": frame %d of its answer, at byte %d, is no JSON of this API", bad.Index, bad.Offset)
	}
	return ""
}

// fromStored takes the error of a response as its last event said it.
func (f *fault) fromStored(e *llmdv1.Error) {
	f.row, f.message, f.committed = row{code: codes.Code(e.GetCode()), reason: e.GetReason()}, e.GetMessage(), true
	maps.Copy(f.metadata, e.GetMetadata())
	if e.GetProviderErrorType() != "" || e.GetProviderHttpStatus() != 0 {
		f.metadata["retryable"] = strconv.FormatBool(e.GetRetryable())
	}
	if d := e.GetRetryDelay(); d != nil {
		f.retryAfter = new(d.AsDuration())
	}
	f.never = f.retryAfter == nil
}

func (f *fault) suggest(names []string) {
	if len(names) > 0 {
		f.metadata["suggestions"] = strings.Join(names, ",")
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// lossViolations names the places by their fields, as other violations do.
func lossViolations(loss *transform.LossError) []Violation {
	var vs []Violation
	messages := loss.Context.GetMessages()
	for _, c := range loss.Changes {
		i := int(c.GetMessageIndex())
		field := fmt.Sprintf("generation.context.messages[%d]", i)
		if c.ContentIndex != nil && i < len(messages) {
			field += fmt.Sprintf(".%s.content[%d]", messageKind(messages[i]), c.GetContentIndex())
		}
		vs = append(vs, Violation{Field: field, Reason: c.GetRule(), Description: c.GetDetail()})
	}
	return vs
}

// messageKind is the field of a message that is set.
func messageKind(m *llmdv1.Message) string {
	switch m.GetMessage().(type) {
	case *llmdv1.Message_Assistant:
		return "assistant"
	case *llmdv1.Message_ToolResult:
		return "tool_result"
	}
	return "user"
}

// ErrorOf spells an error as the contract's message.
func ErrorOf(err error) *llmdv1.Error {
	f := describe(err)
	e := &llmdv1.Error{
		Code: int32(f.code), Reason: f.reason, Message: f.message, Metadata: maps.Clone(f.metadata),
	}
	delete(e.Metadata, "retryable")
	for k, v := range e.Metadata {
		e.Metadata[k] = cutBytes(v, maxMetadataValue)
	}
	if f.retryAfter != nil {
		e.RetryDelay = durationpb.New(*f.retryAfter)
	}
	if u := f.upstream; u != nil {
		e.ProviderHttpStatus = int32(u.Status)
		e.ProviderErrorType = adapters.MaskSecrets(u.Type)
		e.ProviderRequestId = f.metadata["providerRequestId"]
		e.Retryable = u.Retryable()
	}
	if f.code == codes.Unavailable && f.upstream == nil {
		e.Retryable = true
	}
	return e
}
