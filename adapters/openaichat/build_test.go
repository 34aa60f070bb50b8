package openaichat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// chunks makes a body of server-sent events.
func chunks(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"
}

// model is a model of a host that does nothing otherwise than most.
func model() *profile.Model {
	return &profile.Model{
		ID: "m1", Provider: "lab", API: apiID,
		Input: []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT, llmdv1.Modality_MODALITY_IMAGE},
		Compat: profile.Compat{
			SupportsReasoningEffort: true, SupportsUsageInStreaming: true, SupportsFinishReason: true,
			MaxTokensField: "max_completion_tokens", ThinkingFormat: "openai", SupportsLongCacheRetention: true, PromptCacheKeyMode: "auto",
		},
	}
}

// decode reads an answer of a model.
func decode(m *profile.Model, body string) (*adaptertest.Folded, error) {
	return adaptertest.FoldBody(New(), adaptertest.NewCall(m), body)
}

// encode writes the request to a model and returns its body.
func encode(t *testing.T, m *profile.Model, g *llmdv1.Generation) string {
	t.Helper()
	r, err := request(t, m, g)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(r.Body) {
		t.Fatalf("not JSON: %s", r.Body)
	}
	return string(r.Body)
}

func request(t *testing.T, m *profile.Model, g *llmdv1.Generation) (*adapters.Request, error) {
	t.Helper()
	o, err := adapters.Negotiate(g, g.GetContext(), m)
	if err != nil {
		return nil, err
	}
	return New().Encode(&adapters.Call{Generation: g, Context: g.GetContext(), Model: m, Options: o})
}

func userMessage(texts []string, images ...*llmdv1.ImageContent) *llmdv1.Message {
	u := &llmdv1.UserMessage{}
	for _, s := range texts {
		u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s}}})
	}
	for _, im := range images {
		u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: im}})
	}
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: u}}
}

func resultMessage(id, name string, texts []string, images ...*llmdv1.ImageContent) *llmdv1.Message {
	r := &llmdv1.ToolResultMessage{ToolCallId: id, ToolName: name}
	for _, s := range texts {
		r.Content = append(r.Content, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: s}}})
	}
	for _, im := range images {
		r.Content = append(r.Content, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: im}})
	}
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: r}}
}

func assistantMessage(content ...*llmdv1.AssistantContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{Content: content}}}
}

func assistantText(s string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func assistantCall(id, name, arguments string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{Id: id, Name: name, ArgumentsJson: arguments}}}
}

func assistantThinking(text, format, data string) *llmdv1.AssistantContent {
	c := &llmdv1.ThinkingContent{Thinking: text}
	if format != "" {
		c.Signature = &llmdv1.Signature{Format: format, Data: []byte(data)}
	}
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: c}}
}
