package turns

import (
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// readBedrock reads a body of the Converse API.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
func readBedrock(x *reading, body *node) {
	if s := body.take("system"); len(s.list()) > 0 {
		if len(s.items) != 1 {
			x.fault("system: %s", s.raw)
		}
		x.g.Context.SystemPrompt = s.items[0].get("text").text
	}
	if c := body.take("inferenceConfig"); c != nil {
		x.g.Config.MaxOutputTokens = x.int32(c.take("maxTokens"))
		x.g.Config.Temperature = x.float(c.take("temperature"))
		x.g.Config.TopP = x.float(c.take("topP"))
		x.g.Config.StopSequences = texts(c.take("stopSequences"))
		x.whole(c, "inferenceConfig")
	}
	bedrockTools(x, body)
	for _, m := range body.take("messages").items {
		if m.get("role").text == "assistant" {
			bedrockAnswer(x, m.get("content").items)
			continue
		}
		var out []*llmdv1.UserContent
		for _, b := range m.get("content").items {
			switch {
			case b.get("text") != nil:
				out = append(out, userText(b.take("text").text))
			case b.get("image") != nil:
				out = append(out, userImage(bedrockImage(x, b.take("image"))))
			case b.get("toolResult") != nil:
				bedrockResult(x, b.take("toolResult"))
			case b.take("cachePoint") != nil:
			}
			x.whole(b, "user block")
		}
		if len(out) > 0 {
			x.user(out...)
		}
	}
}

func bedrockImage(x *reading, i *node) *llmdv1.ImageContent {
	return x.image("image/"+i.get("format").text, i.get("source").get("bytes").text)
}

func bedrockTools(x *reading, body *node) {
	c := body.take("toolConfig")
	if c == nil {
		return
	}
	for _, t := range c.get("tools").list() {
		s := t.get("toolSpec")
		if s == nil {
			x.ownTools(body, "toolConfig")
			continue
		}
		x.tool(s.get("name"), s.get("description"), s.get("inputSchema").get("json"), s.get("strict"))
	}
	switch choice := c.get("toolChoice"); {
	case choice.get("auto") != nil:
		x.mode(llmdv1.ToolMode_TOOL_MODE_AUTO)
	case choice.get("any") != nil:
		x.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED)
	case choice.get("tool") != nil:
		x.toolNamed(choice.get("tool").get("name").text)
	}
}

func bedrockResult(x *reading, r *node) {
	var out []*llmdv1.ToolResultContent
	for _, part := range r.take("content").items {
		switch {
		case part.get("text") != nil:
			out = append(out, resultText(part.take("text").text))
		case part.get("json") != nil:
			// The contract's results are texts: the text of the value says the same.
			out = append(out, resultText(string(part.take("json").raw)))
		case part.get("image") != nil:
			out = append(out, resultImage(bedrockImage(x, part.take("image"))))
		}
		x.whole(part, "tool result")
	}
	status := r.take("status")
	x.result(r.take("toolUseId").text, status != nil && status.text == "error", out...)
	x.whole(r, "toolResult")
}

func bedrockAnswer(x *reading, blocks []*node) {
	var out []*llmdv1.AssistantContent
	for _, b := range blocks {
		switch {
		case b.get("text") != nil:
			out = append(out, said(b.take("text").text, nil))
		case b.get("toolUse") != nil:
			u := b.take("toolUse")
			out = append(out, call(u.get("toolUseId").text, u.get("name").text, string(u.get("input").raw), nil))
		case b.get("reasoningContent") != nil:
			r := b.take("reasoningContent")
			if redacted := r.get("redactedContent"); redacted != nil {
				out = append(out, thought("", true, x.issued("bedrock.redacted", redacted.text)))
				continue
			}
			t := r.get("reasoningText")
			var signature *llmdv1.Signature
			if s := t.get("signature"); s != nil {
				signature = x.issued("bedrock.reasoning", s.text)
			}
			out = append(out, thought(t.get("text").text, false, signature))
		default:
			out = append(out, x.own(b.members[0].key, b.raw))
			continue
		}
		x.whole(b, "answer block")
	}
	x.assistant(out...)
}
