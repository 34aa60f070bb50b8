package generation

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
)

// shortestSecret keeps a word such as "none" from being taken for a credential.
const shortestSecret = 6

// Failure is an error of a run with the facts of contract section 3. Its cause
// says what went wrong: an *adapters.UpstreamError, an *Abort, or an error of
// planning a fallback.
type Failure struct { //nolint:errname // the frame around an error
	Err   error
	Model *profile.Model
	// ResponseID is llmd's id, RequestID the caller's, ProviderRequestID the
	// provider's.
	ResponseID, RequestID, ProviderRequestID string
	// Attempts is how many requests went to providers.
	Attempts int
	// Committed: started was sent, so that no client may try again by itself.
	Committed bool
	// CallerKey: the request used the caller's own key.
	CallerKey bool
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// failure adds the run's facts to an error. The caller holds the lock.
func (r *Run) failure(err error) error {
	f := &Failure{
		Err: err, ResponseID: r.asm.message.GetResponseId(), ProviderRequestID: r.provider,
		Attempts: r.requests, Committed: r.started != nil,
	}
	if r.plan != nil { // a replayed response has no plan any more
		f.Model, f.RequestID = r.plan.Model, r.request.RequestID
		f.CallerKey = r.request.Keys[r.plan.Model.Provider] != ""
	}
	if u := asUpstream(err); u != nil {
		u = r.withoutSecrets(u)
		f.Err = u
		f.ProviderRequestID = cmp.Or(f.ProviderRequestID, u.RequestID)
	}
	f.ProviderRequestID = r.hide(f.ProviderRequestID)
	return f
}

// withoutSecrets is what a provider said, less the credentials that the request
// carried: some hosts repeat them.
func (r *Run) withoutSecrets(u *adapters.UpstreamError) *adapters.UpstreamError {
	hidden := *u
	hidden.Message, hidden.Type, hidden.RequestID = r.hide(u.Message), r.hide(u.Type), r.hide(u.RequestID)
	return &hidden
}

// hide replaces the request's own credentials in a text of the provider's.
func (r *Run) hide(s string) string {
	if s == "" || r.plan == nil {
		return s
	}
	secrets := []string{r.request.Keys[r.plan.Model.Provider]}
	if f := r.engine.cfg.Secrets; f != nil {
		secrets = append(secrets, f(r.plan.Model)...)
	}
	for _, secret := range secrets {
		if len(secret) < shortestSecret {
			continue
		}
		s = strings.ReplaceAll(s, secret, adapters.Redacted)
		s = strings.ReplaceAll(s, url.QueryEscape(secret), adapters.Redacted)
	}
	return s
}
