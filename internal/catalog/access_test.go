package catalog_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/llmd-dev/llmd/internal/catalog"
)

// Where credentials come from, and what is said when they do not.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte("  from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const lab = "providers:\n  - id: lab\n    api: openai-completions\n    base_url: http://127.0.0.1:1\n"
	for _, tt := range []struct {
		name, text, provider string
		env                  []string
		auth                 catalog.Auth
		key, source, missing string
	}{
		{"no key", "", "openai", nil, "bearer", "", "none", "set OPENAI_API_KEY in the environment, or api_key in the configuration"},
		{"environment", "", "openai", []string{"OPENAI_API_KEY", " k\n"}, "bearer", "k", "environment OPENAI_API_KEY", ""},
		{"empty variable", "", "openai", []string{"OPENAI_API_KEY", ""}, "bearer", "", "none", "set OPENAI_API_KEY in the environment, or api_key in the configuration"},
		{"configuration wins", "providers:\n  - {id: openai, api_key: mine}\n", "openai", []string{"OPENAI_API_KEY", "k"}, "bearer", "mine", "configuration", ""},
		{"file wins", "providers:\n  - {id: openai, api_key_file: " + file + "}\n", "openai", []string{"OPENAI_API_KEY", "k"}, "bearer", "from-file", "file " + file, ""},
		{"own variable", "providers:\n  - {id: openai, api_key_env: [A, B]}\n", "openai", []string{"OPENAI_API_KEY", "k", "B", "b"}, "bearer", "b", "environment B", ""},
		{"own variable is not set", "providers:\n  - {id: openai, api_key_env: [A, B]}\n", "openai", []string{"OPENAI_API_KEY", "k"}, "bearer", "", "none", "set A or B in the environment, or api_key in the configuration"},
		{"second name", "", "google", []string{"GOOGLE_API_KEY", "g"}, "x-goog-api-key", "g", "environment GOOGLE_API_KEY", ""},
		{"first name wins", "", "google", []string{"GOOGLE_API_KEY", "g", "GEMINI_API_KEY", "h"}, "x-goog-api-key", "h", "environment GEMINI_API_KEY", ""},
		{"anthropic key", "", "anthropic", []string{"ANTHROPIC_API_KEY", "a"}, "x-api-key", "a", "environment ANTHROPIC_API_KEY", ""},
		{"anthropic token first", "", "anthropic", []string{"ANTHROPIC_API_KEY", "a", "ANTHROPIC_AUTH_TOKEN", "t"}, "bearer", "t", "environment ANTHROPIC_AUTH_TOKEN", ""},
		{"gateway header", "", "cloudflare-ai-gateway", []string{"CLOUDFLARE_API_KEY", "c", "CLOUDFLARE_ACCOUNT_ID", "a", "CLOUDFLARE_GATEWAY_ID", "g"}, "cf-aig-authorization", "c", "environment CLOUDFLARE_API_KEY", ""},
		{"place is missing", "", "cloudflare-workers-ai", []string{"CLOUDFLARE_API_KEY", "c"}, "bearer", "c", "environment CLOUDFLARE_API_KEY", "set CLOUDFLARE_ACCOUNT_ID in the environment, or base_url in the configuration"},
		{"local engine", "", "ollama", nil, "none", "", "not needed", ""},
		{"host without key", lab, "lab", nil, "none", "", "not needed", ""},
		{"key is none", lab + "    api_key: none\n", "lab", nil, "none", "", "not needed", ""},
		{"none for a built-in", "providers:\n  - {id: openai, api_key: none}\n", "openai", []string{"OPENAI_API_KEY", "k"}, "none", "", "not needed", ""},
		{"auth by header", lab + "    api_key: k\n    auth: api-key\n", "lab", nil, "api-key", "k", "configuration", ""},
		{"own header", lab + "    headers: {authorization: Basic x}\n", "lab", nil, "none", "", "configuration", ""},
		{"own header for a built-in", "providers:\n  - {id: anthropic, headers: {X-Api-Key: x}}\n", "anthropic", nil, "none", "", "configuration", ""},
		{"other API, other header", "providers:\n  - {id: amazon-bedrock, api: anthropic-messages, base_url: 'http://127.0.0.1:1', api_key: k}\n", "amazon-bedrock", nil, "x-api-key", "k", "configuration", ""},
		{"aws keys", "", "amazon-bedrock", []string{"AWS_ACCESS_KEY_ID", "x", "AWS_REGION", "r"}, "aws", "", "AWS default chain", ""},
		{"aws without region", "", "amazon-bedrock", []string{"AWS_ACCESS_KEY_ID", "x"}, "aws", "", "AWS default chain", "set AWS_REGION in the environment, or region in the configuration"},
		{"aws bearer", "", "amazon-bedrock", []string{"AWS_BEARER_TOKEN_BEDROCK", "b", "AWS_REGION", "r"}, "bearer", "b", "environment AWS_BEARER_TOKEN_BEDROCK", ""},
		{"aws role, as the file says", "providers:\n  - {id: amazon-bedrock, region: eu-west-1}\n", "amazon-bedrock", nil, "aws", "", "AWS default chain", ""},
		{"no aws", "", "amazon-bedrock", []string{"HOME", dir, "AWS_REGION", "r"}, "aws", "", "none", "set AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK"},
		{"google file", "", "google-vertex", []string{"GOOGLE_APPLICATION_CREDENTIALS", "x", "GOOGLE_CLOUD_PROJECT", "p"}, "google", "", "Google application default credentials", ""},
		{"google without project", "", "google-vertex", []string{"GOOGLE_APPLICATION_CREDENTIALS", "x"}, "google", "", "Google application default credentials", "set GOOGLE_CLOUD_PROJECT in the environment, or project in the configuration"},
		{"claude on vertex", "", "google-vertex-anthropic", []string{"GOOGLE_APPLICATION_CREDENTIALS", "x", "GOOGLE_CLOUD_PROJECT", "p"}, "google", "", "Google application default credentials", ""},
		{"google key", "", "google-vertex", []string{"GOOGLE_CLOUD_API_KEY", "k", "GOOGLE_CLOUD_PROJECT", "p"}, "x-goog-api-key", "k", "environment GOOGLE_CLOUD_API_KEY", ""},
		{"no google", "", "google-vertex", []string{"GOOGLE_CLOUD_PROJECT", "p"}, "google", "", "none", "run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS"},
		{"azure", "", "azure", []string{"AZURE_OPENAI_API_KEY", "k", "AZURE_OPENAI_RESOURCE_NAME", "r"}, "api-key", "k", "environment AZURE_OPENAI_API_KEY", ""},
		{"azure token", "", "azure", []string{"AZURE_OPENAI_AD_TOKEN", "t", "AZURE_OPENAI_API_KEY", "k", "AZURE_OPENAI_RESOURCE_NAME", "r"}, "bearer", "t", "environment AZURE_OPENAI_AD_TOKEN", ""},
		{"azure principal", "", "azure", []string{"AZURE_TENANT_ID", "t", "AZURE_CLIENT_ID", "c", "AZURE_CLIENT_SECRET", "s", "AZURE_OPENAI_RESOURCE_NAME", "r"}, "azure", "", "Azure default credentials", ""},
		{"azure workload", "", "azure", []string{"AZURE_TENANT_ID", "t", "AZURE_CLIENT_ID", "c", "AZURE_FEDERATED_TOKEN_FILE", "f", "AZURE_OPENAI_RESOURCE_NAME", "r"}, "azure", "", "Azure default credentials", ""},
		{"azure application", "", "azure", []string{"IDENTITY_ENDPOINT", "http://h", "AZURE_OPENAI_RESOURCE_NAME", "r"}, "azure", "", "Azure default credentials", ""},
		{"azure key before identity", "", "azure", []string{"IDENTITY_ENDPOINT", "http://h", "AZURE_OPENAI_API_KEY", "k", "AZURE_OPENAI_RESOURCE_NAME", "r"}, "api-key", "k", "environment AZURE_OPENAI_API_KEY", ""},
		{"azure as the file says", "providers:\n  - {id: azure, auth: azure, base_url: 'https://r.openai.azure.com'}\n", "azure", nil, "azure", "", "Azure default credentials", ""},
		{"azure elsewhere", lab + "    auth: azure\n", "lab", nil, "azure", "", "Azure default credentials", ""},
		{"azure with half a principal", "", "azure", []string{"AZURE_CLIENT_SECRET", "s", "AZURE_OPENAI_RESOURCE_NAME", "r"}, "api-key", "", "none", "set AZURE_OPENAI_AD_TOKEN or AZURE_OPENAI_API_KEY in the environment, or api_key or auth: azure in the configuration"},
		{"azure by header", "providers:\n  - {id: azure, base_url: 'http://h/v1', headers: {Api-Key: x}}\n", "azure", []string{"IDENTITY_ENDPOINT", "http://h"}, "none", "", "configuration", ""},
		{"azure without resource", "", "azure", []string{"AZURE_OPENAI_API_KEY", "k"}, "api-key", "k", "environment AZURE_OPENAI_API_KEY", "set AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME in the environment, or base_url in the configuration"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, ok := load(t, tt.text, tt.env...).Provider(tt.provider)
			if !ok {
				t.Fatal("no such provider")
			}
			if p.Auth != tt.auth || p.Key.Reveal() != tt.key || p.CredentialsSource != tt.source || p.Missing != tt.missing || p.Configured != (tt.missing == "") {
				t.Errorf("auth %s, key %q, source %q, missing %q, configured %t", p.Auth, p.Key.Reveal(), p.CredentialsSource, p.Missing, p.Configured)
			}
		})
	}
}

// The usual files of the clouds' own tools are signs of credentials too.
func TestCredentialFiles(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{".aws/credentials", ".config/gcloud/application_default_credentials.json", ".azure/msal_token_cache.json"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := load(t, "", "HOME", home, "AWS_REGION", "r", "GOOGLE_CLOUD_PROJECT", "p", "AZURE_OPENAI_RESOURCE_NAME", "r")
	for id, source := range map[string]string{"amazon-bedrock": "AWS default chain", "google-vertex": "Google application default credentials", "azure": "Azure default credentials"} {
		if p, _ := c.Provider(id); !p.Configured || p.CredentialsSource != source {
			t.Errorf("%s: %+v", id, p)
		}
	}
}

func TestPlaces(t *testing.T) {
	vertex := []string{"GOOGLE_CLOUD_PROJECT", "proj"}
	for _, tt := range []struct {
		name, text, provider string
		env                  []string
		want                 string
	}{
		{"anthropic", "", "anthropic", nil, "https://api.anthropic.com"},
		{"anthropic with /v1", "providers:\n  - {id: anthropic, base_url: 'http://h/v1/'}\n", "anthropic", nil, "http://h"},
		{"mistral", "", "mistral", nil, "https://api.mistral.ai/v1"},
		{"mistral without /v1", "providers:\n  - {id: mistral, base_url: 'http://h'}\n", "mistral", nil, "http://h/v1"},
		{"bedrock", "", "amazon-bedrock", []string{"AWS_DEFAULT_REGION", "eu-west-1"}, "https://bedrock-runtime.eu-west-1.amazonaws.com"},
		{"bedrock, first name", "", "amazon-bedrock", []string{"AWS_DEFAULT_REGION", "eu-west-1", "AWS_REGION", "us-east-1"}, "https://bedrock-runtime.us-east-1.amazonaws.com"},
		{"bedrock, file", "providers:\n  - {id: amazon-bedrock, region: cn-north-1}\n", "amazon-bedrock", []string{"AWS_REGION", "us-east-1"}, "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"},
		{"bedrock, own URL", "providers:\n  - {id: amazon-bedrock, base_url: 'http://h'}\n", "amazon-bedrock", []string{"AWS_REGION", "r"}, "http://h"},
		{"vertex", "", "google-vertex", vertex, "https://aiplatform.googleapis.com/v1/projects/proj/locations/global/publishers/google"},
		{"vertex region", "", "google-vertex", append(vertex, "GOOGLE_CLOUD_LOCATION", "us-east5"), "https://us-east5-aiplatform.googleapis.com/v1/projects/proj/locations/us-east5/publishers/google"},
		{"vertex multi-region", "providers:\n  - {id: google-vertex, location: eu, project: p2}\n", "google-vertex", vertex, "https://aiplatform.eu.rep.googleapis.com/v1/projects/p2/locations/eu/publishers/google"},
		{"claude on vertex", "", "google-vertex-anthropic", append(vertex, "GOOGLE_CLOUD_LOCATION", "us-east5"), "https://us-east5-aiplatform.googleapis.com/v1/projects/proj/locations/us-east5/publishers/anthropic"},
		{"claude on vertex, own variables", "", "google-vertex-anthropic", append(vertex, "ANTHROPIC_VERTEX_PROJECT_ID", "p3", "CLOUD_ML_REGION", "global"), "https://aiplatform.googleapis.com/v1/projects/p3/locations/global/publishers/anthropic"},
		{"claude on vertex, under another id", "providers:\n  - {id: lab, api: anthropic-messages, auth: google, project: p, location: eu, compat: {messages_dialect: vertex}, models: [{id: m}]}\n", "lab", nil, "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic"},
		{"vertex, own URL", "providers:\n  - {id: google-vertex, base_url: 'http://h/p/x'}\n", "google-vertex", vertex, "http://h/p/x/v1/projects/proj/locations/global/publishers/google"},
		{"vertex, own version", "providers:\n  - {id: google-vertex, base_url: 'http://h/v1beta1'}\n", "google-vertex", vertex, "http://h/v1beta1/projects/proj/locations/global/publishers/google"},
		{"vertex, whole URL", "providers:\n  - {id: google-vertex, base_url: 'http://h/v1/publishers/google'}\n", "google-vertex", nil, "http://h/v1/publishers/google"},
		{"azure resource", "", "azure", []string{"AZURE_OPENAI_RESOURCE_NAME", "res"}, "https://res.openai.azure.com/openai/v1"},
		{"azure endpoint", "", "azure", []string{"AZURE_OPENAI_ENDPOINT", "https://res.openai.azure.com/"}, "https://res.openai.azure.com/openai/v1"},
		{"azure URL first", "", "azure", []string{"AZURE_OPENAI_RESOURCE_NAME", "res", "AZURE_OPENAI_BASE_URL", "https://h/x/"}, "https://h/x"},
		{"azure, pasted", "", "azure", []string{"AZURE_OPENAI_BASE_URL", "https://res.cognitiveservices.azure.com/openai/v1/responses?api-version=preview"}, "https://res.cognitiveservices.azure.com/openai/v1"},
		{"azure foundry", "", "azure", []string{"AZURE_OPENAI_BASE_URL", "https://res.services.ai.azure.com/openai"}, "https://res.services.ai.azure.com/openai/v1"},
		{"azure, nonsense", "", "azure", []string{"AZURE_OPENAI_BASE_URL", "::"}, ""},
		{"cloudflare", "", "cloudflare-ai-gateway", []string{"CLOUDFLARE_ACCOUNT_ID", "a", "CLOUDFLARE_GATEWAY_ID", "g"}, "https://gateway.ai.cloudflare.com/v1/a/g/compat"},
		{"cloudflare without account", "", "cloudflare-ai-gateway", nil, ""},
		{"own proxy for cloudflare", "providers:\n  - {id: cloudflare-ai-gateway, base_url: 'http://h'}\n", "cloudflare-ai-gateway", nil, "http://h"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, tt.text, tt.env...)
			p, _ := c.Provider(tt.provider)
			if p.BaseURL != tt.want {
				t.Errorf("%q, want %q", p.BaseURL, tt.want)
			}
			if m := c.Models(tt.provider)[0]; m.BaseURL != tt.want {
				t.Errorf("model: %q, want %q", m.BaseURL, tt.want)
			}
		})
	}
}

func TestDeployments(t *testing.T) {
	c := load(t, "providers:\n  - {id: azure, base_url: 'https://h', deployments: {gpt-5: mine}}\n",
		"AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "gpt-5=env, gpt-4o = x,gpt-4.1=other,=,", "AZURE_OPENAI_API_VERSION", "preview")
	p, _ := c.Provider("azure")
	for model, want := range map[string]string{"gpt-5": "mine", "gpt-4.1": "other", "gpt-5-mini": "gpt-5-mini", "gpt-4o": "x"} {
		if got := p.Deployment(model); got != want {
			t.Errorf("%s: %q, want %q", model, got, want)
		}
	}
	if p.APIVersion != "preview" {
		t.Errorf("api version %q", p.APIVersion)
	}
	// The models carry the names, listed or not; the others go by their ids.
	for model, want := range map[string]string{"gpt-5": "mine", "gpt-4.1": "other", "gpt-5-mini": "", "my-deployment": ""} {
		m, _ := resolve(t, c, "azure/"+model)
		if m.ID != model || m.WireModel != want {
			t.Errorf("%s: id %q, wire model %q, want %q", model, m.ID, m.WireModel, want)
		}
	}
}

func TestKeyFiles(t *testing.T) {
	for name, text := range map[string]string{"empty": " \n", "lines": "a\nb\n", "spaces": "a b"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := loadError(t, "providers:\n  - {id: openai, api_key_file: "+path+"}\n"); err == nil {
			t.Errorf("%s was taken for a key", name)
		}
	}
}
