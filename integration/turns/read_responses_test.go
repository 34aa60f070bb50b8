package turns

import (
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// readResponses reads a body of the Responses API.
// https://platform.openai.com/docs/api-reference/responses/create
func readResponses(x *reading, body *node) {
	body.take("model")
	body.take("stream")
	body.take("store")
	body.take("include")
	body.take("previous_response_id") // llmd keeps nothing at the provider; see before
	x.g.Config.MaxOutputTokens = x.int32(body.take("max_output_tokens"))
	x.g.Config.Temperature = x.float(body.take("temperature"))
	x.g.Config.TopP = x.float(body.take("top_p"))
	if p := body.take("parallel_tool_calls"); !p.none() {
		parallel := string(p.raw) == "true"
		x.g.Config.ParallelToolCalls = &parallel
	}
	if r := body.get("reasoning"); r != nil {
		effort := r.get("effort")
		if effort.none() || x.effort(effort.text) {
			body.take("reasoning")
			x.reasoning().IncludeSummary = !r.get("summary").none()
		}
	}
	responsesTools(x, body)
	if s := body.take("instructions"); !s.none() {
		x.g.Context.SystemPrompt = s.text
	}
	input := body.take("input")
	if input.isString() {
		x.user(userText(input.text))
		return
	}
	responsesItems(x, input.items)
}

func responsesTools(x *reading, body *node) {
	if tools := body.take("tools"); tools != nil {
		for _, t := range tools.items {
			if t.take("type").text != "function" {
				x.ownTools(body, "tools")
				continue
			}
			x.tool(t.take("name"), t.take("description"), t.take("parameters"), t.take("strict"))
			if t.left() != "" {
				x.ownTools(body, "tools")
			}
		}
	}
	switch choice := body.get("tool_choice"); {
	case choice.none():
	case choice.isObject() && choice.get("type").text == "function":
		x.toolNamed(choice.get("name").text)
	case choice.isObject():
		return // one of the provider's own
	case choice.text == "auto":
		x.mode(llmdv1.ToolMode_TOOL_MODE_AUTO)
	case choice.text == "none":
		x.mode(llmdv1.ToolMode_TOOL_MODE_NONE)
	case choice.text == "required":
		x.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED)
	}
	body.take("tool_choice")
}

// responsesItems reads the items. Those of the assistant that stand together are one
// answer.
func responsesItems(x *reading, items []*node) {
	var answer []*llmdv1.AssistantContent
	flush := func() {
		if len(answer) > 0 {
			x.assistant(answer...)
			answer = nil
		}
	}
	for _, it := range items {
		kind, role := it.get("type"), it.get("role")
		switch {
		case role != nil && role.text != "assistant":
			flush()
			responsesMessage(x, it, role.text)
		case kind != nil && kind.text == "function_call_output":
			flush()
			responsesOutput(x, it)
		default:
			answer = append(answer, responsesAnswer(x, it)...)
		}
	}
	flush()
}

func responsesMessage(x *reading, it *node, role string) {
	content := it.take("content")
	it.take("role")
	it.take("type")
	x.whole(it, "input message")
	if content.isString() {
		content = array(object(member{"type", str("input_text")}, member{"text", content}))
	}
	var out []*llmdv1.UserContent
	for _, p := range content.items {
		switch kind := p.take("type").text; kind {
		case "input_text":
			out = append(out, userText(p.take("text").text))
		case "input_image":
			out = append(out, userImage(x.imageURL(p.take("image_url").text)))
			p.take("detail")
		default:
			x.fault("a user's %s", kind)
		}
		x.whole(p, "input part")
	}
	if role == "user" {
		x.user(out...)
		return
	}
	if len(x.g.Context.Messages) > 0 || x.g.Context.SystemPrompt != "" || len(out) != 1 {
		x.fault("a second system prompt")
	}
	x.g.Context.SystemPrompt = out[0].GetText().GetText()
}

func responsesOutput(x *reading, it *node) {
	var out []*llmdv1.ToolResultContent
	output := it.take("output")
	if output.isString() {
		out = append(out, resultText(output.text))
	} else {
		for _, p := range output.items {
			switch kind := p.get("type").text; kind {
			case "input_text":
				out = append(out, resultText(p.get("text").text))
			case "input_image":
				out = append(out, resultImage(x.imageURL(p.get("image_url").text)))
			default:
				x.fault("a tool's %s", kind)
			}
		}
	}
	it.take("type")
	x.result(it.take("call_id").text, false, out...)
	x.whole(it, "function_call_output")
}

// responsesAnswer reads an item of an answer, in a request or in a response.
func responsesAnswer(x *reading, it *node) []*llmdv1.AssistantContent {
	kind := "message"
	if k := it.take("type"); k != nil {
		kind = k.text
	}
	id := ""
	if n := it.take("id"); n.isString() {
		id = n.text
	}
	switch kind {
	case "reasoning":
		var texts []string
		for _, key := range []string{"summary", "content"} {
			for _, p := range it.get(key).list() {
				texts = append(texts, p.get("text").text)
			}
		}
		return []*llmdv1.AssistantContent{thought(strings.Join(texts, "\n\n"), false, x.issued("openai.reasoning_item", string(it.raw)))}
	case "function_call":
		c := call(it.take("call_id").text, it.take("name").text, it.take("arguments").text, nil)
		if id != "" {
			c.GetToolCall().Signature = x.issued("openai.item_id", id)
		}
		if space := it.take("namespace"); space != nil {
			c.GetToolCall().ToolNamespace = space.text
		}
		it.take("status")
		x.whole(it, "function_call")
		return []*llmdv1.AssistantContent{c}
	case "message":
		return responsesSaid(x, it, id)
	}
	return []*llmdv1.AssistantContent{x.own(kind, it.raw)}
}

func responsesSaid(x *reading, it *node, id string) []*llmdv1.AssistantContent {
	text, cited := "", false
	content := it.take("content")
	for _, p := range content.list() {
		text += p.get("text").text
		cited = cited || len(p.get("annotations").list()) > 0
	}
	if content.isString() {
		text = content.text
	}
	phase := ""
	if p := it.take("phase"); p != nil {
		phase = p.text
	}
	var signature *llmdv1.Signature
	if id != "" || phase != "" {
		signature = x.issued("openai.message", objectOf("id", id, "phase", phase))
	}
	it.take("role")
	it.take("status")
	x.whole(it, "message")
	out := []*llmdv1.AssistantContent{said(text, signature)}
	if cited {
		out = append(out, x.own("message_content", content.raw))
	}
	return out
}
