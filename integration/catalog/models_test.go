package catalogtest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// pages lists all models, a page at a time.
func (l *llmd) pages(t *testing.T, provider string, size int32) [][]string {
	t.Helper()
	var all [][]string
	token := ""
	for {
		r, err := l.models.ListModels(limited(t), &llmdv1.ListModelsRequest{Provider: provider, PageSize: size, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		var page []string
		for _, m := range r.GetModels() {
			page = append(page, m.GetName())
		}
		all = append(all, page)
		if token = r.GetNextPageToken(); token == "" {
			return all
		}
	}
}

func TestListModels(t *testing.T) {
	l := start(t, "")
	whole := slices.Concat(l.pages(t, "", 1000)...)
	if len(whole) < 1000 || !slices.IsSorted(whole) || len(slices.Compact(slices.Clone(whole))) != len(whole) {
		t.Fatalf("%d models, sorted %v", len(whole), slices.IsSorted(whole))
	}
	for _, size := range []int32{0, 7, 999} {
		pages := l.pages(t, "", size)
		if got := slices.Concat(pages...); !slices.Equal(got, whole) {
			t.Errorf("pages of %d have other models", size)
		}
		want := int(size)
		if size == 0 {
			want = 100
		}
		for i, p := range pages {
			if len(p) != want && i != len(pages)-1 {
				t.Errorf("page %d of %d has %d models", i, size, len(p))
			}
		}
	}
	var groq []string
	for _, name := range whole {
		if strings.HasPrefix(name, "providers/groq/models/") {
			groq = append(groq, name)
		}
	}
	if got := slices.Concat(l.pages(t, "groq", 2)...); len(groq) == 0 || !slices.Equal(got, groq) {
		t.Errorf("of groq: %v, want %v", got, groq)
	}
	if _, err := l.models.ListModels(limited(t), &llmdv1.ListModelsRequest{Provider: "nobody"}); harness.ReasonOf(err) != "PROVIDER_NOT_FOUND" {
		t.Errorf("of nobody: %v", err)
	}
	// Every name that is listed can be asked for.
	for i, name := range whole {
		if i%17 != 0 {
			continue
		}
		r, err := l.models.GetModel(limited(t), &llmdv1.GetModelRequest{Name: name})
		if err != nil || r.GetModel().GetName() != name {
			t.Errorf("%s: %v, %v", name, r.GetModel().GetName(), err)
		}
	}
	for _, bad := range []*llmdv1.ListModelsRequest{{PageSize: -1}, {PageSize: 1001}, {PageToken: "!"}, {Filter: "reasoning"}} {
		if _, err := l.models.ListModels(limited(t), bad); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

const catalogueText = `
providers:
  - {id: groq, disabled: true}
  - {id: anthropic, models: [{id: claude-haiku-4-5, aliases: [cheap], max_output_tokens: 1000}]}
  - id: lab
    api: openai-completions
    base_url: http://127.0.0.1:1/v1
    models:
      - {id: org/m1, display_name: M1, aliases: [m1, common], reasoning: true, input: [text, image], context_window_tokens: 5000, max_output_tokens: 500, pricing: {input: 1.5, output: 2}}
      - {id: m2}
  - {id: other, api: openai-completions, base_url: "http://127.0.0.1:1/v1", allow_unlisted_models: true, models: [{id: m3, aliases: [common]}]}
`

func TestGetModel(t *testing.T) {
	l := start(t, catalogueText)
	for asked, want := range map[string]string{
		"lab/org/m1":                             "providers/lab/models/org/m1",
		"lab/m1":                                 "providers/lab/models/org/m1",
		"m1":                                     "providers/lab/models/org/m1",
		"providers/lab/models/org/m1":            "providers/lab/models/org/m1",
		"lab/common":                             "providers/lab/models/org/m1",
		"other/common":                           "providers/other/models/m3",
		"other/what/ever":                        "providers/other/models/what/ever",
		"cheap":                                  "providers/anthropic/models/claude-haiku-4-5",
		"openrouter/anthropic/claude-sonnet-4.6": "providers/openrouter/models/anthropic/claude-sonnet-4.6",
	} {
		r, err := l.models.GetModel(limited(t), &llmdv1.GetModelRequest{Name: asked})
		if err != nil || r.GetModel().GetName() != want {
			t.Errorf("%s: %s, %v; want %s", asked, r.GetModel().GetName(), err, want)
		}
	}
	r, err := l.models.GetModel(limited(t), &llmdv1.GetModelRequest{Name: "m1"})
	if err != nil {
		t.Fatal(err)
	}
	m := r.GetModel()
	if m.GetDisplayName() != "M1" || m.GetApi() != "openai-completions" || m.GetContextWindowTokens() != 5000 || m.GetMaxOutputTokens() != 500 ||
		m.GetPricing().GetInputPicoUsdPerToken() != 1_500_000 || m.GetSource() != "configuration" || !m.GetCapabilities().GetImages() ||
		len(m.GetCapabilities().GetReasoningEfforts()) == 0 || !slices.Equal(m.GetAliases(), []string{"m1", "common"}) {
		t.Errorf("%v", m)
	}
}

// What is not there is NOT_FOUND and says what may have been meant, for every call
// that names a model.
func TestNearMisses(t *testing.T) {
	l := start(t, catalogueText)
	for _, tt := range []struct{ asked, reason, suggests string }{
		{"lab/org/m11", "MODEL_NOT_FOUND", "lab/org/m1"},
		{"common", "MODEL_NOT_FOUND", "lab/common"}, // two providers have it
		{"m2", "MODEL_NOT_FOUND", "lab/m2"},         // an id is no alias
		{"anthropic/claude-opus5", "MODEL_NOT_FOUND", "anthropic/claude-opus-5"},
		{"antropic/claude-opus-5", "PROVIDER_NOT_FOUND", "anthropic/claude-opus-5"},
		{"groq/openai/gpt-oss-20b", "PROVIDER_NOT_FOUND", "openrouter/openai/gpt-oss-20b"}, // disabled
		{"zzzz/zzzz", "PROVIDER_NOT_FOUND", ""},
	} {
		_, get := l.models.GetModel(limited(t), &llmdv1.GetModelRequest{Name: tt.asked})
		_, complete := l.ask(t, tt.asked)
		_, prepare := l.PrepareContext(limited(t), &llmdv1.PrepareContextRequest{Generation: harness.Ask(tt.asked, "Hello.")})
		for call, err := range map[string]error{"GetModel": get, "Complete": complete, "PrepareContext": prepare} {
			if status.Code(err) != codes.NotFound || harness.ReasonOf(err) != tt.reason {
				t.Errorf("%s %s: %v", call, tt.asked, err)
				continue
			}
			suggestions := strings.Split(metadataOf(err)["suggestions"], ",")
			if tt.suggests != "" && (!slices.Contains(suggestions, tt.suggests) || !strings.Contains(err.Error(), tt.suggests)) {
				t.Errorf("%s %s: %v (%v)", call, tt.asked, err, suggestions)
			}
		}
	}
}

func metadataOf(err error) map[string]string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetMetadata()
		}
	}
	return nil
}

// A provider says whether it can be used and where its key comes from; the key is
// nowhere.
func TestListProviders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	write(t, file, secret+"file")
	l := start(t, `
providers:
  - {id: written, api: openai-completions, base_url: "http://127.0.0.1:1", api_key: `+secret+`written}
  - {id: filed, api: openai-completions, base_url: "http://127.0.0.1:1", api_key_file: `+file+`, headers: {X-Key: `+secret+`header}}
  - {id: keyless, api: openai-completions, base_url: "http://127.0.0.1:1", proxy: "http://me:`+secret+`proxy@127.0.0.1:1"}
  - {id: groq, disabled: true}
`, "OPENAI_API_KEY", secret+"openai", "ANTHROPIC_AUTH_TOKEN", secret+"token")
	r, err := l.models.ListProviders(limited(t), &llmdv1.ListProvidersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]*llmdv1.Provider{}
	for _, p := range r.GetProviders() {
		got[p.GetId()] = p
	}
	for id, want := range map[string]struct {
		configured      bool
		source, missing string
	}{
		"written":   {true, "configuration", ""},
		"filed":     {true, "file " + file, ""},
		"keyless":   {true, "not needed", ""},
		"openai":    {true, "environment OPENAI_API_KEY", ""},
		"anthropic": {true, "environment ANTHROPIC_AUTH_TOKEN", ""},
		"ollama":    {true, "not needed", ""},
		"faux":      {true, "not needed", ""},
		"mistral":   {false, "none", "set MISTRAL_API_KEY in the environment, or api_key in the configuration"},
		"azure":     {false, "none", "AZURE_OPENAI_API_KEY"},
	} {
		p := got[id]
		if p == nil || p.GetConfigured() != want.configured || p.GetCredentialsSource() != want.source || !strings.Contains(p.GetMissing(), want.missing) {
			t.Errorf("%s: %v", id, p)
		}
	}
	if got["groq"] != nil {
		t.Error("a disabled provider is listed")
	}
	if text, err := protojson.Marshal(r); err != nil || strings.Contains(string(text), secret) {
		t.Errorf("the list holds a key, or %v", err)
	}
	// One without a key fails before any traffic, and says what is missing.
	if _, err := l.ask(t, "mistral/mistral-large-latest"); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "MISTRAL_API_KEY") {
		t.Errorf("not configured: %v", err)
	}
	// As a fallback it is left out, and no request is counted for it.
	g := harness.Ask("faux/error", "rate_limit")
	g.FallbackModels = []string{"mistral/mistral-large-latest", "faux/echo"}
	var trailer metadata.MD
	c, err := l.Complete(limited(t), &llmdv1.CompleteRequest{Generation: g}, grpc.Trailer(&trailer))
	if err != nil || c.GetMessage().GetModel() != "echo" || !slices.Equal(trailer.Get("llmd-attempts"), []string{"2"}) {
		t.Errorf("%v, %v, trailer %v", c, err, trailer)
	}
}
