package catalog_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/internal/catalog"
)

// Azure's URLs come in many shapes: what a person may paste is on the left, what
// the v1 API answers at on the right.
func TestAzureURLs(t *testing.T) {
	const res = "https://res.openai.azure.com"
	for _, tt := range []struct{ name, url, want string }{
		// Z1: the resource alone.
		{"Z1 resource", res, res + "/openai/v1"},
		{"Z1 cognitive services", "https://res.cognitiveservices.azure.com", "https://res.cognitiveservices.azure.com/openai/v1"},
		{"Z1 foundry", "https://res.services.ai.azure.com", "https://res.services.ai.azure.com/openai/v1"},
		// Z2: a part of the path.
		{"Z2 openai", res + "/openai", res + "/openai/v1"},
		{"Z2 whole", res + "/openai/v1", res + "/openai/v1"},
		// Z3: the whole address of a call.
		{"Z3 responses", res + "/openai/v1/responses", res + "/openai/v1"},
		// Z4: slashes and a query.
		{"Z4 slash", res + "/", res + "/openai/v1"},
		{"Z4 slashes", res + "/openai///", res + "/openai/v1"},
		{"Z4 query", res + "/openai/v1/responses?api-version=preview", res + "/openai/v1"},
		{"Z4 query alone", res + "?api-version=preview", res + "/openai/v1"},
		// Z5: other hosts are taken at their word.
		{"Z5 proxy", "https://proxy.example.test/azure/", "https://proxy.example.test/azure"},
		{"Z5 proxy without path", "http://127.0.0.1:8080", "http://127.0.0.1:8080"},
		{"Z5 look-alike", "https://openai.azure.com.example.test", "https://openai.azure.com.example.test"},
		{"Z5 other path", res + "/custom", res + "/custom"},
		{"Z5 nonsense", "::", ""},
		{"Z5 no host", "https:///openai", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := load(t, "", "AZURE_OPENAI_BASE_URL", tt.url, "AZURE_OPENAI_API_KEY", "k").Provider("azure")
			if p.BaseURL != tt.want || p.Configured != (tt.want != "") {
				t.Errorf("%q, configured %v; want %q", p.BaseURL, p.Configured, tt.want)
			}
			if tt.want == "" && !strings.Contains(p.Missing, "AZURE_OPENAI_BASE_URL") {
				t.Errorf("missing: %q", p.Missing)
			}
			if strings.Contains(tt.url, "?") || tt.want == "" {
				return // a file may not say this
			}
			if p, _ = load(t, "providers: [{id: azure, base_url: '"+tt.url+"'}]\n").Provider("azure"); p.BaseURL != tt.want {
				t.Errorf("from a file: %q", p.BaseURL)
			}
		})
	}
}

// All that is missing is said at once.
func TestMissing(t *testing.T) {
	c := load(t, "")
	for id, want := range map[string]string{
		"azure": "set AZURE_OPENAI_AD_TOKEN or AZURE_OPENAI_API_KEY in the environment, or api_key or auth: azure in the configuration; " +
			"set AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME in the environment, or base_url in the configuration",
		"cloudflare-ai-gateway": "set CLOUDFLARE_API_KEY in the environment, or api_key in the configuration; " +
			"set CLOUDFLARE_ACCOUNT_ID in the environment, or base_url in the configuration; set CLOUDFLARE_GATEWAY_ID in the environment, or base_url in the configuration",
	} {
		if p, _ := c.Provider(id); p.Configured || p.Missing != want {
			t.Errorf("%s: %q", id, p.Missing)
		}
	}
}

func TestNetwork(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, []byte(certificate), 0o600); err != nil {
		t.Fatal(err)
	}
	c := load(t, `
providers:
  - id: openai
    proxy: http://me:s3cret@proxy.example.test:3128
    ca_file: `+path+`
    timeouts: {connect: 3s, header: 10m}
`)
	m, p := resolve(t, c, "openai/gpt-5")
	want := catalog.Network{Proxy: p.Network.Proxy, ExtraCAs: certificate, ConnectTimeout: 3 * time.Second}
	if p.Network != want || p.Network.Proxy.Reveal() != "http://me:s3cret@proxy.example.test:3128" || m.HeaderTimeout != 10*time.Minute || m.Host != p {
		t.Errorf("%+v", p.Network)
	}
	if m, p = resolve(t, c, "anthropic/claude-haiku-4-5"); p.Network != (catalog.Network{}) || m.HeaderTimeout != 0 {
		t.Errorf("another provider: %+v", p.Network)
	}
}

// Files that the configuration names are read at once; what is wrong with one is a
// mistake of the configuration, and what is in it is not repeated.
func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ key, path, says string }{
		{"ca_file", dir + "/none", "no such file"},
		{"ca_file", file("text", "s3cret\n"), "holds no certificate"},
		{"ca_file", file("empty", ""), "holds no certificate"},
		{"ca_file", dir, "not a regular file"},
		{"ca_file", pipe, "not a regular file"},
		{"ca_file", file("large", strings.Repeat("a\n", 1<<20)), "larger than 1 MiB"},
		{"api_key_file", dir + "/none", "no such file"},
		{"api_key_file", pipe, "not a regular file"},
		{"api_key_file", file("lines", "s3cret\ns3cret\n"), "does not hold a key"},
		{"api_key_file", file("blank", " \n"), "is empty"},
	} {
		err := loadError(t, "providers:\n  - id: groq\n  - {id: openai, "+tt.key+": "+tt.path+"}\n")
		if err == nil || !strings.HasPrefix(err.Error(), "llmd.yaml:3: providers[1]."+tt.key+": ") || !strings.Contains(err.Error(), tt.says) ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s %s: %v", tt.key, tt.path, err)
		}
	}
}
