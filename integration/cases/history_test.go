package cases

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

type conversation struct {
	SystemPrompt string `json:"system_prompt"`
	Messages     []turn
	Tools        []struct {
		Name, Description string
		Parameters        json.RawMessage
	}
}

type turn struct {
	Role                 string
	Content              []block
	ToolCallID           string
	ToolName             string
	IsError              bool
	API, Provider, Model string
	StopReason           string
	Usage                *struct{ Input, Output, CacheRead, CacheWrite int32 }
	Timestamp            int64
}

type block struct {
	Type                string
	Text, TextSignature string
	Data                []byte
	MimeType            string
	Thinking            string
	ThinkingSignature   string
	Redacted            bool
	ID, Name            string
	Arguments           json.RawMessage
	ThoughtSignature    string
}

// generation is the request of a request case.
func (c *testCase) generation(t *testing.T) *llmdv1.Generation {
	t.Helper()
	g := &llmdv1.Generation{
		Model:   providerOf(c.Target.Provider) + "/" + c.Target.Model,
		Context: &llmdv1.Context{SystemPrompt: c.Context.SystemPrompt, Messages: c.history(t)},
		Config:  &llmdv1.GenerationConfig{Temperature: c.Options.Temperature, MaxOutputTokens: c.Options.MaxTokens},
	}
	for _, x := range c.Context.Tools {
		g.Context.Tools = append(g.Context.Tools, &llmdv1.Tool{Name: x.Name, Description: x.Description, ParametersJsonSchema: compact(t, x.Parameters)})
	}
	effort := c.Options.ReasoningEffort
	if th := c.Options.Thinking; th != nil {
		g.Reasoning = &llmdv1.ReasoningConfig{BudgetTokens: th.BudgetTokens}
		effort += th.Effort
	}
	if effort != "" {
		if g.Reasoning == nil {
			g.Reasoning = &llmdv1.ReasoningConfig{}
		}
		g.Reasoning.Effort = llmdv1.ReasoningEffort(enum(t, llmdv1.ReasoningEffort_value, "REASONING_EFFORT_", effort))
	}
	if r := c.Options.CacheRetention; r != "" {
		g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention(enum(t, llmdv1.CacheRetention_value, "CACHE_RETENTION_", r))}
	}
	switch choice := c.Options.ToolChoice; choice {
	case "":
	case "any", "required":
		g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_REQUIRED}}
	case "auto", "none":
		g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode(enum(t, llmdv1.ToolMode_value, "TOOL_MODE_", choice))}}
	default:
		g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: choice}}
	}
	return g
}

func enum(t *testing.T, values map[string]int32, prefix, name string) int32 {
	t.Helper()
	n, ok := values[prefix+strings.ToUpper(name)]
	if !ok {
		t.Fatalf("no enum value %s%s", prefix, name)
	}
	return n
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	if len(raw) == 0 || string(raw) == "null" {
		return "{}"
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// history is the conversation's messages in the contract's terms.
func (c *testCase) history(t *testing.T) []*llmdv1.Message {
	t.Helper()
	var out []*llmdv1.Message
	ids := map[string]string{} // of the case, to llmd's
	for _, m := range c.Context.Messages {
		when := timestamppb.New(time.UnixMilli(m.Timestamp))
		switch m.Role {
		case "user":
			u := &llmdv1.UserMessage{CreateTime: when}
			for _, b := range m.Content {
				if b.Type == "image" {
					u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: b.image()}})
				} else {
					u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: b.Text}}})
				}
			}
			out = append(out, &llmdv1.Message{Message: &llmdv1.Message_User{User: u}})
		case "assistant":
			m.nameCalls(ids)
			out = append(out, &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: m.assistant(t, ids)}})
		case "toolResult":
			r := &llmdv1.ToolResultMessage{ToolCallId: m.ToolCallID, ToolName: m.ToolName, IsError: m.IsError, CreateTime: when}
			if id, ok := ids[m.ToolCallID]; ok {
				r.ToolCallId = id
			}
			for _, b := range m.Content {
				if b.Type == "image" {
					r.Content = append(r.Content, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: b.image()}})
				} else {
					r.Content = append(r.Content, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: b.Text}}})
				}
			}
			out = append(out, &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: r}})
		default:
			t.Fatalf("unknown role %q", m.Role)
		}
	}
	return out
}

// nameCalls notes llmd's ids for a turn's calls. The cases join a Responses call's
// id and its item's id with a bar; llmd's id is the first part, and the second is
// the call's signature, unless two calls would get one id.
func (m *turn) nameCalls(ids map[string]string) {
	count := map[string]int{}
	first := func(id string) string {
		if strings.HasSuffix(m.API, "openai-responses") {
			id, _, _ = strings.Cut(id, "|")
		}
		return id
	}
	for _, b := range m.Content {
		if b.Type == "toolCall" {
			count[first(b.ID)]++
		}
	}
	for _, b := range m.Content {
		ids[b.ID] = b.ID
		if count[first(b.ID)] == 1 {
			ids[b.ID] = first(b.ID)
		}
	}
}

func (m *turn) assistant(t *testing.T, ids map[string]string) *llmdv1.AssistantMessage {
	t.Helper()
	a := &llmdv1.AssistantMessage{
		Api: apiOf(m.API), Provider: providerOf(m.Provider), Model: m.Model, CreateTime: timestamppb.New(time.UnixMilli(m.Timestamp)),
	}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{
				Text: &llmdv1.TextContent{Text: b.Text, Signature: m.signature(b.TextSignature, b)},
			}})
		case "thinking":
			a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{
				Thinking: &llmdv1.ThinkingContent{Thinking: b.Thinking, Redacted: b.Redacted, Signature: m.signature(b.ThinkingSignature, b)},
			}})
		case "toolCall":
			sig := b.ThoughtSignature
			if _, item, ok := strings.Cut(b.ID, "|"); ok && sig == "" && ids[b.ID] != b.ID {
				sig = item
			}
			a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{
				ToolCall: &llmdv1.ToolCall{Id: ids[b.ID], Name: b.Name, ArgumentsJson: compact(t, b.Arguments), Signature: m.signature(sig, b)},
			}})
		default:
			t.Fatalf("unknown block %q", b.Type)
		}
	}
	if m.StopReason != "" {
		a.StopReason = llmdv1.StopReason(enum(t, llmdv1.StopReason_value, "STOP_REASON_", stopNames[m.StopReason]))
	}
	if u := m.Usage; u != nil {
		a.Usage = &llmdv1.Usage{
			InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite,
			TotalTokens: u.Input + u.Output + u.CacheRead + u.CacheWrite,
		}
	}
	switch m.StopReason {
	case "error":
		a.Error = &llmdv1.Error{Code: int32(codes.Unavailable), Reason: "PROVIDER_STREAM_TRUNCATED", Message: "made up"}
	case "aborted":
		a.Error = &llmdv1.Error{Code: int32(codes.Canceled), Reason: "ABORT_REQUESTED", Message: "made up"}
	}
	return a
}

func (b *block) image() *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: b.Data}, MimeType: b.MimeType}
}

func (m *turn) signature(data string, b block) *llmdv1.Signature {
	if data == "" {
		return nil
	}
	return &llmdv1.Signature{Data: []byte(data), Format: m.format(data, b), Api: apiOf(m.API), Provider: providerOf(m.Provider), Model: m.Model}
}

// format is the kind of a signature's data, which the cases leave to be seen.
func (m *turn) format(data string, b block) string {
	redacted := func(yes, no string) string {
		if b.Redacted {
			return yes
		}
		return no
	}
	switch m.API {
	case "anthropic-messages":
		return redacted("anthropic.redacted_thinking", "anthropic.thinking")
	case "bedrock-converse-stream":
		return redacted("bedrock.redacted", "bedrock.reasoning")
	case "google-generative-ai", "google-vertex":
		return "google.thought"
	case "mistral":
		return "mistral.thinking"
	case "openai-responses", "azure-openai-responses":
		return map[string]string{"text": "openai.message", "toolCall": "openai.item_id", "thinking": "openai.reasoning_item"}[b.Type]
	case "openai-completions":
		if strings.HasPrefix(data, "[") || strings.HasPrefix(data, "{") {
			return "chat.reasoning_details"
		}
		return "chat.reasoning_field"
	}
	return ""
}
