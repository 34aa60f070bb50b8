package faux_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/faux"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Histories are built with these.
var (
	assistant = adaptertest.Assistant
	text      = adaptertest.Says
	toolCall  = adaptertest.Calls
)

func modelOf(t testing.TB, id string) *profile.Model {
	t.Helper()
	for _, m := range faux.Models() {
		if m.ID == id {
			return m
		}
	}
	t.Fatalf("no model %q", id)
	return nil
}

// callOf is a call whose context needs no hand-off.
func callOf(t testing.TB, model string, g *llmdv1.Generation) *adapters.Call {
	t.Helper()
	m := modelOf(t, model)
	o, err := adapters.Negotiate(g, g.GetContext(), m)
	if err != nil {
		t.Fatal(err)
	}
	return &adapters.Call{Generation: g, Context: g.GetContext(), Model: m, Options: o}
}

func user(texts ...string) *llmdv1.Message {
	u := &llmdv1.UserMessage{}
	for _, text := range texts {
		u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: text}}})
	}
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: u}}
}

func image(i *llmdv1.ImageContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{
		Content: []*llmdv1.UserContent{{Block: &llmdv1.UserContent_Image{Image: i}}},
	}}}
}

func thinking(s, format, signature string, redacted bool) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{
		Thinking: s, Redacted: redacted,
		Signature: &llmdv1.Signature{Data: []byte(signature), Format: format, Api: "faux", Provider: "faux", Model: "agent"},
	}}}
}

func toolResult(id, s string, isError bool) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{
		ToolCallId: id, IsError: isError,
		Content: []*llmdv1.ToolResultContent{{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: s}}}},
	}}}
}

func contextOf(messages ...*llmdv1.Message) *llmdv1.Context {
	return &llmdv1.Context{Messages: messages}
}

func TestEncodeHistory(t *testing.T) {
	c := contextOf(
		user("Hi <b>", "and"),
		assistant(
			thinking("I & you", faux.FormatThinking, "9a", false),
			thinking("", faux.FormatRedacted, "QQ.77", true),
			thinking("foreign", "anthropic.thinking", "xx", false),
			text("Well"),
			toolCall("call_1", "weather", `{ "b": 1.0, "a": 9007199254740993 }`),
			toolCall("call_2", "weather", ""),
		),
		toolResult("call_1", "sunny", false),
		toolResult("call_2", "no", true),
		image(&llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte{1, 2, 3}}, MimeType: "image/png"}),
		image(&llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "data:image/gif;base64,BAUG"}}),
		assistant(thinking("nothing to send", "anthropic.thinking", "xx", false)),
	)
	c.SystemPrompt = "Be brief."
	c.Tools = []*llmdv1.Tool{
		{Name: "weather", Description: "Tells it.", ParametersJsonSchema: `{"type": "object"}`, Strict: llmdv1.StrictMode_STRICT_MODE_REQUIRE},
		{Name: "time"},
	}
	r, err := faux.New().Encode(callOf(t, "agent", &llmdv1.Generation{Context: c}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"model":"agent"`,
		`"system":"Be brief."`,
		`"tools":[{"name":"weather"`, `"description":"Tells it."`, `"parameters":{"type": "object"}`, `"strict":true}`, `{"name":"time"}]`,
		`"messages":[{"role":"user"`, `"content":[{"type":"text"`, `"text":"Hi <b>"}`, `{"type":"text"`, `"text":"and"}]}`,
		`{"role":"assistant"`,
		`"content":[{"type":"thinking"`, `"thinking":"I & you"`, `"signature":"9a"}`,
		`{"type":"redacted"`, `"signature":"QQ.77"}`,
		`{"type":"text"`, `"text":"Well"}`,
		`{"type":"tool_call"`, `"id":"call_1"`, `"name":"weather"`, `"arguments":{ "b": 1.0, "a": 9007199254740993 }}`,
		`{"type":"tool_call"`, `"id":"call_2"`, `"name":"weather"`, `"arguments":{}}]}`,
		`{"role":"tool"`, `"tool_call_id":"call_1"`, `"content":[{"type":"text"`, `"text":"sunny"}]}`,
		`{"role":"tool"`, `"tool_call_id":"call_2"`, `"is_error":true`, `"content":[{"type":"text"`, `"text":"no"}]}`,
		`{"role":"user"`, `"content":[{"type":"image"`, `"mime_type":"image/png"`, `"data":"AQID"}]}`,
		`{"role":"user"`, `"content":[{"type":"image"`, `"mime_type":"image/gif"`, `"data":"BAUG"}]}]}`,
	}
	if diff := cmp.Diff(strings.Join(want, ","), string(r.Body)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestEncodeOptions(t *testing.T) {
	tools := []*llmdv1.Tool{{Name: "a"}, {Name: "b"}}
	for name, c := range map[string]struct {
		g    *llmdv1.Generation
		want string // what follows the messages
	}{
		"none": {&llmdv1.Generation{}, ``},
		"sampling": {
			&llmdv1.Generation{Config: &llmdv1.GenerationConfig{
				MaxOutputTokens: proto.Int32(100), Temperature: new(0.0), TopP: new(0.9), TopK: proto.Int32(4),
				StopSequences: []string{"END"}, Seed: proto.Int64(7), OutputJsonSchema: `{"type": "object"}`, ParallelToolCalls: new(false),
				ServiceTier: llmdv1.ServiceTier_SERVICE_TIER_FLEX, Verbosity: llmdv1.Verbosity_VERBOSITY_LOW,
			}},
			`,"max_output_tokens":100,"temperature":0,"top_p":0.9,"top_k":4,"stop_sequences":["END"],"seed":7,` +
				`"output_schema":{"type": "object"},"parallel_tool_calls":false,"service_tier":"flex","verbosity":"low"`,
		},
		"one tool": {
			&llmdv1.Generation{Context: &llmdv1.Context{Tools: tools}, ToolChoice: &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: "b"}}},
			`,"tool_choice":{"mode":"required","name":"b"}`,
		},
		"no tools": {
			&llmdv1.Generation{ToolChoice: &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_NONE}}},
			`,"tool_choice":{"mode":"none"}`,
		},
		"effort": {
			&llmdv1.Generation{Reasoning: &llmdv1.ReasoningConfig{Effort: llmdv1.ReasoningEffort_REASONING_EFFORT_LOW, BudgetTokens: proto.Int32(2048), IncludeSummary: true}},
			`,"thinking":{"mode":"on","effort":"low","budget_tokens":2048,"summary":true}`,
		},
		"no thinking": {
			&llmdv1.Generation{Reasoning: &llmdv1.ReasoningConfig{Effort: llmdv1.ReasoningEffort_REASONING_EFFORT_NONE}},
			`,"thinking":{"mode":"off"}`,
		},
		"cache": {
			&llmdv1.Generation{ConversationId: "c1", Cache: &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_LONG}, User: "u1"},
			`,"cache":{"retention":"long","session_key":"c1"},"user":"u1"`,
		},
		"provider options": {
			&llmdv1.Generation{ProviderOptionsJson: map[string]string{"faux": `{"seed": 1.50}`, "other": `[`}},
			`,"seed":1.50`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.g.Context == nil {
				c.g.Context = &llmdv1.Context{}
			}
			c.g.Context.Messages = []*llmdv1.Message{user("x")}
			before := proto.Clone(c.g)
			r, err := faux.New().Encode(callOf(t, "agent", c.g))
			if err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(string(r.Body), `"text":"x"}]}]`)
			if got != c.want+"}" {
				t.Errorf("got  %s\nwant %s}", got, c.want)
			}
			if !proto.Equal(before, c.g) {
				t.Error("Encode changed the call")
			}
		})
	}
}

func TestEncodeErrors(t *testing.T) {
	for name, c := range map[string]struct {
		g     *llmdv1.Generation
		field string
	}{
		"options": {
			&llmdv1.Generation{Context: contextOf(user("x")), ProviderOptionsJson: map[string]string{"faux": `[]`}},
			"generation.provider_options_json[faux]",
		},
		"address": {
			&llmdv1.Generation{Context: contextOf(user("x"), image(&llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "https://example.com/a.png"}}))},
			"generation.context.messages[1].user.content[0].image.uri",
		},
		"data": {
			&llmdv1.Generation{Context: contextOf(image(&llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "data:image/png;base64,*"}}))},
			"generation.context.messages[0].user.content[0].image.uri",
		},
	} {
		_, err := faux.New().Encode(callOf(t, "echo", c.g))
		var field *adapters.FieldError
		if !errors.As(err, &field) || field.Field != c.field {
			t.Errorf("%s: got %v, want an error about %s", name, err, c.field)
		}
	}
}
