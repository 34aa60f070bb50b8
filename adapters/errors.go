package adapters

import (
	"fmt"
	"time"
)

// The reasons of contract section 3 that a provider's answer can lead to. The
// gRPC code of each is decided in service/errors.go.
const (
	ReasonContextLengthExceeded = "CONTEXT_LENGTH_EXCEEDED"
	ReasonRejectedRequest       = "PROVIDER_REJECTED_REQUEST"
	ReasonSignatureRejected     = "SIGNATURE_REJECTED"
	ReasonPromptBlocked         = "PROMPT_BLOCKED"
	ReasonContentFiltered       = "CONTENT_FILTERED"
	ReasonRequestTooLarge       = "REQUEST_TOO_LARGE"
	ReasonModelNotFound         = "MODEL_NOT_FOUND"
	ReasonCredentialsInvalid    = "PROVIDER_CREDENTIALS_INVALID"
	ReasonPermissionDenied      = "PROVIDER_PERMISSION_DENIED"
	ReasonPrecondition          = "PROVIDER_PRECONDITION"
	ReasonQuotaExhausted        = "QUOTA_EXHAUSTED"
	ReasonRateLimited           = "RATE_LIMITED"
	ReasonOverloaded            = "PROVIDER_OVERLOADED"
	ReasonProviderError         = "PROVIDER_ERROR"
	ReasonUnreachable           = "PROVIDER_UNREACHABLE"
	ReasonTimeout               = "PROVIDER_TIMEOUT"
	ReasonStreamIdle            = "PROVIDER_STREAM_IDLE"
	ReasonStreamTruncated       = "PROVIDER_STREAM_TRUNCATED"
	ReasonProtocolError         = "PROVIDER_PROTOCOL_ERROR"
)

// UpstreamError is a failure on the provider's side, as facts. Its text is for
// the caller alone: it may hold the provider's words and is never logged.
type UpstreamError struct {
	// Reason is one of the reasons above.
	Reason string
	// Status is the HTTP status, 0 if there was none or it was a success.
	Status int
	// Type is the provider's own type or code of the error.
	Type string
	// Message is the provider's words, parsed out of the body.
	Message string
	// RequestID is the provider's id of the request.
	RequestID string
	// RetryDelay is the delay that the provider asked for; nil = it named none.
	RetryDelay *time.Duration
	// ShouldRetry is the provider's explicit word for or against a retry.
	ShouldRetry *bool
	// SchemaRefused: what was refused is a schema that the model is to be held to. Without
	// it the request may be taken.
	SchemaRefused bool
	// LimitTokens and RequestedTokens are set for CONTEXT_LENGTH_EXCEEDED where
	// the provider names them.
	LimitTokens, RequestedTokens int64
	// Err is the cause, where one is known.
	Err error
}

// Error gives the reason and the status, and none of the provider's words.
func (e *UpstreamError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("adapters: %s (HTTP %d)", e.Reason, e.Status)
	}
	return "adapters: " + e.Reason
}

// Unwrap gives the cause.
func (e *UpstreamError) Unwrap() error { return e.Err }

// Retryable says whether the identical request may succeed soon.
func (e *UpstreamError) Retryable() bool {
	if e.ShouldRetry != nil && !*e.ShouldRetry {
		return false
	}
	switch e.Reason {
	case ReasonRateLimited, ReasonOverloaded, ReasonProviderError, ReasonUnreachable,
		ReasonTimeout, ReasonStreamIdle, ReasonStreamTruncated:
		return true
	}
	return e.ShouldRetry != nil && *e.ShouldRetry && e.Reason == ReasonRejectedRequest
}

// CapabilityError means that an explicit option cannot be honoured.
type CapabilityError struct {
	// Capability is what is missing, such as "top_k".
	Capability string
	// Field is the request's field, such as "generation.config.top_k".
	Field string
	// Detail is for people.
	Detail string
}

func (e *CapabilityError) Error() string {
	return fmt.Sprintf("adapters: %s unsupported: %s", e.Capability, e.Detail)
}

// FieldError means that a field of the request cannot be read.
type FieldError struct {
	// Field is the request's field.
	Field string
	// Detail is for people; it does not quote the field.
	Detail string
}

func (e *FieldError) Error() string { return fmt.Sprintf("adapters: %s: %s", e.Field, e.Detail) }
