package turns

import (
	"fmt"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// readGoogle reads a body of Gemini's API, which takes names in both of Google's
// spellings. https://ai.google.dev/api/generate-content
func readGoogle(x *reading, body *node) {
	if s := body.take("systemInstruction"); s != nil {
		if len(s.get("parts").items) != 1 {
			x.fault("systemInstruction: %s", s.raw)
		}
		x.g.Context.SystemPrompt = s.get("parts").items[0].get("text").text
	}
	googleConfig(x, body)
	googleTools(x, body)
	var calls []*llmdv1.ToolCall // of the last answer
	for i, c := range body.take("contents").items {
		role := c.take("role")
		parts := c.take("parts").items
		x.whole(c, "content")
		if role != nil && role.text == "model" {
			calls = googleAnswer(x, i, parts)
			continue
		}
		var out []*llmdv1.UserContent
		for _, p := range parts {
			switch response := either(p, "functionResponse", "function_response"); {
			case response != nil:
				googleResponse(x, response, &calls)
			case p.get("text") != nil:
				out = append(out, userText(p.take("text").text))
			default:
				data := either(p, "inlineData", "inline_data")
				out = append(out, userImage(x.image(either(data, "mimeType", "mime_type").text, data.get("data").text)))
			}
			x.whole(p, "part")
		}
		if len(out) > 0 {
			x.user(out...)
		}
	}
}

// either takes a member by one of its two spellings.
func either(n *node, camel, snake string) *node {
	if v := n.take(camel); v != nil {
		return v
	}
	return n.take(snake)
}

// googleConfig reads what the contract has of it; the rest is left for the caller's
// own options.
func googleConfig(x *reading, body *node) {
	c := body.get("generationConfig")
	if c == nil {
		return
	}
	out := x.g.Config
	out.MaxOutputTokens = x.int32(c.take("maxOutputTokens"))
	out.Temperature = x.float(c.take("temperature"))
	out.TopP = x.float(c.take("topP"))
	out.TopK = x.int32(c.take("topK"))
	out.StopSequences = texts(c.take("stopSequences"))
	if schema := c.take("responseJsonSchema"); schema != nil {
		out.OutputJsonSchema = string(schema.raw)
		c.take("responseMimeType")
	}
	if t := c.get("thinkingConfig"); t != nil && string(t.raw) != "{}" && len(t.members) == 1 && t.get("includeThoughts") != nil {
		c.take("thinkingConfig")
		x.reasoning().IncludeSummary = string(t.get("includeThoughts").raw) == "true"
	}
}

func googleTools(x *reading, body *node) {
	for _, t := range body.take("tools").list() {
		for _, f := range either(t, "functionDeclarations", "function_declarations").list() {
			schema := either(f, "parametersJsonSchema", "parameters_json_schema")
			if p := f.take("parameters"); p != nil {
				schema = js(lowerTypes(string(p.raw)))
			}
			x.tool(f.take("name"), f.take("description"), schema, nil)
			if f.left() != "" {
				x.ownTools(body, "tools")
			}
		}
		if t.left() != "" {
			x.ownTools(body, "tools")
		}
	}
	c := body.take("toolConfig")
	if c == nil {
		return
	}
	f := c.get("functionCallingConfig")
	if names := f.get("allowedFunctionNames"); names != nil && len(names.items) == 1 {
		x.toolNamed(names.items[0].text)
		return
	}
	switch f.get("mode").text {
	case "AUTO":
		x.mode(llmdv1.ToolMode_TOOL_MODE_AUTO)
	case "ANY":
		x.mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED)
	case "NONE":
		x.mode(llmdv1.ToolMode_TOOL_MODE_NONE)
	}
}

// lowerTypes makes JSON Schema of Google's own kind of schema, whose types are
// spelled in capitals.
func lowerTypes(schema string) string {
	for _, kind := range []string{"OBJECT", "STRING", "INTEGER", "NUMBER", "BOOLEAN", "ARRAY", "NULL"} {
		for _, space := range []string{"", " "} {
			schema = strings.ReplaceAll(schema, `"type":`+space+`"`+kind+`"`, `"type":`+space+`"`+strings.ToLower(kind)+`"`)
		}
	}
	return schema
}

func googleAnswer(x *reading, at int, parts []*node) []*llmdv1.ToolCall {
	var out []*llmdv1.AssistantContent
	var calls []*llmdv1.ToolCall
	for k, p := range parts {
		var signature *llmdv1.Signature
		if s := either(p, "thoughtSignature", "thought_signature"); s != nil {
			signature = x.issued("google.thought", s.text)
		}
		thinks := p.take("thought")
		text, f := p.take("text"), either(p, "functionCall", "function_call")
		switch {
		case f != nil:
			// Older models number no calls.
			id := fmt.Sprintf("call_%d_%d", at, k)
			if given := f.take("id"); given != nil {
				id = given.text
			}
			c := call(id, f.take("name").text, string(f.take("args").raw), signature)
			x.whole(f, "functionCall")
			out, calls = append(out, c), append(calls, c.GetToolCall())
		case text != nil && thinks != nil && string(thinks.raw) == "true":
			out = append(out, thought(text.text, false, signature))
		case text != nil:
			out = append(out, said(text.text, signature))
		default:
			out = append(out, x.own(p.members[0].key, p.raw))
			continue
		}
		x.whole(p, "part")
	}
	x.assistant(out...)
	return calls
}

// googleResponse reads the result of the first call that has none yet, of that name.
func googleResponse(x *reading, f *node, calls *[]*llmdv1.ToolCall) {
	name, id := f.take("name").text, f.take("id")
	text, failed := googleResult(f.take("response"))
	x.whole(f, "functionResponse")
	for i, c := range *calls {
		if id != nil && c.GetId() == id.text || id == nil && c.GetName() == name {
			*calls = append((*calls)[:i:i], (*calls)[i+1:]...)
			x.result(c.GetId(), failed, resultText(text))
			return
		}
	}
	x.fault("a response of %s to no call", name)
}

// googleResult is the text of a response, in the wrappings that clients use: the API
// takes any object.
func googleResult(response *node) (text string, failed bool) {
	for _, key := range []string{"output", "result", "return_value", "content", "error"} {
		v := response.get(key)
		switch {
		case v == nil:
		case v.isString():
			return v.text, key == "error"
		case v.isArray():
			var parts []string
			for _, p := range v.items {
				if t := p.get("text"); t != nil {
					parts = append(parts, t.text)
				}
			}
			return strings.Join(parts, "\n"), false
		default:
			return string(v.raw), key == "error"
		}
	}
	return string(response.raw), false
}
