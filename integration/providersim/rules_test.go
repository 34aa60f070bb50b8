package providersim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// breach is a valid request with one thing changed, by which it breaks one rule.
type breach struct {
	rule     string
	old, now string // a piece of the base, and what takes its place
	model    string // instead of the base's
}

// base is a request that breaks no rule.
type base struct{ api, model, body string }

func signer(api, model string) *request { return &request{api: api, model: model} }

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func breaks(t *testing.T, b base, all []breach) {
	t.Helper()
	if found := Check(b.api, b.model, []byte(b.body)); len(found) > 0 {
		t.Fatalf("the base breaks %v", found)
	}
	covered := map[string]bool{}
	for _, c := range all {
		t.Run(c.rule+"/"+c.now, func(t *testing.T) {
			model := b.model
			if c.model != "" {
				model = c.model
			}
			if !strings.Contains(b.body, c.old) {
				t.Fatalf("the base does not hold %s", c.old)
			}
			body := strings.Replace(b.body, c.old, c.now, 1)
			found := Check(b.api, model, []byte(body))
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == c.rule && v.Message != "" }) {
				t.Errorf("got %v in %s", found, body)
			}
		})
		covered[c.rule] = true
	}
	for _, r := range Rules(b.api) {
		if !covered[r.ID] {
			t.Errorf("no test breaks %s", r.ID)
		}
		if !strings.HasPrefix(r.Doc, "https://") {
			t.Errorf("%s has no link", r.ID)
		}
		delete(covered, r.ID)
	}
	for id := range covered {
		t.Errorf("%s is no rule", id)
	}
}

func TestRuleIDsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, api := range []string{Anthropic, Chat, Responses, Gemini, Bedrock, Mistral} {
		for _, r := range Rules(api) {
			if seen[r.ID] {
				t.Errorf("%s is there twice", r.ID)
			}
			seen[r.ID] = true
		}
	}
	if Rules("no-such-api") != nil {
		t.Error("an unknown API has rules")
	}
}

func TestAnthropicRules(t *testing.T) {
	const model = "claude-sonnet-4-5"
	s := signer(Anthropic, model)
	thinking := fmt.Sprintf(`{"type":"thinking","thinking":"T","signature":%q}`, s.sign("thinking", "T"))
	redacted := fmt.Sprintf(`{"type":"redacted_thinking","data":%q}`, s.seal("H"))
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}`
	b := base{Anthropic, model, `{"model":"m","max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":1024},` +
		`"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}],"tool_choice":{"type":"auto"},` +
		`"tools":[{"name":"look","input_schema":{"type":"object","properties":{}}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi"},` + image + `]},` +
		`{"role":"assistant","content":[` + thinking + `,` + redacted + `,{"type":"tool_use","id":"c1","name":"look","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"R"}],"is_error":true},{"type":"text","text":"go"}]}]}`}
	const enabled = `"thinking":{"type":"enabled","budget_tokens":1024}`
	const hi, result = `{"type":"text","text":"hi"}`, `{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"R"}],"is_error":true}`
	const call = `{"type":"tool_use","id":"c1","name":"look","input":{}}`
	const marked = `,"cache_control":{"type":"ephemeral"}}`
	breaks(t, b, []breach{
		{rule: "anthropic.body.object", old: b.body, now: `[]`},
		{rule: "anthropic.body.object", old: b.body, now: `{`},
		{rule: "anthropic.body.object", old: `"model":"m"`, now: `"model":"m","model":"m"`},
		{rule: "anthropic.body.surrogates", old: `"hi"`, now: `"\ud83d!"`},
		{rule: "anthropic.body.surrogates", old: `"hi"`, now: `"\\\udc00"`},
		{rule: "anthropic.body.fields", old: `"max_tokens":4096,`, now: ``},
		{rule: "anthropic.body.fields", old: `"model":"m"`, now: `"model":"m","seed":1`},
		{rule: "anthropic.max_tokens.positive", old: `4096`, now: `0`},
		{rule: "anthropic.sampling.range", old: `"model":"m"`, now: `"model":"m","temperature":1.5`},
		{rule: "anthropic.sampling.range", old: `"model":"m"`, now: `"model":"m","stop_sequences":[" "]`},
		{rule: "anthropic.messages.some", old: b.body[strings.Index(b.body, `"messages"`):], now: `"messages":[]}`},
		{rule: "anthropic.messages.role", old: `"role":"user"`, now: `"role":"system"`},
		{rule: "anthropic.messages.user_first", old: `"messages":[`, now: `"messages":[{"role":"assistant","content":"x"},`},
		{rule: "anthropic.messages.content_not_empty", old: hi + `,` + image, now: ``},
		{rule: "anthropic.messages.content_not_empty", old: `[` + hi + `,` + image + `]`, now: `null`},
		{rule: "anthropic.content.kind", old: call, now: call + `,` + image},
		{rule: "anthropic.content.kind", old: hi, now: thinking},
		{rule: "anthropic.text.not_blank", old: `"hi"`, now: `" \n"`},
		{rule: "anthropic.text.not_blank", old: `"R"`, now: `""`},
		{rule: "anthropic.system.not_blank", old: `"S"`, now: `""`},
		{rule: "anthropic.prefill.trimmed", old: `"go"}]}]`, now: `"go"}]},{"role":"assistant","content":"so "}]`},
		{rule: "anthropic.prefill.supported", old: `"go"}]}]`, now: `"go"}]},{"role":"assistant","content":"so"}]`},
		{rule: "anthropic.prefill.supported", old: `"go"}]}]`, now: `"go"}]},{"role":"assistant","content":"so"}]`, model: "claude-opus-4-6"},
		{rule: "anthropic.tool_use.id_pattern", old: `"id":"c1"`, now: `"id":"c|1"`},
		{rule: "anthropic.tool_use.ids_unique", old: call, now: call + `,` + call},
		{rule: "anthropic.tool_use.name_pattern", old: `"id":"c1","name":"look"`, now: `"id":"c1","name":"a.b"`},
		{rule: "anthropic.tool_use.input_object", old: `"input":{}`, now: `"input":"{}"`},
		{rule: "anthropic.tool_use.has_result", old: result + `,`, now: ``},
		{rule: "anthropic.tool_result.follows_tool_use", old: `"tool_use_id":"c1"`, now: `"tool_use_id":"c2"`},
		{rule: "anthropic.tool_result.follows_tool_use", old: hi, now: result + `,` + hi},
		{rule: "anthropic.tool_result.one_for_each", old: result, now: result + `,` + result},
		{rule: "anthropic.tool_result.first", old: result, now: hi + `,` + result},
		{rule: "anthropic.tool_result.error_text_only", old: `{"type":"text","text":"R"}`, now: image},
		{rule: "anthropic.server_tool.paired", old: `"messages":[`, now: `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]},`},
		{rule: "anthropic.server_tool.paired", old: call, now: `{"type":"web_search_tool_result","tool_use_id":"s","content":[]},` + call},
		{rule: "anthropic.tools.present_with_history", old: `"tools":[{"name":"look","input_schema":{"type":"object","properties":{}}}],`, now: ``},
		{rule: "anthropic.tools.names", old: `[{"name":"look"`, now: `[{"name":"a b"`},
		{rule: "anthropic.tools.names", old: `"tools":[`, now: `"tools":[{"name":"look","input_schema":{"type":"object"}},`},
		{rule: "anthropic.tools.schema", old: `{"type":"object","properties":{}}`, now: `{}`},
		{rule: "anthropic.tools.schema", old: `{"type":"object","properties":{}}`, now: `{"type":"object","properties":{},"oneOf":[]}`},
		{rule: "anthropic.tools.draft", old: `"properties":{}`, now: `"properties":{"a":{"type":"array","items":[{}]}}`},
		{rule: "anthropic.tools.draft", old: `"properties":{}`, now: `"properties":{"a":{"minimum":0,"exclusiveMinimum":true}}`},
		{rule: "anthropic.tools.strict_schema", old: `[{"name":"look"`, now: `[{"strict":true,"name":"look"`},
		{rule: "anthropic.tools.strict_schema", old: `"tools":[`, now: `"tools":[` + strings.Repeat(`{"strict":true,"name":"look","input_schema":{"type":"object","properties":{},"additionalProperties":false}},`, 21)},
		{rule: "anthropic.tools.strict_schema", old: `"tools":[`, now: `"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{` + strings.TrimSuffix(strings.Repeat(`"a":{"type":["string","null"]},`, 16), ",") + `}}}},` +
			`"tools":[{"strict":true,"name":"look","input_schema":{"type":"object","properties":{"a":{"anyOf":[{}]}},"additionalProperties":false}},`},
		{rule: "anthropic.tool_choice.valid", old: `{"type":"auto"}`, now: `{"type":"tool","name":"x"}`},
		{rule: "anthropic.tool_choice.valid", old: `{"type":"auto"}`, now: `{"type":"required"}`},
		{rule: "anthropic.thinking.type", old: enabled, now: `"thinking":{"type":"on"}`},
		{rule: "anthropic.thinking.type", old: enabled, now: `"thinking":{"type":"adaptive"}`},
		{rule: "anthropic.thinking.type", old: enabled, now: enabled, model: "claude-opus-4-7"},
		{rule: "anthropic.effort.level", old: enabled, now: `"output_config":{"effort":"xhigh"}`},
		{rule: "anthropic.thinking.budget_least", old: `"budget_tokens":1024`, now: `"budget_tokens":1023`},
		{rule: "anthropic.thinking.budget_below_max_tokens", old: `4096`, now: `1024`},
		{rule: "anthropic.thinking.sampling", old: `"model":"m"`, now: `"model":"m","temperature":0.5`},
		{rule: "anthropic.thinking.sampling", old: `"model":"m"`, now: `"model":"m","top_k":5`},
		{rule: "anthropic.thinking.forced_tool_choice", old: `{"type":"auto"}`, now: `{"type":"any"}`},
		{rule: "anthropic.thinking.starts_turn", old: thinking + `,` + redacted, now: `{"type":"text","text":"x"}`, model: model},
		{rule: "anthropic.thinking.not_last", old: `"messages":[`, now: `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[` + thinking + `]},`},
		{rule: "anthropic.thinking.not_prefilled", old: b.body, now: `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[` + thinking + `,{"type":"text","text":"so"}]}]}`},
		{rule: "anthropic.thinking.has_signature", old: s.sign("thinking", "T"), now: ``},
		{rule: "anthropic.thinking.signature_valid", old: `"thinking":"T"`, now: `"thinking":"T "`},
		{rule: "anthropic.thinking.signature_valid", old: s.sign("thinking", "T"), now: s.sign("thinking", "T")[4:]},
		{rule: "anthropic.thinking.signature_valid", old: enabled, now: enabled, model: "claude-haiku-4-5"},
		{rule: "anthropic.redacted_thinking.data_valid", old: s.seal("H"), now: s.seal("H")[4:]},
		{rule: "anthropic.cache_control.limit", old: hi, now: strings.Repeat(`{"type":"text","text":"x"`+marked+`,`, 4) + hi},
		{rule: "anthropic.cache_control.place", old: `"thinking":"T"`, now: `"cache_control":{"type":"ephemeral"},"thinking":"T"`},
		{rule: "anthropic.cache_control.place", old: `{"type":"ephemeral"}`, now: `{"type":"lasting"}`},
		{rule: "anthropic.cache_control.ttl", old: hi, now: `{"type":"text","text":"hi","cache_control":{"type":"ephemeral","ttl":"1h"}}`},
		{rule: "anthropic.cache_control.ttl", old: `{"type":"ephemeral"}`, now: `{"type":"ephemeral","ttl":"2h"}`},
		{rule: "anthropic.image.type", old: `image/png`, now: `image/bmp`},
		{rule: "anthropic.image.bytes", old: `image/png`, now: `image/gif`},
		{rule: "anthropic.image.bytes", old: png, now: `!`},
		{rule: "anthropic.output.schema", old: `"model":"m"`, now: `"model":"m","output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`},
	})
}
