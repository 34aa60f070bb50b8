package upstream_test

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/internal/upstream"
)

const secret = "sk-verysecret-0123456789"

func TestKeySchemes(t *testing.T) {
	tests := []struct {
		api, header, value string
		scheme             upstream.Scheme
	}{
		{api: "anthropic-messages", header: "X-Api-Key", value: secret},
		{api: "openai-completions", header: "Authorization", value: "Bearer " + secret},
		{api: "openai-responses", header: "Authorization", value: "Bearer " + secret},
		{api: "azure-openai-responses", header: "Api-Key", value: secret},
		{api: "google-generative-ai", header: "X-Goog-Api-Key", value: secret},
		{api: "mistral-conversations", header: "Authorization", value: "Bearer " + secret},
		{api: "bedrock-converse-stream", header: "Authorization", value: "Bearer " + secret},
		{scheme: upstream.SchemeCloudflare, header: "Cf-Aig-Authorization", value: "Bearer " + secret},
	}
	for _, tt := range tests {
		scheme := tt.scheme
		if scheme == "" {
			scheme = upstream.SchemeOf(tt.api)
		}
		key := upstream.NewKey(scheme, secret, "test")
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h/", http.NoBody)
		if err := key.Apply(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(http.Header{tt.header: {tt.value}}, r.Header); diff != "" {
			t.Errorf("%s %s: %s", tt.api, scheme, diff)
		}
		for _, text := range []string{key.String(), fmt.Sprintf("%v %+v %#v %s", key, key, key, key), key.Describe()} {
			if strings.Contains(text, secret) {
				t.Errorf("the key shows: %s", text)
			}
		}
	}
	if (upstream.None{}).Describe() != "none" || (upstream.None{}).Headers() != nil {
		t.Error("None describes something")
	}
}

func TestDescribe(t *testing.T) {
	c := newClient(t, upstream.Options{UserAgent: "llmd/test"})
	target := &upstream.Target{
		BaseURL:     "https://user:" + secret + "@host/v1?key=" + secret + "&api-version=preview",
		Headers:     []upstream.Header{{"X-Team", "blue"}, {"X-My-Secret", "hunter2"}, {"X-Note", "uses " + secret}, {"cf-aig-authorization", "Bearer x"}, {"X-Session", "s"}},
		Credentials: upstream.NewKey(upstream.SchemeXAPIKey, secret, "test"),
	}
	r := request("{}")
	r.Header = http.Header{"Content-Type": {"application/json"}, "Session-Id": {"conversation"}, "X-Session-Affinity": {"conversation"}}
	r.Path = "/go?alt=sse&sig=" + secret
	verb, address, headers := c.Describe(target, r)
	want := map[string]string{
		"User-Agent": "llmd/test", "Content-Type": "application/json", "X-Team": "blue", "X-My-Secret": "REDACTED",
		"X-Note": "uses REDACTED", "X-Session": "REDACTED", "Session-Id": "conversation", "X-Session-Affinity": "conversation",
		"Cf-Aig-Authorization": "REDACTED", "X-Api-Key": "REDACTED",
	}
	if diff := cmp.Diff(want, headers); diff != "" {
		t.Error(diff)
	}
	if verb != "POST" || address != "https://REDACTED@host/v1/go?key=REDACTED&api-version=preview&alt=sse&sig=REDACTED" {
		t.Errorf("%s %s", verb, address)
	}
	target.Credentials = upstream.NewAWS("eu-west-1", "")
	target.Headers = []upstream.Header{{"X-Amz-Date", "20260101T000000Z"}, {"X-Amz-Security-Token", secret}}
	_, _, headers = c.Describe(target, request("{}"))
	if headers["Authorization"] != "REDACTED" || headers["X-Amz-Security-Token"] != "REDACTED" || headers["X-Amz-Date"] != "20260101T000000Z" {
		t.Errorf("%v", headers)
	}
}

// isolateAWS keeps the machine's own configuration out of a test.
func isolateAWS(t *testing.T, id, key, session string) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": key, "AWS_SESSION_TOKEN": session, "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
		"AWS_PROFILE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_ROLE_ARN": "",
	} {
		t.Setenv(name, value)
	}
}

func TestAWSSignature(t *testing.T) {
	isolateAWS(t, "AKIDEXAMPLE", secret, "session-token")
	got := make(chan http.Header, 1)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { got <- r.Header })
	c := newClient(t, upstream.Options{UserAgent: "llmd/test"})
	mustDo(t, c, &upstream.Target{BaseURL: s.URL, Credentials: upstream.NewAWS("eu-central-1", "")})
	h := <-got
	auth := h.Get("Authorization")
	today := time.Now().UTC().Format("20060102")
	if !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") || !strings.Contains(auth, "/eu-central-1/bedrock/aws4_request, ") {
		t.Errorf("Authorization: %s", auth)
	}
	if !strings.HasPrefix(h.Get("X-Amz-Date"), today) || h.Get("X-Amz-Security-Token") != "session-token" {
		t.Errorf("date %s, token %s", h.Get("X-Amz-Date"), h.Get("X-Amz-Security-Token"))
	}
	for _, signed := range []string{"content-type", "host", "x-amz-date", "x-amz-security-token"} {
		if _, names, _ := strings.Cut(auth, "SignedHeaders="); !strings.Contains(names, signed) {
			t.Errorf("%s is not signed: %s", signed, auth)
		}
	}
}

func TestAWSWithoutCredentials(t *testing.T) {
	isolateAWS(t, "", "", "")
	c := newClient(t, upstream.Options{})
	_, err := c.Do(t.Context(), &upstream.Target{BaseURL: "http://127.0.0.1:1", Credentials: upstream.NewAWS("eu-central-1", "")}, request(""))
	_ = wantReason(t, err, adapters.ReasonCredentialsInvalid)
	_, err = c.Do(t.Context(), &upstream.Target{BaseURL: "http://127.0.0.1:1", Credentials: upstream.NewAWS("", "")}, request(""))
	_ = wantReason(t, err, adapters.ReasonPrecondition)
}

// serviceAccount writes a file of dummy credentials for a token service here.
func serviceAccount(t *testing.T, tokenURL string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p", "private_key_id": "k", "client_email": "a@p.iam.gserviceaccount.com", "client_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokenURL,
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
}

func TestGoogleToken(t *testing.T) {
	var fetched atomic.Int32
	tokens := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		if err := r.ParseForm(); err != nil || r.Form.Get("assertion") == "" {
			t.Errorf("form %v, %v", r.Form, err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"ya29.token","token_type":"Bearer","expires_in":3600}`)
	})
	serviceAccount(t, tokens.URL)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer ya29.token" {
			t.Errorf("Authorization: %s", got)
		}
	})
	c := newClient(t, upstream.Options{})
	target := &upstream.Target{BaseURL: s.URL, Credentials: upstream.NewGoogle()}
	doAtOnce(t, c, target)
	mustDo(t, c, target)
	if n := fetched.Load(); n != 1 {
		t.Errorf("%d tokens fetched", n)
	}
}

func TestGoogleFailures(t *testing.T) {
	status := http.StatusBadRequest
	hold := make(chan struct{})
	tokens := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if status == 0 {
			<-hold
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(max(status, 200))
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"`+secret+`"}`)
	})
	serviceAccount(t, tokens.URL)
	c := newClient(t, upstream.Options{})
	do := func(ctx context.Context) error {
		_, err := c.Do(ctx, &upstream.Target{BaseURL: "http://127.0.0.1:1", Credentials: upstream.NewGoogle()}, request(""))
		return err
	}
	e := wantReason(t, do(t.Context()), adapters.ReasonCredentialsInvalid)
	if text := e.Err.Error(); strings.Contains(text, secret) || !strings.Contains(text, "invalid_grant") {
		t.Errorf("%s", text)
	}
	status = http.StatusServiceUnavailable
	_ = wantReason(t, do(t.Context()), adapters.ReasonUnreachable)
	// A token service that hangs holds no one longer than they want.
	status = 0
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := do(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	close(hold)

	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none"))
	_ = wantReason(t, do(t.Context()), adapters.ReasonCredentialsInvalid)
}

// The signature must be the one of the algorithm's definition, not only look like
// one: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
func TestAWSBodyHash(t *testing.T) {
	isolateAWS(t, "AKIDEXAMPLE", secret, "")
	sign := func(body string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		// The same hash must give the same signature as the body it is of.
		if err := upstream.NewAWS("us-east-1", "").Apply(t.Context(), r, strings.NewReader(body)); err != nil {
			t.Fatal(err)
		}
		return canonicalSignature(r, body)
	}
	for _, body := range []string{"", `{"a":1}`} {
		if got := sign(body); got != "ok" {
			t.Error(got)
		}
	}
}

// canonicalSignature computes the signature of a signed request anew.
func canonicalSignature(r *http.Request, body string) string {
	date := r.Header.Get("X-Amz-Date")
	hash := sha256.Sum256([]byte(body))
	names, canonical := "host;x-amz-date", ""
	if body != "" {
		names = "content-length;" + names
		canonical = fmt.Sprintf("content-length:%d\n", len(body))
	}
	canonical += "host:h\nx-amz-date:" + date + "\n"
	text := strings.Join([]string{"POST", "/", "", canonical, names, hex.EncodeToString(hash[:])}, "\n")
	whole := sha256.Sum256([]byte(text))
	scope := date[:8] + "/us-east-1/bedrock/aws4_request"
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	want := hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+date+"\n"+scope+"\n"+hex.EncodeToString(whole[:])))
	if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "SignedHeaders="+names+", Signature="+want) {
		return fmt.Sprintf("%s, want %s of %s", got, want, names)
	}
	return "ok"
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
