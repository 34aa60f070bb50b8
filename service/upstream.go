package service

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/faux/fauxserver"
	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/upstream"
	"github.com/llmd-dev/llmd/service/generation"
)

// The wire APIs whose hosts are special.
const (
	apiFaux  = "faux"
	apiAzure = "azure-openai-responses"
)

// apiVersion1 is what Azure's v1 API takes for granted.
const apiVersion1 = "v1"

// Upstream gives each model's requests their host, headers and credentials. It
// implements generation.Upstream.
type Upstream struct {
	current func() *catalog.Catalog
	client  *upstream.Client

	mu      sync.Mutex
	targets map[*catalog.Provider]*upstream.Target
}

func newUpstream(current func() *catalog.Catalog, client *upstream.Client) *Upstream {
	return &Upstream{current: current, client: client, targets: map[*catalog.Provider]*upstream.Target{}}
}

// Do implements generation.Upstream.
func (u *Upstream) Do(ctx context.Context, m *profile.Model, key string, r *adapters.Request) (*upstream.Response, error) {
	p, t, err := u.target(m, key)
	if err != nil {
		return nil, err
	}
	if !p.Configured && key == "" {
		return nil, &adapters.UpstreamError{
			Reason:  adapters.ReasonCredentialsInvalid,
			Message: "provider " + p.ID + " is not configured: " + p.Missing,
			Err:     generation.ErrNotConfigured,
		}
	}
	return u.client.Do(ctx, t, r)
}

// Describe shows what Do would send, secrets replaced.
func (u *Upstream) Describe(m *profile.Model, key string, r *adapters.Request) (method, url string, headers map[string]string, err error) {
	_, t, err := u.target(m, key)
	if err != nil {
		return "", "", nil, err
	}
	method, url, headers = u.client.Describe(t, r)
	return method, url, headers, nil
}

// target finds the provider's target; with a key of the caller's, one that uses
// it.
func (u *Upstream) target(m *profile.Model, key string) (*catalog.Provider, *upstream.Target, error) {
	// The model's own provider, not the current one of that name: a request that was
	// planned before a reload was written for that one.
	p, ok := m.Host.(*catalog.Provider)
	if !ok {
		return nil, nil, fmt.Errorf("service: model %s is not of the catalogue", m.Name())
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.targets[p]
	if t == nil {
		// A new configuration has new providers: those of the old one are forgotten
		// once they are no longer asked for.
		if len(u.targets) > len(u.current().Providers()) {
			clear(u.targets)
		}
		t = newTarget(p)
		u.targets[p] = t
	}
	if key == "" {
		return p, t, nil
	}
	own := *t
	own.Credentials = upstream.NewKey(scheme(p, m), key, "caller")
	return p, &own, nil
}

// scheme is how a key goes to the provider: as its own would, or as is usual for
// the API where it has none.
func scheme(p *catalog.Provider, m *profile.Model) upstream.Scheme {
	switch p.Auth {
	case catalog.AuthNone, catalog.AuthAWS, catalog.AuthGoogle, catalog.AuthAzure:
		return upstream.SchemeOf(m.API)
	default:
		return upstream.Scheme(p.Auth)
	}
}

// secrets are the credentials of a model's provider that are known beforehand.
func (u *Upstream) secrets(m *profile.Model) []string {
	p, ok := u.current().Provider(m.Provider)
	if !ok {
		return nil
	}
	all := []string{p.Key.Reveal()}
	for _, h := range p.Headers {
		name := strings.ToLower(h.Name)
		for _, word := range []string{"key", "token", "auth", "secret"} {
			if strings.Contains(name, word) {
				all = append(all, h.Value.Reveal(), strings.TrimPrefix(h.Value.Reveal(), "Bearer "))
				break
			}
		}
	}
	return all
}

func newTarget(p *catalog.Provider) *upstream.Target {
	t := &upstream.Target{
		BaseURL:      p.BaseURL,
		TraceContext: p.TraceContext,
		Network: upstream.Network{
			Proxy: p.Network.Proxy.Reveal(), ExtraCAs: p.Network.ExtraCAs, ConnectTimeout: p.Network.ConnectTimeout,
		},
	}
	for _, h := range p.Headers {
		t.Headers = append(t.Headers, upstream.Header{Name: h.Name, Value: h.Value.Reveal()})
	}
	switch p.Auth {
	case catalog.AuthNone:
		t.Credentials = upstream.None{}
	case catalog.AuthAWS:
		t.Credentials = upstream.NewAWS(p.Region, "")
	case catalog.AuthGoogle:
		t.Credentials = upstream.NewGoogle()
	case catalog.AuthAzure:
		t.Credentials = upstream.NewAzure(p.BaseURL)
	case catalog.AuthBearer, catalog.AuthXAPIKey, catalog.AuthAPIKey, catalog.AuthGoogleAPIKey, catalog.AuthCloudflareAIG:
		t.Credentials = upstream.NewKey(upstream.Scheme(p.Auth), p.Key.Reveal(), p.CredentialsSource)
	}
	if p.API == apiAzure && p.APIVersion != apiVersion1 {
		t.BaseURL += "?api-version=" + url.QueryEscape(p.APIVersion)
	}
	if p.API == apiFaux {
		t.Transport = fauxserver.Transport()
		t.BaseURL = "http://faux.invalid"
	}
	return t
}
