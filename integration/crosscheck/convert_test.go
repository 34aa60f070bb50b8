package crosscheck

import (
	"cmp"
	"encoding/base64"
	"encoding/json"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/handoff"
)

// request is one conversation as send.mjs takes it.
type request struct {
	ID      string         `json:"id"`
	Model   map[string]any `json:"model"`
	Context map[string]any `json:"context"`
	Options map[string]any `json:"options"`
}

// theirRequest spells a conversation as the other library wants it: the same blocks,
// with the same opaque state in the places that it has for them.
func theirRequest(w *handoff.World, t *target, id string, g *llmdv1.Generation) request {
	context := map[string]any{}
	if s := g.GetContext().GetSystemPrompt(); s != "" {
		context["systemPrompt"] = s
	}
	var tools []any
	for _, tool := range g.GetContext().GetTools() {
		tools = append(tools, map[string]any{
			"name": tool.GetName(), "description": tool.GetDescription(), "parameters": json.RawMessage(tool.GetParametersJsonSchema()),
		})
	}
	if tools != nil {
		context["tools"] = tools
	}
	// An item's id is a part of its call's id there, and of the result's.
	joined := map[string]string{}
	for _, m := range g.GetContext().GetMessages() {
		for _, b := range m.GetAssistant().GetContent() {
			if s := b.GetToolCall().GetSignature(); s.GetFormat() == "openai.item_id" {
				joined[b.GetToolCall().GetId()] = b.GetToolCall().GetId() + "|" + string(s.GetData())
			}
		}
	}
	messages := []any{}
	for i, m := range g.GetContext().GetMessages() {
		messages = append(messages, theirMessage(m, 1700000000000+i, joined))
	}
	context["messages"] = messages
	options := map[string]any{"cacheRetention": "none", "maxTokens": g.GetConfig().GetMaxOutputTokens()}
	if g.GetCache().GetRetention() != llmdv1.CacheRetention_CACHE_RETENTION_NONE {
		delete(options, "cacheRetention")
	}
	if g.GetConfig().Temperature != nil {
		options["temperature"] = g.GetConfig().GetTemperature()
	}
	if g.GetReasoning().GetEffort() == llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH {
		options["reasoning"] = "high"
	}
	return request{ID: id, Model: t.theirs(w), Context: context, Options: options}
}

func theirMessage(m *llmdv1.Message, at int, joined map[string]string) any {
	switch m := m.GetMessage().(type) {
	case *llmdv1.Message_User:
		if c := m.User.GetContent(); len(c) == 1 && c[0].GetText() != nil {
			return map[string]any{"role": "user", "timestamp": at, "content": c[0].GetText().GetText()}
		}
		content := []any{}
		for _, b := range m.User.GetContent() {
			content = append(content, theirBlock(b.GetText(), b.GetImage()))
		}
		return map[string]any{"role": "user", "timestamp": at, "content": content}
	case *llmdv1.Message_ToolResult:
		content := []any{}
		for _, b := range m.ToolResult.GetContent() {
			content = append(content, theirBlock(b.GetText(), b.GetImage()))
		}
		id := cmp.Or(joined[m.ToolResult.GetToolCallId()], m.ToolResult.GetToolCallId())
		return map[string]any{
			"role": "toolResult", "timestamp": at, "toolCallId": id, "toolName": m.ToolResult.GetToolName(),
			"isError": m.ToolResult.GetIsError(), "content": content,
		}
	case *llmdv1.Message_Assistant:
		return theirAnswer(m.Assistant, at, joined)
	}
	return nil
}

func theirBlock(text *llmdv1.TextContent, image *llmdv1.ImageContent) any {
	if image != nil {
		return map[string]any{"type": "image", "mimeType": image.GetMimeType(), "data": base64.StdEncoding.EncodeToString(image.GetData())}
	}
	return map[string]any{"type": "text", "text": text.GetText()}
}

func theirAnswer(a *llmdv1.AssistantMessage, at int, joined map[string]string) any {
	stop := map[llmdv1.StopReason]string{
		llmdv1.StopReason_STOP_REASON_STOP: "stop", llmdv1.StopReason_STOP_REASON_TOOL_USE: "toolUse",
		llmdv1.StopReason_STOP_REASON_ABORTED: "aborted", llmdv1.StopReason_STOP_REASON_ERROR: "error",
	}[a.GetStopReason()]
	content := []any{}
	for _, b := range a.GetContent() {
		content = append(content, theirAnswerBlock(b, joined))
	}
	return map[string]any{
		"role": "assistant", "timestamp": at, "api": a.GetApi(), "provider": a.GetProvider(), "model": a.GetModel(), "stopReason": stop, "content": content,
		"usage": map[string]any{
			"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
			"cost": map[string]any{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
		},
	}
}

func theirAnswerBlock(b *llmdv1.AssistantContent, joined map[string]string) any {
	out := map[string]any{}
	put := func(key string, s *llmdv1.Signature) {
		if s != nil {
			out[key] = string(s.GetData())
		}
	}
	switch b := b.GetBlock().(type) {
	case *llmdv1.AssistantContent_Text:
		out["type"], out["text"] = "text", b.Text.GetText()
		if s := b.Text.GetSignature(); s.GetFormat() == "openai.message" {
			out["textSignature"] = `{"v":1,` + string(s.GetData()[1:])
		} else {
			put("textSignature", s)
		}
	case *llmdv1.AssistantContent_Thinking:
		out["type"], out["thinking"] = "thinking", b.Thinking.GetThinking()
		if b.Thinking.GetRedacted() {
			out["redacted"] = true
		}
		put("thinkingSignature", b.Thinking.GetSignature())
	case *llmdv1.AssistantContent_ToolCall:
		c := b.ToolCall
		out["type"], out["id"], out["name"], out["arguments"] = "toolCall", cmp.Or(joined[c.GetId()], c.GetId()), c.GetName(), json.RawMessage(c.GetArgumentsJson())
		if s := c.GetSignature(); s.GetFormat() != "openai.item_id" {
			put("thoughtSignature", s)
		}
	}
	return out
}
