package providersim

import (
	"slices"
	"strings"
)

func chatToolsEmpty(r *request, bad report) {
	if dialectOf(r.model) != openAI {
		return
	}
	if tools := r.body.get("tools"); tools.is(array) && len(tools.items) == 0 {
		bad("tools", "[] is too short - 'tools'")
	}
}

func functionName(t *value) *value { return t.get("function", "name") }

func chatToolNames(r *request, bad report) {
	toolNames(r.body.get("tools").list(), "tools", functionName, bad, "_-.", 64)
}

func chatToolSchema(r *request, bad report) {
	for i, t := range r.body.get("tools").list() {
		path := at("tools", i)
		if kind := t.get("type").str(); kind != "function" {
			if kind == "" {
				bad(path+".type", "Missing required parameter: 'type'.")
			}
			continue
		}
		if p := t.get("function", "parameters"); p != nil {
			schemaType(p, bad, path+".function.parameters")
			if dialectOf(r.model) == openAI {
				openAISchema(p, bad, path+".function.parameters")
			}
		}
	}
}

// chatStrict: others say "strict" and take any schema.
func chatStrict(r *request, bad report) {
	if dialectOf(r.model) != openAI {
		return
	}
	for i, t := range r.body.get("tools").list() {
		if f := t.get("function"); f.get("strict").truth() {
			strictSchema(f.get("parameters"), bad, at("tools", i)+".function.parameters")
		}
	}
	if f := r.body.get("response_format", "json_schema"); f.get("strict").truth() {
		strictSchema(f.get("schema"), bad, "response_format.json_schema.schema")
	}
}

func chatChoice(r *request, bad report) {
	choice := r.body.get("tool_choice")
	tools := r.body.get("tools").list()
	name := choice.get("function", "name").str()
	switch {
	case !choice.set():
	case len(tools) == 0:
		bad("tool_choice", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	case choice.is(text) && !slices.Contains([]string{"none", "auto", "required"}, choice.str()):
		bad("tool_choice", "Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", choice.str())
	case name != "" && !slices.ContainsFunc(tools, func(t *value) bool { return functionName(t).str() == name }):
		bad("tool_choice", "Tool choice '%s' not found in 'tools' parameter.", name)
	}
}

func chatParallel(r *request, bad report) {
	if dialectOf(r.model) == openAI && r.body.get("parallel_tool_calls").set() && len(r.body.get("tools").list()) == 0 {
		bad("parallel_tool_calls", "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.")
	}
}

// chatReasoningContent: a thinking DeepSeek model wants its reasoning back beside
// its calls, at least the field.
func chatReasoningContent(r *request, bad report) {
	thinks := r.body.get("thinking", "type").str() == "enabled" || strings.Contains(r.model, "reasoner")
	if dialectOf(r.model) != deepSeek || !thinks {
		return
	}
	for i, c := range r.calls {
		m := r.messages[c.msg]
		if firstCall(r.calls, c.msg) == i && !m.value.get("reasoning_content").is(text) {
			bad(m.path, "Missing `reasoning_content` field in the assistant message at message index %d.", c.msg)
		}
	}
}

func (r *request) eachDetail(f func(path string, d *value)) {
	for _, m := range r.messages {
		for i, d := range m.value.get("reasoning_details").list() {
			f(at(m.path+".reasoning_details", i), d)
		}
	}
}

func chatDetails(r *request, bad report) {
	r.eachDetail(func(path string, d *value) {
		switch kind := d.get("type").str(); {
		case kind == "reasoning.text" && d.get("text").set() && !d.get("text").is(text),
			kind == "reasoning.summary" && !d.get("summary").is(text),
			kind == "reasoning.encrypted" && !d.get("data").is(text),
			kind == "":
			bad(path, "Invalid discriminator value. Expected 'reasoning.summary' | 'reasoning.encrypted' | 'reasoning.text'")
		}
	})
}

func chatDetailsSigned(r *request, bad report) {
	r.eachDetail(func(path string, d *value) {
		switch d.get("type").str() {
		case "reasoning.text":
			if !r.signed(d.get("signature").str(), "thinking", d.get("text").str()) {
				bad(path, "Invalid `signature` in `thinking` block")
			}
		case "reasoning.encrypted":
			if !r.sealed(d.get("data").str()) {
				bad(path, "The encrypted content could not be verified.")
			}
		}
	})
}

func chatCacheLimit(r *request, bad report) {
	n := 0
	r.eachPart(func(p part) {
		if p.value.get("cache_control").set() {
			n++
		}
	})
	for _, t := range r.body.get("tools").list() {
		if t.get("cache_control").set() {
			n++
		}
	}
	if n > 4 {
		bad("", "A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
}
