package catalogtest

import (
	"bufio"
	"cmp"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// What a host is asked: where, with which credentials, under which name.
func TestAccess(t *testing.T) {
	h := newHost(t)
	file := filepath.Join(t.TempDir(), "key")
	write(t, file, secret+"file\n")
	l := start(t, `
providers:
  - {id: written, api: openai-completions, base_url: `+h.URL+`/v1, api_key: `+secret+`written, models: [{id: m}]}
  - {id: replaced, api: openai-completions, base_url: `+h.URL+`/v1, api_key: "${LAB_KEY}", models: [{id: m}]}
  - {id: filed, api: openai-completions, base_url: `+h.URL+`/v1, api_key_file: `+file+`, models: [{id: m}]}
  - {id: none, api: openai-completions, base_url: `+h.URL+`/v1, api_key: none, models: [{id: m}]}
  - {id: keyless, api: openai-completions, base_url: `+h.URL+`/v1, models: [{id: m}]}
  - {id: named, api: openai-completions, base_url: `+h.URL+`/v1, api_key_env: [UNSET, LAB_KEY], models: [{id: m}]}
  - {id: token, api: anthropic-messages, base_url: `+h.URL+`, bearer_env: [LAB_KEY], models: [{id: m}]}
  - {id: other-header, api: openai-completions, base_url: `+h.URL+`/v1, api_key: `+secret+`written, auth: x-api-key, models: [{id: m}]}
  - {id: headers, api: openai-completions, base_url: `+h.URL+`/v1, headers: {Authorization: Basic `+secret+`basic, X-Team: blue}, models: [{id: m}]}
  - {id: anthropic, base_url: `+h.URL+`/v1}
  - {id: google, base_url: `+h.URL+`/v1beta}
  - {id: groq, base_url: `+h.URL+`/openai/v1, api_key_env: [LAB_KEY]}
  - {id: azure, base_url: `+h.URL+`/openai/v1, api_version: preview, deployments: {gpt-5: my-gpt}}
  - id: wired
    api: openai-completions
    base_url: `+h.URL+`/v1
    deployments: {m: org/m-2026}
    models: [{id: m, aliases: [best]}]
  - {id: open, api: openai-completions, base_url: `+h.URL+`/v1, allow_unlisted_models: true}
`, "LAB_KEY", secret+"env", "ANTHROPIC_API_KEY", secret+"anthropic", "GEMINI_API_KEY", secret+"google", "AZURE_OPENAI_API_KEY", secret+"azure")
	for _, tt := range []struct{ model, path, header, value, wireModel string }{
		{"written/m", "/v1/chat/completions", "Authorization", "Bearer " + secret + "written", "m"},
		{"replaced/m", "/v1/chat/completions", "Authorization", "Bearer " + secret + "env", "m"},
		{"filed/m", "/v1/chat/completions", "Authorization", "Bearer " + secret + "file", "m"},
		{"none/m", "/v1/chat/completions", "Authorization", "", "m"},
		{"keyless/m", "/v1/chat/completions", "Authorization", "", "m"},
		{"named/m", "/v1/chat/completions", "Authorization", "Bearer " + secret + "env", "m"},
		{"token/m", "/v1/messages", "Authorization", "Bearer " + secret + "env", "m"},
		{"token/m", "/v1/messages", "X-Api-Key", "", "m"},
		{"other-header/m", "/v1/chat/completions", "X-Api-Key", secret + "written", "m"},
		{"other-header/m", "/v1/chat/completions", "Authorization", "", "m"},
		{"headers/m", "/v1/chat/completions", "Authorization", "Basic " + secret + "basic", "m"},
		{"headers/m", "/v1/chat/completions", "X-Team", "blue", "m"},
		{"anthropic/claude-haiku-4-5", "/v1/messages", "X-Api-Key", secret + "anthropic", "claude-haiku-4-5-20251001"},
		{"google/gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:streamGenerateContent", "X-Goog-Api-Key", secret + "google", ""},
		{"groq/openai/gpt-oss-20b", "/openai/v1/chat/completions", "Authorization", "Bearer " + secret + "env", "openai/gpt-oss-20b"},
		{"azure/gpt-5", "/openai/v1/responses", "Api-Key", secret + "azure", "my-gpt"},
		{"azure/gpt-5-mini", "/openai/v1/responses", "Api-Key", secret + "azure", "gpt-5-mini"},
		{"azure/my-own", "/openai/v1/responses", "Api-Key", secret + "azure", "my-own"},
		{"wired/m", "/v1/chat/completions", "Authorization", "", "org/m-2026"},
		{"wired/best", "/v1/chat/completions", "Authorization", "", "org/m-2026"},
		{"best", "/v1/chat/completions", "Authorization", "", "org/m-2026"},
		{"providers/wired/models/m", "/v1/chat/completions", "Authorization", "", "org/m-2026"},
		{"open/any/thing:free", "/v1/chat/completions", "Authorization", "", "any/thing:free"},
	} {
		t.Run(tt.model+" "+tt.header, func(t *testing.T) {
			text, err := l.ask(t, tt.model)
			if err != nil || text != "ok" {
				t.Fatalf("%q, %v", text, err)
			}
			r, body := h.asked()
			model, _ := body["model"].(string)
			if r.URL.Path != tt.path || r.Header.Get(tt.header) != tt.value || model != tt.wireModel {
				t.Errorf("path %s, %s %q, model %q", r.URL.Path, tt.header, r.Header.Get(tt.header), model)
			}
			wantQuery := map[bool]string{true: "api-version=preview"}[strings.HasPrefix(tt.model, "azure/")]
			if query := r.URL.RawQuery; query != wantQuery && query != "alt=sse" {
				t.Errorf("query %q", query)
			}
		})
	}
}

// A provider behind a proxy, and one whose certificate nobody but us knows.
func TestProxyAndCA(t *testing.T) {
	plain := newHost(t)
	private := httptest.NewTLSServer(plain)
	private.Config.ErrorLog = nil
	t.Cleanup(private.Close)
	var (
		mu      sync.Mutex
		proxied []string
	)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		mu.Lock()
		proxied = append(proxied, r.Method+" "+cmp.Or(r.URL.Host, r.Host))
		mu.Unlock()
		if r.Method == http.MethodConnect {
			tunnel(t, w, r)
			return
		}
		plain.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	write(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: private.Certificate().Raw})))
	through := strings.Replace(proxy.URL, "://", "://me:"+secret+"proxy@", 1)
	l := start(t, `
providers:
  - {id: proxied, api: openai-completions, base_url: "http://provider.invalid/v1", api_key: none, proxy: "`+through+`", models: [{id: m}]}
  - {id: no-password, api: openai-completions, base_url: "http://provider.invalid/v1", api_key: none, proxy: "`+proxy.URL+`", models: [{id: m}]}
  - {id: trusted, api: openai-completions, base_url: "`+private.URL+`/v1", api_key: none, proxy: none, ca_file: `+ca+`, models: [{id: m}]}
  - {id: both, api: openai-completions, base_url: "`+private.URL+`/v1", api_key: none, proxy: "`+through+`", ca_file: `+ca+`, models: [{id: m}]}
  - {id: untrusted, api: openai-completions, base_url: "`+private.URL+`/v1", api_key: none, proxy: none, models: [{id: m}]}
`)
	for _, model := range []string{"proxied/m", "trusted/m", "both/m"} {
		if text, err := l.ask(t, model); err != nil || text != "ok" {
			t.Errorf("%s: %q, %v", model, text, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{"POST provider.invalid", "CONNECT " + strings.TrimPrefix(private.URL, "https://")}
	if strings.Join(proxied, ",") != strings.Join(want, ",") {
		t.Errorf("the proxy saw %v, want %v", proxied, want)
	}
	if _, err := l.ask(t, "untrusted/m"); harness.ReasonOf(err) != "PROVIDER_UNREACHABLE" {
		t.Errorf("an unknown authority: %v", err)
	}
	if _, err := l.ask(t, "no-password/m"); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("a proxy that wants a password: %v", err)
	}
}

// tunnel is what a proxy does with CONNECT.
func tunnel(t *testing.T, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	far, err := net.Dial("tcp", r.Host)
	if err != nil {
		t.Error(err)
		return
	}
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		_, _ = io.Copy(far, bufio.NewReader(buffered))
		_ = far.Close()
	}()
	_, _ = io.Copy(near, far)
	_ = near.Close()
}

// A host that takes its time: the configuration's limit holds where the request
// has none.
func TestHeaderTimeout(t *testing.T) {
	end := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(end) })
	l := start(t, `
providers:
  - {id: silent, api: openai-completions, base_url: "`+silent.URL+`", api_key: none, timeouts: {header: 150ms}, models: [{id: m}]}
`)
	began := time.Now()
	_, err := l.ask(t, "silent/m")
	if took := time.Since(began); harness.ReasonOf(err) != "PROVIDER_TIMEOUT" || took < 100*time.Millisecond || took > 20*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
	g := harness.Ask("silent/m", "Hello.")
	g.Watchdog = &llmdv1.Watchdog{HeaderTimeout: durationpb.New(1200 * time.Millisecond)}
	began = time.Now()
	_, err = l.Complete(limited(t), &llmdv1.CompleteRequest{Generation: g})
	if took := time.Since(began); harness.ReasonOf(err) != "PROVIDER_TIMEOUT" || took < time.Second {
		t.Errorf("the request's own limit: after %s: %v", took, err)
	}
}
