package upstream_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/internal/upstream"
)

// isolateAzure keeps the machine's own configuration out of a test and lets the one
// source speak that a test can play.
func isolateAzure(t *testing.T, source string) {
	t.Helper()
	for _, name := range []string{
		"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_FEDERATED_TOKEN_FILE",
		"AZURE_AUTHORITY_HOST", "IDENTITY_ENDPOINT", "IDENTITY_HEADER", "IDENTITY_SERVER_THUMBPRINT", "IMDS_ENDPOINT", "MSI_ENDPOINT", "MSI_SECRET",
	} {
		t.Setenv(name, "") // puts the machine's own back in the end
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("AZURE_TOKEN_CREDENTIALS", source)
}

// managedIdentity plays the identity endpoint of an application that runs at Azure.
// https://learn.microsoft.com/azure/app-service/overview-managed-identity#rest-endpoint-reference
func managedIdentity(t *testing.T, answer http.HandlerFunc) {
	t.Helper()
	isolateAzure(t, "ManagedIdentityCredential")
	s := serve(t, answer)
	t.Setenv("IDENTITY_ENDPOINT", s.URL+"/msi/token")
	t.Setenv("IDENTITY_HEADER", "identity-header")
	t.Setenv("AZURE_CLIENT_ID", rand.Text()) // the SDK keeps the tokens of an identity for good
}

func azureToken(w http.ResponseWriter, token string, life time.Duration) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{
		"access_token": token, "token_type": "Bearer", "expires_on": fmt.Sprint(time.Now().Add(life).Unix()),
	})
}

func TestAzureToken(t *testing.T) {
	var fetched atomic.Int32
	managedIdentity(t, func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		if got := r.URL.Query().Get("resource"); got != "https://cognitiveservices.azure.com" {
			t.Errorf("resource %s", got)
		}
		if r.Header.Get("X-Identity-Header") != "identity-header" {
			t.Errorf("%v", r.Header)
		}
		azureToken(w, "eyJ.token", time.Hour)
	})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer eyJ.token" {
			t.Errorf("Authorization: %s", got)
		}
	})
	c := newClient(t, upstream.Options{})
	target := &upstream.Target{BaseURL: s.URL, Credentials: upstream.NewAzure(s.URL)}
	doAtOnce(t, c, target)
	mustDo(t, c, target)
	if n := fetched.Load(); n != 1 {
		t.Errorf("%d tokens fetched", n)
	}
	_, _, headers := c.Describe(target, request("{}"))
	if headers["Authorization"] != adapters.Redacted {
		t.Errorf("%v", headers)
	}
}

// Each of Microsoft's clouds has a resource of its own.
func TestAzureClouds(t *testing.T) {
	var resource atomic.Value
	managedIdentity(t, func(w http.ResponseWriter, r *http.Request) {
		resource.Store(r.URL.Query().Get("resource"))
		azureToken(w, "eyJ.token", time.Hour)
	})
	for base, want := range map[string]string{
		"https://r.openai.azure.com/openai/v1": "https://cognitiveservices.azure.com",
		"https://r.openai.azure.us/openai/v1":  "https://cognitiveservices.azure.us",
		"https://r.openai.azure.cn/openai/v1":  "https://cognitiveservices.azure.cn",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if err := upstream.NewAzure(base).Apply(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		if got := resource.Load(); got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}

func TestAzureFailures(t *testing.T) {
	var status atomic.Int32
	hold := make(chan struct{})
	managedIdentity(t, func(w http.ResponseWriter, _ *http.Request) {
		if status.Load() == 0 {
			<-hold
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, `{"error":"invalid_client","error_description":"AADSTS7000215: `+secret+`","error_codes":[7000215]}`)
	})
	c := newClient(t, upstream.Options{})
	do := func(ctx context.Context) error {
		_, err := c.Do(ctx, &upstream.Target{BaseURL: "http://127.0.0.1:1", Credentials: upstream.NewAzure("")}, request(""))
		return err
	}
	status.Store(http.StatusUnauthorized)
	e := wantReason(t, do(t.Context()), adapters.ReasonCredentialsInvalid)
	if text := e.Message + e.Err.Error(); strings.Contains(text, secret) || !strings.Contains(text, "HTTP 401 invalid_client AADSTS7000215") {
		t.Errorf("%s", text)
	}
	status.Store(http.StatusServiceUnavailable)
	_ = wantReason(t, do(t.Context()), adapters.ReasonUnreachable)
	// A token service that hangs holds no one longer than they want.
	status.Store(0)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := do(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	close(hold)

	isolateAzure(t, "EnvironmentCredential")
	e = wantReason(t, do(t.Context()), adapters.ReasonCredentialsInvalid)
	if !strings.Contains(e.Message, "no credentials from Azure") {
		t.Error(e.Message)
	}
}

// A token that is about to expire is not used again.
func TestAzureTokenExpires(t *testing.T) {
	var fetched atomic.Int32
	managedIdentity(t, func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		azureToken(w, "eyJ.token", time.Minute)
	})
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	c := newClient(t, upstream.Options{})
	target := &upstream.Target{BaseURL: s.URL, Credentials: upstream.NewAzure(s.URL)}
	mustDo(t, c, target)
	mustDo(t, c, target)
	if n := fetched.Load(); n != 2 {
		t.Errorf("%d tokens fetched, want 2", n)
	}
}
