package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters/faux"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
)

func env(pairs ...string) config.Env {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// ignoreHost leaves the provider out of a comparison of models.
var ignoreHost = cmpopts.IgnoreFields(profile.Model{}, "Host")

// load makes a catalogue of a user's file.
func load(t *testing.T, text string, pairs ...string) *catalog.Catalog {
	t.Helper()
	file, err := config.Parse("llmd.yaml", []byte(text), env(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Load(file, env(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func resolve(t *testing.T, c *catalog.Catalog, name string) (*profile.Model, *catalog.Provider) {
	t.Helper()
	m, p, err := c.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	return m, p
}

// Every id of the contract is there, with what it needs to be asked.
func TestBuiltinProviders(t *testing.T) {
	c := load(t, "", "CLOUDFLARE_ACCOUNT_ID", "acc", "CLOUDFLARE_GATEWAY_ID", "gw", "AZURE_OPENAI_RESOURCE_NAME", "res",
		"AWS_REGION", "eu-west-1", "GOOGLE_CLOUD_PROJECT", "proj")
	want := strings.Fields(`amazon-bedrock anthropic azure cerebras cloudflare-ai-gateway cloudflare-workers-ai deepseek faux fireworks
		github-copilot github-models google google-vertex google-vertex-anthropic groq huggingface llamacpp lmstudio minimax mistral moonshotai nvidia ollama openai openai-chat
		openrouter perplexity sglang together venice vercel-ai-gateway vllm xai zai`)
	var got []string
	for _, p := range c.Providers() {
		got = append(got, p.ID)
		if !slices.Contains(config.APIs(), p.API) || p.DisplayName == "" || !strings.HasPrefix(p.BaseURL, "http") || strings.Contains(p.BaseURL, "$") {
			t.Errorf("%s is not whole: %v", p.ID, p.Message())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
}

// The counts are what the issue asks for; the facts are the providers' own.
func TestBuiltinModels(t *testing.T) {
	c := load(t, "")
	for provider, least := range map[string]int{
		"anthropic": 10, "openai": 20, "openai-chat": 20, "azure": 5, "google": 8, "google-vertex": 8, "amazon-bedrock": 10, "mistral": 8, "openrouter": 20,
		"deepseek": 2, "groq": 2, "xai": 3, "cerebras": 2, "together": 5, "fireworks": 5, "moonshotai": 3, "zai": 3, "minimax": 3, "huggingface": 5,
		"nvidia": 3, "github-models": 3, "github-copilot": 5, "vercel-ai-gateway": 10, "cloudflare-workers-ai": 5, "cloudflare-ai-gateway": 5, "perplexity": 3,
	} {
		if n := len(c.Models(provider)); n < least {
			t.Errorf("%s has %d models, want at least %d", provider, n, least)
		}
	}
	if !slices.IsSortedFunc(c.Models(""), func(a, b *profile.Model) int {
		return strings.Compare(a.Provider+"\x00"+a.ID, b.Provider+"\x00"+b.ID)
	}) {
		t.Error("models are not sorted")
	}
	for _, m := range c.Models("") {
		if m.ContextWindow < 1 || m.MaxOutput < 1 || m.Source != "builtin" || m.BaseURL == "" && m.Provider != "azure" &&
			m.Provider != "amazon-bedrock" && !strings.HasPrefix(m.Provider, "google-vertex") && !strings.HasPrefix(m.Provider, "cloudflare") {
			t.Errorf("%s is not whole: %+v", m.Name(), m)
		}
		if m.Pricing != nil && m.Pricing.GetOutputPicoUsdPerToken() < m.Pricing.GetInputPicoUsdPerToken()/4 {
			t.Errorf("%s: output costs less than a quarter of input", m.Name())
		}
	}
}

func TestKnownFacts(t *testing.T) {
	c := load(t, "")
	for _, tt := range []struct {
		name                    string
		window, output          int32
		input, read, write, out int64 // USD per million, in millionths
		efforts                 string
	}{
		{"anthropic/claude-opus-4-6", 1_000_000, 128_000, 5_000_000, 500_000, 6_250_000, 25_000_000, "none minimal low medium high max"},
		{"anthropic/claude-haiku-4-5", 200_000, 64_000, 1_000_000, 100_000, 1_250_000, 5_000_000, "none minimal low medium high"},
		{"openai/gpt-5", 400_000, 128_000, 1_250_000, 125_000, 0, 10_000_000, "minimal low medium high"},
		{"openai-chat/gpt-5", 400_000, 128_000, 1_250_000, 125_000, 0, 10_000_000, "minimal low medium high"},
		{"openai/gpt-4o", 128_000, 16_384, 2_500_000, 1_250_000, 0, 10_000_000, "none"},
		{"openai/gpt-5.4", 1_050_000, 128_000, 2_500_000, 250_000, 0, 15_000_000, "none low medium high xhigh"},
		{"google/gemini-2.5-pro", 1_048_576, 65_536, 1_250_000, 125_000, 0, 10_000_000, "none minimal low medium high"},
	} {
		m, _ := resolve(t, c, tt.name)
		var efforts []string
		for _, e := range m.SupportedEfforts() {
			efforts = append(efforts, profile.EffortName(e))
		}
		p := m.Pricing
		if m.ContextWindow != tt.window || m.MaxOutput != tt.output || p.GetInputPicoUsdPerToken() != tt.input || p.GetCacheReadPicoUsdPerToken() != tt.read ||
			p.GetCacheWritePicoUsdPerToken() != tt.write || p.GetOutputPicoUsdPerToken() != tt.out || strings.Join(efforts, " ") != tt.efforts {
			t.Errorf("%s: %d %d %v %v", tt.name, m.ContextWindow, m.MaxOutput, p, efforts)
		}
	}
	// A tier is of use only where prompts can be that long.
	for _, m := range c.Models("") {
		for _, tier := range m.Pricing.GetTiers() {
			if tier.GetThresholdTokens() >= m.ContextWindow {
				t.Errorf("%s: tier above %d, window %d", m.Name(), tier.GetThresholdTokens(), m.ContextWindow)
			}
		}
	}
}

// The built-in provider's models are those that its adapter knows.
func TestFauxModels(t *testing.T) {
	want := faux.Models()
	slices.SortFunc(want, func(a, b *profile.Model) int { return strings.Compare(a.ID, b.ID) })
	c := load(t, "")
	if diff := cmp.Diff(want, c.Models("faux"), protocmp.Transform(), ignoreHost); diff != "" {
		t.Errorf("(-adapter +catalogue):\n%s", diff)
	}
	p, _ := c.Provider("faux")
	if !p.Configured || p.Auth != catalog.AuthNone || p.CredentialsSource != "not needed" {
		t.Errorf("%+v", p)
	}
}

func TestResolve(t *testing.T) {
	c := load(t, `
providers:
  - id: lab
    api: openai-completions
    base_url: http://127.0.0.1:9000/v1
    models:
      - {id: org/m1, aliases: [m1, fast/one]}
      - {id: m2, aliases: [shared]}
  - id: open
    api: openai-completions
    base_url: http://127.0.0.1:9001/v1
    allow_unlisted_models: true
    models:
      - {id: m3, aliases: [shared]}
`)
	for _, tt := range []struct{ name, want, source string }{
		{"lab/org/m1", "lab/org/m1", "configuration"},
		{"lab/m1", "lab/org/m1", "configuration"},
		{"m1", "lab/org/m1", "configuration"},
		{"lab/fast/one", "lab/org/m1", "configuration"},
		{"providers/lab/models/org/m1", "lab/org/m1", "configuration"},
		{"lab/shared", "lab/m2", "configuration"},
		{"open/shared", "open/m3", "configuration"},
		{"open/any/thing:free", "open/any/thing:free", "default"},
		{"openrouter/anthropic/claude-sonnet-4.6", "openrouter/anthropic/claude-sonnet-4.6", "builtin"},
		{"anthropic/claude-haiku-4-5", "anthropic/claude-haiku-4-5-20251001", "builtin"},
		{"ollama/llama3.3:70b", "ollama/llama3.3:70b", "default"},
	} {
		m, p := resolve(t, c, tt.name)
		if m.Name() != tt.want || m.Source != tt.source || p.ID != m.Provider {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.name, m.Name(), m.Source, tt.want, tt.source)
		}
	}
}

func TestNearMisses(t *testing.T) {
	c := load(t, "", "ANTHROPIC_API_KEY", "k")
	for _, tt := range []struct{ name, suggests string }{
		{"claude-opus-5", "anthropic/claude-opus-5"},
		{"anthropic/claude-opus5", "anthropic/claude-opus-5"},
		{"anthropic/claude-opus-4.6", "anthropic/claude-opus-4-6"},
		{"anthropic/claude-haiku", "anthropic/claude-haiku-4-5"},
		{"claude-haiku", "anthropic/claude-haiku-4-5"},
		{"Anthropic/claude-opus-5", "anthropic/claude-opus-5"},
		{"antropic/claude-opus-9", "anthropic"},
		{"open-ai/gpt-5", "openai/gpt-5"},
		{"openai/gpt5", "openai/gpt-5"},
		{"google/gemini-2.5-por", "google/gemini-2.5-pro"},
		{"faux", "faux/agent"},
		{"openai", "openai/gpt-4"}, // and not openrouter/openai/...
		{"mistralai/mistral-large-2512", "openrouter/mistralai/mistral-large-2512"},
	} {
		_, _, err := c.Resolve(tt.name)
		var noModel *catalog.UnknownModelError
		var noProvider *catalog.UnknownProviderError
		var got []string
		switch {
		case errors.As(err, &noModel):
			got = noModel.Suggestions
		case errors.As(err, &noProvider):
			got = noProvider.Suggestions
		}
		if !slices.Contains(got, tt.suggests) || len(got) > 5 || !strings.Contains(err.Error(), tt.suggests) {
			t.Errorf("%s: %v (%v)", tt.name, got, err)
		}
		const cut = 256 // bytes of a status message, docs/errors.md
		if n := len(err.Error()); n > cut || !strings.Contains(err.Error(), "show all") {
			t.Errorf("%s: %d bytes do not say where all names are: %v", tt.name, n, err)
		}
	}
	for _, name := range []string{"", "/", "zzzzzzzzzz", "anthropic/", "anthropic/zzzzzzzzzzzzzz", "providers/", "providers//models/", strings.Repeat("x", 1<<16)} {
		if _, _, err := c.Resolve(name); err == nil || len(err.Error()) > 1024 {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

// A user's file changes what it names and nothing else.
func TestOverlay(t *testing.T) {
	const text = `
providers:
  - id: anthropic
    base_url: http://127.0.0.1:8080/v1
    compat: {supports_eager_tool_input_streaming: false}
    models:
      - {id: claude-opus-5, max_output_tokens: 1000, compat: {supports_temperature: true}}
      - {id: claude-haiku-4-5, reasoning: false}
      - {id: claude-own, context_window_tokens: 5000, input: [text, image]}
  - {id: groq, disabled: true}
`
	plain, changed := load(t, ""), load(t, text)
	before, _ := resolve(t, plain, "anthropic/claude-opus-5")
	after, p := resolve(t, changed, "anthropic/claude-opus-5")
	want := *before
	want.BaseURL, want.MaxOutput, want.Source = "http://127.0.0.1:8080", 1000, "configuration"
	want.Compat.SupportsTemperature = true
	want.Compat.SupportsEagerToolInputStreaming = false
	if diff := cmp.Diff(&want, after, protocmp.Transform(), ignoreHost); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.API != "anthropic-messages" || p.DisplayName != "Anthropic" || !p.Builtin {
		t.Errorf("%+v", p)
	}
	// An alias that is listed inherits what the model behind it is.
	haiku, _ := resolve(t, changed, "anthropic/claude-haiku-4-5")
	if haiku.ID != "claude-haiku-4-5" || haiku.Reasoning || haiku.ContextWindow != 200_000 || haiku.Pricing == nil {
		t.Errorf("%+v", haiku)
	}
	own, _ := resolve(t, changed, "anthropic/claude-own")
	if own.ContextWindow != 5000 || own.WindowGuessed || own.MaxOutput != 32_768 || !own.OutputGuessed || own.Reasoning || own.Pricing != nil || !own.TakesImages() {
		t.Errorf("%+v", own)
	}
	if _, ok := changed.Provider("groq"); ok {
		t.Error("a disabled provider is there")
	}
	// Another API for a built-in provider holds for its models too.
	m, p := resolve(t, load(t, "providers:\n  - {id: openai, api: openai-completions}\n"), "openai/gpt-5")
	if m.API != "openai-completions" || p.Auth != catalog.AuthBearer || m.Compat.SupportsMaxOutputTokens && m.Compat.MaxTokensField != "max_completion_tokens" {
		t.Errorf("%+v", m)
	}
}

// What a model is taken for where nobody says (host-behaviour 7).
func TestUnlisted(t *testing.T) {
	c := load(t, "providers:\n  - {id: lab, api: openai-completions, base_url: 'http://127.0.0.1:1', allow_unlisted_models: true}\n")
	m, _ := resolve(t, c, "lab/m")
	want := &profile.Model{
		ID: "m", Provider: "lab", API: "openai-completions", BaseURL: "http://127.0.0.1:1",
		Input: []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT}, ContextWindow: 128_000, MaxOutput: 32_768,
		WindowGuessed: true, OutputGuessed: true,
		Compat: profile.Defaults("openai-completions"), Source: "default",
	}
	if diff := cmp.Diff(want, m, ignoreHost); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{
			"providers:\n  - id: lab\n",
			"llmd.yaml:2: providers[0].api: is missing: say which API provider \"lab\" speaks, such as openai-completions\n" +
				"llmd.yaml:2: providers[0].base_url: is missing: say where this provider is",
		},
		{
			"providers:\n  - {id: openai, api_key: k}\n  - {id: antropic, base_url: 'http://h'}\n",
			"llmd.yaml:3: providers[1].api: is missing: say which API provider \"antropic\" speaks, such as openai-completions; did you mean anthropic?",
		},
		{ // in the order of the file, which is not that of the ids
			"providers:\n  - {id: zz, base_url: 'http://h'}\n  - {id: openai, api_key_file: /nowhere/key}\n",
			"llmd.yaml:2: providers[0].api: is missing: say which API provider \"zz\" speaks, such as openai-completions\n" +
				"llmd.yaml:3: providers[1].api_key_file: /nowhere/key: no such file or directory",
		},
		{"\n\nproviders:\n  - {id: lab, api: openai-completions}\n", "llmd.yaml:4: providers[0].base_url: is missing: say where this provider is"},
		{"providers:\n  - {id: openai, api_key_file: /nowhere/key}\n", "llmd.yaml:2: providers[0].api_key_file: /nowhere/key: no such file or directory"},
	} {
		file, err := config.Parse("llmd.yaml", []byte(tt.text), env())
		if err != nil {
			t.Fatal(err)
		}
		_, err = catalog.Load(file, env())
		var e *config.ParseError
		if !errors.As(err, &e) || err.Error() != tt.want {
			t.Errorf("%v\nwant %s", err, tt.want)
		}
	}
}

func TestMessages(t *testing.T) {
	c := load(t, "providers:\n  - {id: anthropic, api_key: s3cret, headers: {x-extra: s3cret}}\n")
	m, p := resolve(t, c, "anthropic/claude-haiku-4-5")
	want := &llmdv1.Model{
		Name: "providers/anthropic/models/claude-haiku-4-5-20251001", Id: "claude-haiku-4-5-20251001", Provider: "anthropic", Api: "anthropic-messages",
		DisplayName:         "Claude Haiku 4.5",
		InputModalities:     []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT, llmdv1.Modality_MODALITY_IMAGE},
		OutputModalities:    []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT},
		ContextWindowTokens: 200_000, MaxOutputTokens: 64_000, Aliases: []string{"claude-haiku-4-5"}, Source: "builtin",
		Pricing: &llmdv1.Pricing{InputPicoUsdPerToken: 1_000_000, CacheReadPicoUsdPerToken: 100_000, CacheWritePicoUsdPerToken: 1_250_000, OutputPicoUsdPerToken: 5_000_000},
		Capabilities: &llmdv1.Capabilities{
			ReasoningEfforts: []llmdv1.ReasoningEffort{1, 2, 3, 4, 5}, Tools: true, ParallelTools: true, JsonSchema: true, Images: true, Signatures: true,
		},
	}
	if diff := cmp.Diff(want, catalog.ModelMessage(m), protocmp.Transform()); diff != "" {
		t.Errorf("model (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&llmdv1.Provider{
		Id: "anthropic", Api: "anthropic-messages", DisplayName: "Anthropic", BaseUrl: "https://api.anthropic.com", Configured: true, CredentialsSource: "configuration",
	}, p.Message(), protocmp.Transform()); diff != "" {
		t.Errorf("provider (-want +got):\n%s", diff)
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := catalog.Load(config.Default(), env()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNearMiss(b *testing.B) {
	c, err := catalog.Load(config.Default(), env())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, _, _ = c.Resolve("claude-opis-5")
	}
}
