package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/sync/singleflight"

	"github.com/llmd-dev/llmd/adapters"
)

const (
	cloudScope   = "https://www.googleapis.com/auth/cloud-platform"
	tokenTimeout = 30 * time.Second
)

// Google puts on tokens of the Google application default credentials: a service
// account or user file, workload identity, or the metadata server. They are
// looked up at the first request; a token is kept until shortly before it
// expires.
type Google struct {
	flight singleflight.Group
	// source is written inside the flight only.
	source oauth2.TokenSource
}

// NewGoogle makes credentials from the application default credentials.
func NewGoogle() *Google { return &Google{} }

// Describe implements Credentials.
func (g *Google) Describe() string { return "Google application default credentials" }

// Headers implements Credentials.
func (g *Google) Headers() []string { return []string{"Authorization"} }

// Apply implements Credentials.
func (g *Google) Apply(ctx context.Context, r *http.Request, _ io.WriterTo) error {
	// One goroutine fetches for all; a caller who leaves does not stop it, and its
	// time limit does not depend on whoever came first.
	done := g.flight.DoChan("", func() (any, error) { return g.token(context.WithoutCancel(ctx)) })
	select {
	case <-ctx.Done():
		return ctx.Err()
	case result := <-done:
		token, ok := result.Val.(*oauth2.Token)
		if result.Err != nil || !ok {
			return googleError(result.Err)
		}
		r.Header.Set("Authorization", "Bearer "+token.AccessToken)
		return nil
	}
}

func (g *Google) token(ctx context.Context) (*oauth2.Token, error) {
	if g.source == nil {
		ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Timeout: tokenTimeout})
		found, err := google.FindDefaultCredentials(ctx, cloudScope)
		if err != nil {
			return nil, err
		}
		g.source = found.TokenSource
	}
	return g.source.Token()
}

// refusal is the word of OAuth for why a token was refused.
func refusal(e *oauth2.RetrieveError) string {
	const most = 40
	word := e.ErrorCode
	if word == "" {
		var body struct{ Error string }
		if json.Unmarshal(e.Body, &body) == nil {
			word = body.Error
		}
	}
	return word[:min(len(word), most)]
}

// googleError tells a token service that cannot be reached from credentials that
// it refuses. A refusal's text holds the whole answer and is not repeated.
func googleError(err error) error {
	const source = "Google"
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		reason, status := adapters.ReasonCredentialsInvalid, 0
		if refused.Response != nil {
			status = refused.Response.StatusCode
		}
		if status >= 500 || status == http.StatusTooManyRequests {
			reason = adapters.ReasonUnreachable
		}
		return noCredentials(reason, source, strings.TrimSpace(fmt.Sprintf("the token service answered HTTP %d %s", status, refusal(refused))), err)
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return noCredentials(adapters.ReasonUnreachable, source, "the token service cannot be reached", err)
	}
	return noCredentials(adapters.ReasonCredentialsInvalid, source, "none were found or they cannot be used", err)
}
