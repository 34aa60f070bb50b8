package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/llmd-dev/llmd/adapters"
)

// azureEarly is how long before its end a token is no longer used.
const azureEarly = 5 * time.Minute

// Azure puts on tokens of the Azure default credentials: a service principal from the
// environment, workload identity, managed identity, or the login of az, azd or Azure
// PowerShell. AZURE_TOKEN_CREDENTIALS narrows the choice. They are looked up at the
// first request; a token is kept until shortly before it expires.
// https://learn.microsoft.com/azure/developer/go/sdk/authentication/credential-chains
type Azure struct {
	fetcher
	region azureCloud
	// chain and token are touched by the one fetch that runs.
	chain azcore.TokenCredential
	token azcore.AccessToken
}

// azureCloud is one of Microsoft's clouds, which share nothing.
type azureCloud struct {
	scope         string
	configuration cloud.Configuration
}

// NewAzure makes credentials for a resource: its URL says in which cloud it is.
func NewAzure(baseURL string) *Azure { return &Azure{region: azureCloudOf(baseURL)} }

// azureCloudOf: https://learn.microsoft.com/azure/ai-foundry/openai/how-to/managed-identity.
func azureCloudOf(baseURL string) azureCloud {
	host := ""
	if u, err := url.Parse(baseURL); err == nil {
		host = strings.ToLower(u.Hostname())
	}
	switch {
	case strings.HasSuffix(host, ".azure.us"):
		return azureCloud{"https://cognitiveservices.azure.us/.default", cloud.AzureGovernment}
	case strings.HasSuffix(host, ".azure.cn"):
		return azureCloud{"https://cognitiveservices.azure.cn/.default", cloud.AzureChina}
	}
	return azureCloud{"https://cognitiveservices.azure.com/.default", cloud.AzurePublic}
}

// Describe implements Credentials.
func (a *Azure) Describe() string { return "Azure default credentials" }

// Headers implements Credentials.
func (a *Azure) Headers() []string { return []string{"Authorization"} }

// Apply implements Credentials.
func (a *Azure) Apply(ctx context.Context, r *http.Request, _ io.WriterTo) error {
	return a.apply(ctx, r, a.fetch, azureError)
}

func (a *Azure) fetch(ctx context.Context) (string, error) {
	now := time.Now()
	if stale := a.token.RefreshOn; now.Before(a.token.ExpiresOn.Add(-azureEarly)) && (stale.IsZero() || now.Before(stale)) {
		return a.token.Token, nil
	}
	if a.chain == nil {
		chain, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
			ClientOptions: azcore.ClientOptions{
				Cloud: a.cloud(),
				// llmd tries again itself, and says so.
				Retry: policy.RetryOptions{MaxRetries: 1, RetryDelay: 200 * time.Millisecond},
			},
		})
		if err != nil {
			return "", err
		}
		a.chain = chain
	}
	token, err := a.chain.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{a.region.scope}})
	if err != nil {
		return "", err
	}
	a.token = token
	return token.Token, nil
}

// cloud leaves the public cloud unsaid, so that AZURE_AUTHORITY_HOST has a say.
func (a *Azure) cloud() cloud.Configuration {
	if a.region.scope == azureCloudOf("").scope {
		return cloud.Configuration{}
	}
	return a.region.configuration
}

// azureError tells a token service that cannot be reached from credentials that it
// refuses. The texts of the SDK hold whole answers and are not repeated.
func azureError(err error) error {
	const source = "Azure"
	if refused, ok := errors.AsType[*azidentity.AuthenticationFailedError](err); ok && refused.RawResponse != nil {
		reason, status := adapters.ReasonCredentialsInvalid, refused.RawResponse.StatusCode
		if status >= 500 || status == http.StatusTooManyRequests {
			reason = adapters.ReasonUnreachable
		}
		body := bodyOf(refused.RawResponse)
		detail := fmt.Sprintf("the token service answered HTTP %d %s %s", status, refusalWord(body), entraCode(body))
		return noCredentials(reason, source, strings.Join(strings.Fields(detail), " "), err)
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return noCredentials(adapters.ReasonUnreachable, source, "the token service cannot be reached", err)
	}
	return noCredentials(adapters.ReasonCredentialsInvalid, source, "none were found or they cannot be used", err)
}

// entraCode is the number under which Microsoft describes a refusal.
// https://learn.microsoft.com/entra/identity-platform/reference-error-codes
func entraCode(body []byte) string {
	var answer struct {
		Codes []int64 `json:"error_codes"`
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Codes) == 0 {
		return ""
	}
	return fmt.Sprintf("AADSTS%d", answer.Codes[0])
}
