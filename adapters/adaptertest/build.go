package adaptertest

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Encode writes a request as the service does, but for the hand-off: the conversation
// is sent as it is. It fails the test if the request is changed by it, or the body is no
// JSON.
func Encode(t testing.TB, a adapters.Adapter, g *llmdv1.Generation, m *profile.Model) (*adapters.Request, error) {
	t.Helper()
	o, err := adapters.Negotiate(g, g.GetContext(), m)
	if err != nil {
		return nil, err
	}
	before := proto.CloneOf(g)
	r, err := a.Encode(&adapters.Call{Generation: g, Context: g.GetContext(), Model: m, Options: o})
	if !proto.Equal(before, g) {
		t.Error("Encode changed the call")
	}
	if err == nil && !json.Valid(r.Body) {
		t.Errorf("the body is no JSON: %s", r.Body)
	}
	return r, err
}

// User is a user turn.
func User(content ...*llmdv1.UserContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: content}}}
}

// UserText is a text of the user's.
func UserText(s string) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

// UserImage is an image of the user's.
func UserImage(i *llmdv1.ImageContent) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: i}}
}

// Assistant is an answer.
func Assistant(content ...*llmdv1.AssistantContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{Content: content}}}
}

// Says is a text of the assistant's.
func Says(s string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

// Thinks is thinking, signed unless format is empty.
func Thinks(s, format, signature string) *llmdv1.AssistantContent {
	t := &llmdv1.ThinkingContent{Thinking: s}
	if format != "" {
		t.Signature = &llmdv1.Signature{Format: format, Data: []byte(signature)}
	}
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: t}}
}

// Calls is a tool call.
func Calls(id, name, arguments string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{Id: id, Name: name, ArgumentsJson: arguments}}}
}

// Own is a block of the provider's own.
func Own(kind, raw string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: &llmdv1.ProviderContent{Type: kind, RawJson: []byte(raw)}}}
}

// Result is what a tool returned.
func Result(id, name string, failed bool, content ...*llmdv1.ToolResultContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{
		ToolCallId: id, ToolName: name, IsError: failed, Content: content,
	}}}
}

// ResultText is a text that a tool returned.
func ResultText(s string) *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

// ResultImage is an image that a tool returned.
func ResultImage(i *llmdv1.ImageContent) *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: i}}
}
