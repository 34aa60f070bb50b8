package turns

import (
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// readAnthropic reads a body of the Messages API.
// https://docs.anthropic.com/en/api/messages
func readAnthropic(x *reading, body *node) {
	body.take("model")
	body.take("stream")
	body.take("anthropic_version") // Vertex
	c := x.g.Config
	c.MaxOutputTokens = x.int32(body.take("max_tokens"))
	c.Temperature = x.float(body.take("temperature"))
	c.TopP = x.float(body.take("top_p"))
	c.TopK = x.int32(body.take("top_k"))
	c.StopSequences = texts(body.take("stop_sequences"))
	switch system := body.take("system"); {
	case system.isString():
		x.g.Context.SystemPrompt = system.text
	case system.isArray() && len(system.items) == 1:
		x.g.Context.SystemPrompt = system.items[0].get("text").text
	case system != nil:
		x.fault("system: %s", system.raw)
	}
	anthropicThinking(x, body)
	anthropicTools(x, body)
	for _, m := range body.take("messages").items {
		role, content := m.take("role").text, m.take("content")
		x.whole(m, "message")
		if content.isString() {
			content = array(object(member{"type", str("text")}, member{"text", content}))
		}
		if role == "assistant" {
			anthropicAnswer(x, content.items)
		} else {
			anthropicUser(x, content.items)
		}
	}
}

func anthropicThinking(x *reading, body *node) {
	if t := body.get("thinking"); t.get("type") != nil && t.get("type").text == "enabled" {
		body.take("thinking")
		x.reasoning().BudgetTokens = x.int32(t.get("budget_tokens"))
	}
	if o := body.get("output_config"); o != nil {
		if f := o.get("format"); f.get("schema") != nil && len(o.members) == 1 {
			body.take("output_config")
			x.g.Config.OutputJsonSchema = string(f.get("schema").raw)
		}
	}
}

func anthropicTools(x *reading, body *node) {
	if tools := body.take("tools"); tools != nil {
		for _, t := range tools.items {
			if kind := t.get("type"); kind != nil && kind.text != "custom" {
				x.ownTools(body, "tools") // one of the API's own
				continue
			}
			t.take("type")
			x.tool(t.take("name"), t.take("description"), t.take("input_schema"), t.take("strict"))
			t.take("cache_control")
			if t.left() != "" {
				x.ownTools(body, "tools")
			}
		}
	}
	choice := body.take("tool_choice")
	if choice == nil {
		return
	}
	switch choice.take("type").text {
	case "auto":
		x.mode(llmdv1.ToolMode_TOOL_MODE_AUTO)
	case "any":
		x.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED)
	case "none":
		x.mode(llmdv1.ToolMode_TOOL_MODE_NONE)
	case "tool":
		x.toolNamed(choice.take("name").text)
	}
	if single := choice.take("disable_parallel_tool_use"); single != nil {
		parallel := string(single.raw) != "true"
		x.g.Config.ParallelToolCalls = &parallel
	}
	x.whole(choice, "tool_choice")
}

// anthropicUser reads a user turn: the results of tools in it are messages of their
// own.
func anthropicUser(x *reading, blocks []*node) {
	var out []*llmdv1.UserContent
	for _, b := range blocks {
		b.take("cache_control")
		switch b.take("type").text {
		case "text":
			out = append(out, userText(b.take("text").text))
		case "image":
			out = append(out, userImage(anthropicImage(x, b)))
		case "tool_result":
			anthropicResult(x, b)
		}
		x.whole(b, "user block")
	}
	if len(out) > 0 {
		x.user(out...)
	}
}

func anthropicImage(x *reading, b *node) *llmdv1.ImageContent {
	s := b.take("source")
	return x.image(s.get("media_type").text, s.get("data").text)
}

func anthropicResult(x *reading, b *node) {
	failed := b.take("is_error")
	content := b.take("content")
	var out []*llmdv1.ToolResultContent
	if content.isString() {
		out = append(out, resultText(content.text))
	} else if content != nil {
		for _, part := range content.items {
			switch part.take("type").text {
			case "text":
				out = append(out, resultText(part.take("text").text))
			case "image":
				out = append(out, resultImage(anthropicImage(x, part)))
			}
			x.whole(part, "tool result")
		}
	}
	x.result(b.take("tool_use_id").text, failed != nil && string(failed.raw) == "true", out...)
}

func anthropicAnswer(x *reading, blocks []*node) {
	var out []*llmdv1.AssistantContent
	for _, b := range blocks {
		kind := b.take("type").text
		switch kind {
		case "text":
			out = append(out, said(b.take("text").text, nil))
			if c := b.take("citations"); !c.none() && len(c.items) > 0 {
				raw := object(member{"type", str("text_citations")}, member{"citations", c})
				out = append(out, x.own("text_citations", raw.raw))
			}
		case "thinking":
			out = append(out, thought(b.take("thinking").text, false, x.issued("anthropic.thinking", b.take("signature").text)))
		case "redacted_thinking":
			out = append(out, thought("", true, x.issued("anthropic.redacted_thinking", b.take("data").text)))
		case "tool_use":
			out = append(out, call(b.take("id").text, b.take("name").text, string(b.take("input").raw), nil))
		default:
			out = append(out, x.own(kind, b.raw))
			continue
		}
		x.whole(b, "answer block")
	}
	x.assistant(out...)
}
