package turns

import (
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// readMistral reads a body of Mistral's chat completions, whose contents may be
// lists of chunks, thinking among them. https://docs.mistral.ai/api/#tag/chat
func readMistral(x *reading, body *node) {
	chatOptions(x, body)
	if seed := x.int32(body.take("random_seed")); seed != nil {
		wide := int64(*seed)
		x.g.Config.Seed = &wide
	}
	for i, m := range body.take("messages").items {
		switch role := m.take("role").text; {
		case role == "system" && i == 0:
			x.g.Context.SystemPrompt = chatText(x, m.take("content"))
		case role == "user":
			chatUser(x, m.take("content"))
		case role == "assistant":
			mistralAnswer(x, m)
		case role == "tool":
			x.result(m.take("tool_call_id").text, false, resultText(chatText(x, m.take("content"))))
			m.take("name")
		default:
			x.fault("messages[%d]: role %s", i, role)
		}
		x.whole(m, "message")
	}
}

func mistralAnswer(x *reading, m *node) {
	var out []*llmdv1.AssistantContent
	m.take("prefix")
	content := m.take("content")
	if content.isString() && content.text != "" {
		out = append(out, said(content.text, nil))
	}
	if content.isArray() {
		for _, chunk := range content.items {
			switch kind := chunk.get("type").text; kind {
			case "text":
				out = append(out, said(chunk.get("text").text, nil))
			case "thinking":
				text := ""
				for _, part := range chunk.get("thinking").items {
					text += part.get("text").text
				}
				out = append(out, thought(text, false, x.issued("mistral.thinking", string(chunk.raw))))
			default:
				out = append(out, x.own(kind, chunk.raw))
			}
		}
	}
	x.assistant(append(out, chatCalls(x, m)...)...)
}
