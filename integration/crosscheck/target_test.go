package crosscheck

import (
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/handoff"
)

// target is a model as both know it.
type target struct {
	name  string // in handoff.Config
	path  string // of the other library's base URL
	label string // in differences.txt
	// compat is what the host can do, in the other library's words; they say the same
	// as handoff.Config.
	compat map[string]any
	// silent: told not to think, the other library says nothing, and llmd is not told.
	silent bool
	// own are the blocks that the model itself made: thinking, and a signed text.
	own own
}

// own is the opaque state that a model issues.
type own struct {
	thinking, redacted, text, call *llmdv1.Signature
}

func sign(format, data string) *llmdv1.Signature {
	return &llmdv1.Signature{Format: format, Data: []byte(data)}
}

const reasoningItem = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Six sevens."}],"encrypted_content":"c2VjcmV0"}`

func targets() []target {
	claude := own{thinking: sign("anthropic.thinking", "c2lnbmVk"), redacted: sign("anthropic.redacted_thinking", "cmVkYWN0ZWQ=")}
	gemini := own{thinking: sign("google.thought", "c2lnbmVk"), text: sign("google.thought", "dGV4dA=="), call: sign("google.thought", "Y2FsbA==")}
	openai := own{thinking: sign("openai.reasoning_item", reasoningItem), text: sign("openai.message", `{"id":"msg_1"}`), call: sign("openai.item_id", "fc_1")}
	return []target{
		{label: "anthropic", name: "claude/claude-sonnet-4-5", own: claude, compat: map[string]any{"supportsStrictTools": true}},
		{label: "chat", name: "oai-chat/gpt-4.1", path: "/v1", compat: map[string]any{"supportsDeveloperRole": true, "supportsStrictMode": true}},
		{label: "chat-deepseek", name: "deep/deepseek-chat", path: "/v1", own: own{thinking: sign("chat.reasoning_field", "reasoning_content")}, compat: map[string]any{
			"supportsStore": false, "maxTokensField": "max_tokens", "thinkingFormat": "deepseek", "requiresReasoningContentOnAssistantMessages": true,
		}},
		{label: "chat-plain", name: "plain/gpt-oss-text-only", path: "/v1", own: own{thinking: sign("chat.reasoning_field", "reasoning_content")}, compat: map[string]any{
			"supportsStore": false, "maxTokensField": "max_tokens", "requiresThinkingAsText": true,
			"requiresAssistantAfterToolResult": true, "requiresToolResultName": true,
		}},
		{label: "responses", name: "oai/gpt-5", path: "/v1", own: openai, compat: map[string]any{"supportsStrictMode": true}},
		{label: "azure", name: "blue/gpt-5", path: "/openai/v1", own: openai},
		{label: "gemini-2.5", name: "gem/gemini-2.5-flash", path: "/v1beta", own: gemini},
		{label: "gemini-3", name: "gem/gemini-3-pro-preview", path: "/v1beta", own: gemini, silent: true},
		{label: "vertex-3", name: "vert/gemini-3-flash-preview", path: "/v1", own: gemini, silent: true},
		{label: "bedrock-claude", name: "rock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", silent: true, own: own{
			thinking: sign("bedrock.reasoning", "c2lnbmVk"), redacted: sign("bedrock.redacted", "cmVkYWN0ZWQ="),
		}},
		{label: "bedrock-nova", name: "rock/us.amazon.nova-2-lite-v1:0", silent: true},
		{label: "mistral", name: "mist/mistral-small-2506"},
		{label: "magistral", name: "mist/magistral-medium-latest", silent: true},
		{label: "openrouter", name: "router/anthropic/claude-sonnet-4.5", path: "/v1", own: own{thinking: sign("chat.reasoning_field", "reasoning")}, compat: map[string]any{
			"thinkingFormat": "openrouter", "cacheControlFormat": "anthropic",
		}},
	}
}

// model is the target's in llmd.
func (t *target) model(w *handoff.World) *profile.Model { return w.Model(t.name) }

// theirs is the target as the other library wants it.
func (t *target) theirs(w *handoff.World) map[string]any {
	m := t.model(w)
	input := []string{"text"}
	if m.TakesImages() {
		input = append(input, "image")
	}
	out := map[string]any{
		"id": m.ID, "name": m.ID, "api": m.API, "provider": m.Provider, "baseUrl": t.path, "reasoning": m.Reasoning, "input": input,
		"cost":          map[string]any{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
		"contextWindow": m.ContextWindow, "maxTokens": m.MaxOutput,
	}
	if t.compat != nil {
		out["compat"] = t.compat
	}
	return out
}

// issued completes a signature of the target's own.
func (t *target) issued(m *profile.Model, s *llmdv1.Signature) *llmdv1.Signature {
	if s == nil {
		return nil
	}
	return &llmdv1.Signature{
		Format: s.GetFormat(), Data: s.GetData(), Api: m.API, Provider: m.Provider, Model: m.ID, Endpoint: m.Endpoint,
	}
}
