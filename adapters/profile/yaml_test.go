package profile_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/llmd-dev/llmd/adapters/profile"
)

func overlay(t *testing.T, text string) (profile.Overlay, error) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return profile.ParseOverlay(doc.Content[0])
}

// An overlay changes the keys it names and no others, and may be used again.
func TestOverlay(t *testing.T) {
	o, err := overlay(t, "{supports_store: false, thinking_format: qwen, vllm_priority: -3, allowed_fallback_models: [a, b]}")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c := profile.Defaults("openai-completions")
		o.Apply(&c)
		want := profile.Defaults("openai-completions")
		priority := -3
		want.SupportsStore, want.ThinkingFormat, want.VLLMPriority, want.AllowedFallbackModels = false, "qwen", &priority, []string{"a", "b"}
		if diff := cmp.Diff(want, c); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		c.AllowedFallbackModels[0] = "changed"
		*c.VLLMPriority = 7
	}
	if o.IsZero() || !(profile.Overlay{}).IsZero() {
		t.Error("IsZero")
	}
}

// Every field of Compat can be set by its key and is described.
func TestEveryFlag(t *testing.T) {
	values := map[string]string{
		"true or false": "true", "a whole number": "1", "a list of texts": "[a]", "a mapping": "{a: 1}", "text": "a",
	}
	for i, key := range profile.CompatKeys() {
		kind := profile.CompatKind(key)
		value, ok := values[kind]
		if words, closed := strings.CutPrefix(kind, "one of: "); closed {
			value, _, _ = strings.Cut(words, ", ")
		} else if !ok {
			t.Errorf("%s: no value for %q", key, kind)
			continue
		}
		o, err := overlay(t, key+": "+value)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		var c profile.Compat
		o.Apply(&c)
		if reflect.ValueOf(c).Field(i).IsZero() {
			t.Errorf("%s: %s changed nothing", key, value)
		}
	}
	if profile.CompatKind("no_such_flag") != "" {
		t.Error("an unknown flag has a kind")
	}
}

func TestOverlayJSON(t *testing.T) {
	for _, tt := range []struct{ yaml, want string }{
		{"{}", "{}"},
		{"{order: [b, a], allow_fallbacks: false, max_price: {prompt: 1.50, completion: 2}}", `{"order":["b","a"],"allow_fallbacks":false,"max_price":{"prompt":1.50,"completion":2}}`},
		{"{z: 1, a: null, 'm': '1', n: <&>}", `{"z":1,"a":null,"m":"1","n":"<&>"}`},
		{"{a: 0x10, b: 1_000, c: .5, d: -1e3, e: 2001-01-01}", `{"a":16,"b":1000,"c":0.5,"d":-1e3,"e":"2001-01-01"}`},
		{"{a: 12345678901234567890123}", `{"a":12345678901234567890123}`},
		{"{a: \"\u00e4\\n\\\"\"}", "{\"a\":\"\u00e4\\n\\\"\"}"},
	} {
		o, err := overlay(t, "open_router_routing: "+tt.yaml)
		if err != nil {
			t.Errorf("%s: %v", tt.yaml, err)
			continue
		}
		var c profile.Compat
		o.Apply(&c)
		if string(c.OpenRouterRouting) != tt.want {
			t.Errorf("%s: %s, want %s", tt.yaml, c.OpenRouterRouting, tt.want)
		}
	}
}

func TestTemplateArgs(t *testing.T) {
	o, err := overlay(t, `chat_template_kwargs:
  enable_thinking: {$var: thinking.enabled}
  effort: {$var: thinking.effort, omit_when_off: true}
  budget: {omitWhenOff: true, $var: thinking.budget}
  preserve: true
  mode: slow
  list: [1, {a: b}]
`)
	if err != nil {
		t.Fatal(err)
	}
	var c profile.Compat
	o.Apply(&c)
	want := profile.TemplateArgs{
		{Name: "enable_thinking", Var: "thinking.enabled"},
		{Name: "effort", Var: "thinking.effort", OmitWhenOff: true},
		{Name: "budget", Var: "thinking.budget", OmitWhenOff: true},
		{Name: "preserve", Constant: "true"},
		{Name: "mode", Constant: `"slow"`},
		{Name: "list", Constant: `[1,{"a":"b"}]`},
	}
	if diff := cmp.Diff(want, c.ChatTemplateKwargs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOverlayMistakes(t *testing.T) {
	for _, tt := range []struct {
		text string
		line int
		key  string
	}{
		{"[a]", 1, "compat"},
		{"supports_store: true\nsupports_everything: true", 2, "supports_everything"},
		{"supports_store: 'yes'", 1, "supports_store"},
		{"supports_store: null", 1, "supports_store"},
		{"supports_store: [true]", 1, "supports_store"},
		{"max_tokens_field: tokens", 1, "max_tokens_field"},
		{"vllm_priority: high", 1, "vllm_priority"},
		{"allowed_fallback_models: a", 1, "allowed_fallback_models"},
		{"open_router_routing: [a]", 1, "open_router_routing"},
		{"open_router_routing:\n  a: .inf", 2, "open_router_routing"},
		{"open_router_routing:\n  ? [a]\n  : b", 2, "open_router_routing"},
		{"open_router_routing: " + strings.Repeat("{a: ", 100) + "1" + strings.Repeat("}", 100), 1, "open_router_routing"},
		{"chat_template_args:\n  a: {$var: thinking.mood}", 2, "chat_template_args.a.$var"},
		{"chat_template_args:\n  a: {$var: thinking.budget, omit: true}", 2, "chat_template_args.a.omit"},
		{"chat_template_args:\n  a: {$var: thinking.budget, omit_when_off: maybe}", 2, "chat_template_args.a.omit_when_off"},
	} {
		_, err := overlay(t, tt.text)
		var e *profile.KeyError
		if !errors.As(err, &e) || e.Line != tt.line || e.Key != tt.key || e.Problem == "" {
			t.Errorf("%.40q: %v, want line %d, key %s", tt.text, err, tt.line, tt.key)
		}
	}
	_, err := overlay(t, "supportsStore: true")
	if err == nil || !strings.Contains(err.Error(), "did you mean supports_store?") {
		t.Errorf("%v", err)
	}
}
