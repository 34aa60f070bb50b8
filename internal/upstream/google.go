package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/llmd-dev/llmd/adapters"
)

const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

// Google puts on tokens of the Google application default credentials: a service
// account or user file, workload identity, or the metadata server. They are
// looked up at the first request; a token is kept until shortly before it
// expires.
type Google struct {
	fetcher
	// source is touched by the one fetch that runs.
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
	return g.apply(ctx, r, g.fetch, googleError)
}

func (g *Google) fetch(ctx context.Context) (string, error) {
	if g.source == nil {
		// The source keeps the context, which must outlast this question.
		ctx := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Timeout: tokenTimeout})
		found, err := google.FindDefaultCredentials(ctx, cloudScope)
		if err != nil {
			return "", err
		}
		g.source = found.TokenSource
	}
	token, err := g.source.Token()
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

// refusal is the word of OAuth for why a token was refused.
func refusal(e *oauth2.RetrieveError) string {
	return cmp.Or(e.ErrorCode, refusalWord(e.Body))
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
