package turns

import (
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// readChat reads a body of the Chat Completions API and of those who speak it.
// https://platform.openai.com/docs/api-reference/chat/create
func readChat(x *reading, body *node) {
	chatOptions(x, body)
	for i, m := range body.take("messages").items {
		switch role := m.take("role").text; {
		case (role == "system" || role == "developer") && i == 0:
			x.g.Context.SystemPrompt = chatText(x, m.take("content"))
		case role == "user":
			chatUser(x, m.take("content"))
		case role == "assistant":
			chatAnswer(x, m)
		case role == "tool":
			x.result(m.take("tool_call_id").text, false, resultText(chatText(x, m.take("content"))))
			m.take("name")
		default:
			x.fault("messages[%d]: role %s", i, role)
		}
		x.whole(m, "message")
	}
}

// chatOptions reads what stands beside the messages; Mistral's names are the same.
func chatOptions(x *reading, body *node) {
	body.take("model")
	body.take("stream")
	body.take("stream_options")
	body.take("store")
	c := x.g.Config
	c.MaxOutputTokens = x.int32(body.take("max_tokens"))
	if n := body.take("max_completion_tokens"); n != nil {
		c.MaxOutputTokens = x.int32(n)
	}
	c.Temperature = x.float(body.take("temperature"))
	c.TopP = x.float(body.take("top_p"))
	if stop := body.take("stop"); stop.isString() {
		c.StopSequences = []string{stop.text}
	} else {
		c.StopSequences = texts(stop)
	}
	if e := body.get("reasoning_effort"); e.isString() && x.effort(e.text) {
		body.take("reasoning_effort")
	}
	// OpenRouter's notation.
	if r := body.get("reasoning"); r.get("effort").isString() && len(r.members) == 1 && x.effort(r.get("effort").text) {
		body.take("reasoning")
	}
	if p := body.take("parallel_tool_calls"); !p.none() {
		parallel := string(p.raw) == "true"
		c.ParallelToolCalls = &parallel
	}
	chatTools(x, body)
}

func chatTools(x *reading, body *node) {
	if tools := body.take("tools"); tools != nil {
		for _, t := range tools.items {
			f := t.take("function")
			t.take("type")
			if f != nil {
				x.tool(f.take("name"), f.take("description"), f.take("parameters"), f.take("strict"))
			}
			if f == nil || t.left() != "" || f.left() != "" {
				x.ownTools(body, "tools")
			}
		}
	}
	switch choice := body.take("tool_choice"); {
	case choice.none():
	case choice.isObject():
		x.toolNamed(choice.get("function").get("name").text)
	case choice.text == "auto":
		x.mode(llmdv1.ToolMode_TOOL_MODE_AUTO)
	case choice.text == "none":
		x.mode(llmdv1.ToolMode_TOOL_MODE_NONE)
	default: // "required", or "any"
		x.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED)
	}
}

// chatText is a content that can only be text.
func chatText(x *reading, content *node) string {
	if content == nil || !content.isArray() {
		if content.none() {
			return ""
		}
		return content.text
	}
	var parts []string
	for _, p := range content.items {
		if p.get("type").text != "text" {
			x.fault("a part that is not text: %.100s", p.raw)
			continue
		}
		parts = append(parts, p.get("text").text)
	}
	return strings.Join(parts, "\n")
}

func chatUser(x *reading, content *node) {
	if content.isString() {
		x.user(userText(content.text))
		return
	}
	var out []*llmdv1.UserContent
	for _, p := range content.items {
		switch kind := p.get("type").text; kind {
		case "text":
			out = append(out, userText(p.get("text").text))
		case "image_url":
			url := p.get("image_url")
			if url.isObject() {
				url = url.get("url")
			}
			out = append(out, userImage(x.imageURL(url.text)))
		default:
			x.fault("a user's %s", kind)
		}
	}
	x.user(out...)
}

// chatAnswer reads an answer: what was thought first, then the text, then the calls.
func chatAnswer(x *reading, m *node) {
	var out []*llmdv1.AssistantContent
	// Clients that do not know which name a host reads send the same text by two;
	// the host's own is the one it answered with.
	field, reasoning := "", ""
	for _, name := range []string{"reasoning_content", "reasoning_text", "reasoning"} {
		if f := m.take(name); f.isString() && f.text != "" {
			field, reasoning = name, f.text
		}
	}
	switch details := m.take("reasoning_details"); {
	case !details.none():
		if reasoning == "" {
			for _, d := range details.items {
				for _, key := range []string{"text", "summary"} {
					if text := d.get(key); text.isString() {
						reasoning += text.text
					}
				}
			}
		}
		out = append(out, thought(reasoning, reasoning == "", x.issued("chat.reasoning_details", string(details.raw))))
	case field != "":
		out = append(out, thought(reasoning, false, x.issued("chat.reasoning_field", field)))
	}
	if text := chatText(x, m.take("content")); text != "" {
		out = append(out, said(text, nil))
	}
	x.assistant(append(out, chatCalls(x, m)...)...)
}

func chatCalls(x *reading, m *node) []*llmdv1.AssistantContent {
	var out []*llmdv1.AssistantContent
	calls := m.take("tool_calls")
	if calls.none() {
		return nil
	}
	for _, c := range calls.items {
		f := c.take("function")
		c.take("type")
		out = append(out, call(c.take("id").text, f.take("name").text, f.take("arguments").text, nil))
		x.whole(f, "function")
		x.whole(c, "tool call")
	}
	return out
}
