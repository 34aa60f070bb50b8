package harness

import (
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// User is a user's message of one text.
func User(text string) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{
		{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: text}}},
	}}}}
}

// Ask is a minimal generation.
func Ask(model, prompt string, tools ...string) *llmdv1.Generation {
	g := &llmdv1.Generation{Model: model, Context: &llmdv1.Context{SystemPrompt: Canary, Messages: []*llmdv1.Message{User(prompt)}}}
	for _, name := range tools {
		g.Context.Tools = append(g.Context.Tools, &llmdv1.Tool{
			Name: name, Description: "A tool.", ParametersJsonSchema: `{"type":"object","properties":{},"additionalProperties":true}`,
		})
	}
	return g
}

// ReasonOf is the reason in a status' ErrorInfo.
func ReasonOf(err error) string {
	for _, d := range status.Convert(err).Details() {
		if i, ok := d.(*errdetails.ErrorInfo); ok {
			return i.GetReason()
		}
	}
	return ""
}

// KindOf names the kind of a block.
func KindOf(c *llmdv1.AssistantContent) string {
	switch c.GetBlock().(type) {
	case *llmdv1.AssistantContent_Text:
		return "text"
	case *llmdv1.AssistantContent_Thinking:
		return "thinking"
	case *llmdv1.AssistantContent_ToolCall:
		return "tool_call"
	}
	return "provider_content"
}

// TextOf is the text of a block, or its arguments.
func TextOf(c *llmdv1.AssistantContent) string {
	return c.GetText().GetText() + c.GetThinking().GetThinking() + c.GetToolCall().GetArgumentsJson()
}

// Incomplete says whether a block had no end.
func Incomplete(c *llmdv1.AssistantContent) bool {
	return c.GetText().GetIncomplete() || c.GetThinking().GetIncomplete() || c.GetToolCall().GetIncomplete()
}
