package upstream

import (
	"context"
	"io"
	"net/http"

	"github.com/llmd-dev/llmd/adapters"
)

// Credentials puts a secret on requests. Implementations are safe for concurrent
// use.
type Credentials interface {
	// Apply puts the secret on a request that is otherwise ready; body is what
	// will be sent. It may ask a cloud for a token and fails with a context error
	// or an *adapters.UpstreamError.
	Apply(ctx context.Context, r *http.Request, body io.WriterTo) error
	// Headers names the headers with secrets that Apply always sets.
	Headers() []string
	// Describe says for people where the secret comes from and never what it is.
	Describe() string
}

// Scheme is how a key is sent. Its words are those of the configuration.
type Scheme string

// The schemes.
const (
	// SchemeBearer sends "Authorization: Bearer KEY": most hosts.
	SchemeBearer Scheme = "bearer"
	// SchemeXAPIKey is Anthropic's header, the key as it is.
	SchemeXAPIKey Scheme = "x-api-key"
	// SchemeAPIKey is Azure's header, the key as it is.
	SchemeAPIKey Scheme = "api-key"
	// SchemeGoogle is Google's header, the key as it is.
	SchemeGoogle Scheme = "x-goog-api-key"
	// SchemeCloudflare is the header of Cloudflare's gateway, which keeps
	// Authorization for the provider behind it:
	// https://developers.cloudflare.com/ai-gateway/configuration/authentication/.
	SchemeCloudflare Scheme = "cf-aig-authorization"
)

// SchemeOf is how the owner of a wire API wants its keys.
func SchemeOf(api string) Scheme {
	switch api {
	case "anthropic-messages":
		return SchemeXAPIKey
	case "azure-openai-responses":
		return SchemeAPIKey
	case "google-generative-ai", "google-vertex":
		return SchemeGoogle
	}
	return SchemeBearer
}

// Key is a key or token that is known beforehand.
type Key struct {
	scheme      Scheme
	key, source string
}

// NewKey makes credentials of a key. source says where it comes from, such as
// "environment OPENAI_API_KEY" or "caller".
func NewKey(scheme Scheme, key, source string) *Key {
	return &Key{scheme: scheme, key: key, source: source}
}

// String hides the key from fmt.
func (k *Key) String() string { return "key from " + k.source }

// GoString hides the key from %#v.
func (k *Key) GoString() string { return k.String() }

// Describe implements Credentials.
func (k *Key) Describe() string { return k.source }

// Headers implements Credentials.
func (k *Key) Headers() []string {
	if k.scheme == SchemeBearer {
		return []string{"Authorization"}
	}
	return []string{string(k.scheme)}
}

// Apply implements Credentials.
func (k *Key) Apply(_ context.Context, r *http.Request, _ io.WriterTo) error {
	switch k.scheme {
	case SchemeBearer:
		r.Header.Set("Authorization", "Bearer "+k.key)
	case SchemeCloudflare:
		r.Header.Set(string(k.scheme), "Bearer "+k.key)
	case SchemeXAPIKey, SchemeAPIKey, SchemeGoogle:
		r.Header.Set(string(k.scheme), k.key)
	}
	return nil
}

// None is for hosts that ask for no credentials.
type None struct{}

// Apply implements Credentials.
func (None) Apply(context.Context, *http.Request, io.WriterTo) error { return nil }

// Headers implements Credentials.
func (None) Headers() []string { return nil }

// Describe implements Credentials.
func (None) Describe() string { return "none" }

// CredentialsError means that a cloud's chain gave no credentials.
type CredentialsError struct {
	// Source is the chain, such as "AWS".
	Source string
	// Detail says what is wrong; secrets are masked.
	Detail string
	// Err is the cause; its text may hold secrets and is not printed.
	Err error
}

func (e *CredentialsError) Error() string {
	return "upstream: no credentials from " + e.Source + ": " + e.Detail
}

// Unwrap gives the cause.
func (e *CredentialsError) Unwrap() error { return e.Err }

// noCredentials wraps a failure of a chain for the caller of Do.
func noCredentials(reason, source, detail string, cause error) error {
	return &adapters.UpstreamError{
		Reason:  reason,
		Message: "no credentials from " + source + ": " + adapters.MaskSecrets(detail),
		Err:     &CredentialsError{Source: source, Detail: adapters.MaskSecrets(detail), Err: cause},
	}
}
