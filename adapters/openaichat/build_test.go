package openaichat

import (
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Histories are built with these.
var (
	assistantMessage  = adaptertest.Assistant
	assistantText     = adaptertest.Says
	assistantCall     = adaptertest.Calls
	assistantThinking = adaptertest.Thinks
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
			SupportsParallelToolCalls: true, SupportsJSONSchema: true,
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
	return string(r.Body)
}

func request(t *testing.T, m *profile.Model, g *llmdv1.Generation) (*adapters.Request, error) {
	t.Helper()
	return adaptertest.Encode(t, New(), g, m)
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
