package transform_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

// Shorthand for building and comparing conversations.

const (
	rewritten  = llmdv1.HandoffAction_HANDOFF_ACTION_REWRITTEN
	downgraded = llmdv1.HandoffAction_HANDOFF_ACTION_DOWNGRADED
	dropped    = llmdv1.HandoffAction_HANDOFF_ACTION_DROPPED
	inserted   = llmdv1.HandoffAction_HANDOFF_ACTION_INSERTED

	stop    = llmdv1.StopReason_STOP_REASON_STOP
	failed  = llmdv1.StopReason_STOP_REASON_ERROR
	aborted = llmdv1.StopReason_STOP_REASON_ABORTED
)

// issuer is who gave an answer.
type issuer struct{ api, provider, model, endpoint string }

var (
	claude  = issuer{"anthropic-messages", "anthropic", "claude-demo", ""}
	gpt     = issuer{"openai-responses", "openai", "gpt-demo", ""}
	chat    = issuer{"openai-completions", "groq", "chat-demo", ""}
	gemini  = issuer{"google-generative-ai", "google", "gemini-3-demo", ""}
	mistral = issuer{"mistral-conversations", "mistral", "mistral-demo", ""}
	bedrock = issuer{"bedrock-converse-stream", "amazon-bedrock", "claude-demo", "eu"}
)

func (i issuer) target() *profile.Model {
	return &profile.Model{API: i.api, Provider: i.provider, ID: i.model, Endpoint: i.endpoint}
}

func (i issuer) sign(format, data string) *llmdv1.Signature {
	return &llmdv1.Signature{Data: []byte(data), Format: format, Api: i.api, Provider: i.provider, Model: i.model, Endpoint: i.endpoint}
}

// format is the issuer's format for signed thinking.
func (i issuer) format() string {
	switch i {
	case gpt:
		return "openai.reasoning_item"
	case chat:
		return "chat.reasoning_field"
	case gemini:
		return "google.thought"
	case mistral:
		return "mistral.thinking"
	case bedrock:
		return "bedrock.reasoning"
	default:
		return "anthropic.thinking"
	}
}

func conversation(m ...*llmdv1.Message) *llmdv1.Context { return &llmdv1.Context{Messages: m} }

func user(blocks ...*llmdv1.UserContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: blocks}}}
}

func says(text string) *llmdv1.Message { return user(uText(text)) }

func uText(s string) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func uImage(i *llmdv1.ImageContent) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: i}}
}

func png(data string) *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte(data)}, MimeType: "image/png"}
}

func link(uri string) *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: uri}}
}

// answer is an assistant's message; from edits it further.
func answer(by issuer, blocks ...*llmdv1.AssistantContent) *llmdv1.Message {
	return ended(by, stop, blocks...)
}

func ended(by issuer, reason llmdv1.StopReason, blocks ...*llmdv1.AssistantContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{
		Api: by.api, Provider: by.provider, Model: by.model, StopReason: reason, Content: blocks,
	}}}
}

func text(s string) *llmdv1.AssistantContent { return signedText(s, nil) }

func signedText(s string, sig *llmdv1.Signature) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: s, Signature: sig}}}
}

// details is a signature of hosts that send typed items of reasoning.
func details(by issuer, list string) *llmdv1.Signature {
	return &llmdv1.Signature{Data: []byte(list), Format: "chat.reasoning_details", Api: by.api, Provider: by.provider, Model: by.model}
}

func thinking(s string, sig *llmdv1.Signature) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{Thinking: s, Signature: sig}}}
}

func redacted(sig *llmdv1.Signature) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{Redacted: true, Signature: sig}}}
}

func calls(id string) *llmdv1.AssistantContent {
	return toolCall(&llmdv1.ToolCall{Id: id, Name: "look", ArgumentsJson: "{}"})
}

func toolCall(c *llmdv1.ToolCall) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: c}}
}

func own(p *llmdv1.ProviderContent) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: p}}
}

func result(id string, blocks ...*llmdv1.ToolResultContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{
		ToolCallId: id, ToolName: "look", Content: blocks,
	}}}
}

func failure(id string, blocks ...*llmdv1.ToolResultContent) *llmdv1.Message {
	m := result(id, blocks...)
	m.GetToolResult().IsError = true
	return m
}

func returns(id, s string) *llmdv1.Message { return result(id, rText(s)) }

func rText(s string) *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func rImage(i *llmdv1.ImageContent) *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: i}}
}

// change is a change of a block; whole is one of a message.
func change(at, block int32, action llmdv1.HandoffAction, rule string) *llmdv1.HandoffChange {
	return &llmdv1.HandoffChange{MessageIndex: at, ContentIndex: &block, Action: action, Rule: rule}
}

func whole(at int32, action llmdv1.HandoffAction, rule string) *llmdv1.HandoffChange {
	return &llmdv1.HandoffChange{MessageIndex: at, Action: action, Rule: rule}
}

// limits is what the APIs of the issuers ask for.
func limits(to issuer) adapters.Constraints {
	word64 := adapters.IDRule{MaxLen: 64, WordChars: true}
	c := adapters.Constraints{Images: true, ErrorResultImages: true, ToolErrorFlag: true, SignatureFormats: []string{to.format()}}
	switch to {
	case claude:
		c.ToolCallIDs = word64
		c.ErrorResultImages, c.MergeTurns, c.UserFirst, c.Prefill, c.ProviderContent = false, true, true, true, true
		c.AnswerAfterThinking, c.WholeSurrogates = true, true
		c.Pairs = []adapters.Pair{{Call: "server_tool_use", Result: "*_tool_result", CallID: "id", ResultID: "tool_use_id"}}
		c.ImageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
		c.SignatureFormats = append(c.SignatureFormats, "anthropic.redacted_thinking")
	case gpt:
		c.ToolCallIDs = adapters.IDRule{MaxLen: 64}
		c.ToolErrorFlag, c.ProviderContent = false, true
		c.SignatureFormats = append(c.SignatureFormats, "openai.message", "openai.item_id")
	case chat:
		c.ToolErrorFlag, c.UnsignedThinking, c.Prefill = false, true, true
	case gemini:
		c.ToolCallIDs = word64
		c.MergeTurns, c.UserFirst, c.UnsignedThinking = true, true, true
		c.ProviderContent, c.Pairs = true, []adapters.Pair{{Call: "executableCode", Result: "codeExecutionResult", CallID: "id", ResultID: "id"}}
		c.Carries = func(s *llmdv1.Signature) bool { return string(s.GetData()) != "spoilt" }
		c.CallSignature = &llmdv1.Signature{Data: []byte("skip_thought_signature_validator"), Format: "google.thought"}
	case mistral:
		c.ToolCallIDs = adapters.IDRule{ExactLen: 9, Alphanumeric: true}
		c.ToolErrorFlag, c.Prefill = false, true
	case bedrock:
		c.Carries = func(s *llmdv1.Signature) bool { return string(s.GetData()) != "spoilt" }
		c.ToolCallIDs = word64
		c.ErrorResultImages, c.MergeTurns, c.UserFirst = false, true, true
	}
	return c
}

func apply(t *testing.T, in transform.Input) *transform.Result {
	t.Helper()
	r, err := transform.Apply(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sameContext(t *testing.T, want, got *llmdv1.Context) {
	t.Helper()
	if proto.Equal(want, got) {
		return // much quicker than a comparison that can show the difference
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("context (-want +got):\n%s", d)
	}
}

func sameChanges(t *testing.T, want, got []*llmdv1.HandoffChange) {
	t.Helper()
	opts := cmp.Options{protocmp.Transform(), protocmp.IgnoreFields(&llmdv1.HandoffChange{}, "detail")}
	if len(want)+len(got) == 0 {
		return
	}
	if d := cmp.Diff(want, got, opts); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	for _, c := range got {
		if c.GetDetail() == "" {
			t.Errorf("change %v has no detail", c)
		}
	}
}
