package providersim

import (
	"slices"
	"strings"
)

const (
	docMistral  = "https://docs.mistral.ai/api/endpoint/chat"
	docMistralF = "https://docs.mistral.ai/capabilities/function_calling/"
	docMistralV = "https://docs.mistral.ai/capabilities/vision/"
	docMistralO = "https://github.com/datapizza-labs/datapizza-ai/issues/98"
)

// mistralRules are those of Mistral's chat completions.
func mistralRules() []Rule {
	return []Rule{
		{ID: "mistral.body.object", Doc: docMistral, check: isObject},
		{ID: "mistral.body.fields", Doc: docMistral, check: knownFields("model messages", "frequency_penalty guardrails max_tokens metadata n "+
			"parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_mode random_seed reasoning_effort response_format safe_prompt "+
			"stop stream temperature tool_choice tools top_k top_p")},
		{ID: "mistral.message.fields", Doc: docMistral, check: mistralMessageFields},
		{ID: "mistral.sampling.range", Doc: docMistral, check: mistralSampling},

		{ID: "mistral.messages.some", Doc: docMistral, check: someMessages},
		{ID: "mistral.messages.role", Doc: docMistral, check: mistralRoles},
		{ID: "mistral.messages.order", Doc: docMistralO, check: mistralOrder},
		{ID: "mistral.messages.last_role", Doc: "https://github.com/0xPlaygrounds/rig/pull/1130", check: mistralLast},
		{ID: "mistral.messages.content_not_empty", Doc: docMistral, check: mistralContent},
		{ID: "mistral.content.kind", Doc: docMistral, check: mistralKinds},
		{ID: "mistral.image.type", Doc: docMistralV, check: mistralImages},

		{ID: "mistral.tool_calls.id_pattern", Doc: "https://github.com/langchain-ai/langchain/pull/24668", check: mistralIDs},
		{ID: "mistral.tool_calls.ids_unique", Doc: docMistralF, check: uniqueCallIDs},
		{ID: "mistral.tool_calls.name_pattern", Doc: docMistralF, check: chatCallNames},
		{ID: "mistral.tool_calls.arguments", Doc: docMistral, check: mistralArguments},
		{ID: "mistral.tool_calls.answered", Doc: "https://github.com/mistralai/client-ts/issues/106", check: mistralAnswered},
		{ID: "mistral.tool.follows_call", Doc: docMistralF, check: chatFollows},
		{ID: "mistral.tool.one_for_each", Doc: docMistralF, check: chatOnce},
		{ID: "mistral.tools.names", Doc: docMistralF, check: chatToolNames},
		{ID: "mistral.tools.schema", Doc: docMistralF, check: chatToolSchema},
		{ID: "mistral.tool_choice.valid", Doc: docMistral, check: mistralChoice},
		{ID: "mistral.thinking.shape", Doc: "https://docs.mistral.ai/capabilities/reasoning/", check: mistralThinking},
	}
}

func mistralMessageFields(r *request, bad report) {
	for _, m := range r.messages {
		known := "role content"
		switch m.role {
		case "assistant":
			known += " tool_calls prefix"
		case "tool":
			known += " tool_call_id name"
		}
		for _, f := range m.value.members {
			if !slices.Contains(strings.Fields(known), f.name) {
				bad(m.path+"."+f.name, "Extra inputs are not permitted")
			}
		}
	}
}

func mistralSampling(r *request, bad report) {
	for name, most := range map[string]float64{"temperature": 1.5, "top_p": 1} {
		if v := r.body.get(name); v.set() && (!v.is(number) || v.num() < 0 || v.num() > most) {
			bad(name, "Input should be less than or equal to %v", most)
		}
	}
	if v := r.body.get("max_tokens"); v.set() && v.num() < 0 {
		bad("max_tokens", "Input should be greater than or equal to 0")
	}
}

func mistralRoles(r *request, bad report) {
	for _, m := range r.messages {
		if !slices.Contains([]string{"system", "user", "assistant", "tool"}, m.role) {
			bad(m.path, "Input tag '%s' found using 'role' does not match any of the expected tags", m.role)
		}
	}
}

// mistralOrder: what may not follow what.
func mistralOrder(r *request, bad report) {
	for i := 1; i < len(r.messages); i++ {
		before, now := r.messages[i-1].role, r.messages[i].role
		if now == "user" && before == "tool" || now == "tool" && (before == "user" || before == "system") || now == "system" && before == "tool" {
			bad(r.messages[i].path, "Unexpected role '%s' after role '%s'", now, before)
		}
	}
}

func mistralLast(r *request, bad report) {
	if r.lastRole() == "assistant" && !r.messages[len(r.messages)-1].value.get("prefix").truth() {
		bad("messages", "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")
	}
	for _, m := range r.messages[:max(0, len(r.messages)-1)] {
		if m.value.get("prefix").truth() {
			bad(m.path, "Assistant message with prefix True must be the last one")
		}
	}
}

func mistralContent(r *request, bad report) {
	for _, m := range r.messages {
		content := m.value.get("content")
		empty := !content.set() || content.is(text) && content.str() == "" || content.is(array) && len(m.parts) == 0
		if m.role == "assistant" && empty && len(m.value.get("tool_calls").list()) == 0 {
			bad(m.path, "Assistant message must have either content or tool_calls, but not none.")
		}
		if m.role == "user" && empty {
			bad(m.path, "the message has no content")
		}
	}
}

func mistralKinds(r *request, bad report) {
	r.eachPart(func(p part) {
		if !slices.Contains([]string{"text", "image_url", "document_url", "reference", "file", "thinking", "input_audio"}, p.kind) {
			bad(p.path, "Input tag '%s' found using 'type' does not match any of the expected tags", p.kind)
		}
		if p.kind == "image_url" && p.role == "assistant" || p.kind == "thinking" && p.role != "assistant" {
			bad(p.path, "'%s' is not allowed for role '%s'", p.kind, p.role)
		}
	})
}

func mistralImages(r *request, bad report) {
	r.eachPart(func(p part) {
		if p.kind != "image_url" {
			return
		}
		url := p.value.get("image_url")
		if url.is(object) {
			url = url.get("url")
		}
		checkDataURL(url, p.path, bad)
		if !takesImages(r.model) {
			bad(p.path, "Image input is not supported by this model")
		}
	})
}

func mistralIDs(r *request, bad report) {
	for _, c := range r.calls {
		if id := c.id.str(); len(id) != 9 || !matches(id, 9, "") {
			bad(c.path, "Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", id)
		}
	}
}

// mistralArguments: a text or an object.
func mistralArguments(r *request, bad report) {
	for _, c := range r.calls {
		if !c.args.is(text) && !c.args.is(object) {
			bad(c.path, "the arguments are neither a text nor an object")
		}
	}
	chatArguments(r, bad)
}

func mistralAnswered(r *request, bad report) {
	chatAnswered(r, func(path, _ string, _ ...any) { bad(path, "Not the same number of function calls and responses") })
}

func mistralChoice(r *request, bad report) {
	choice := r.body.get("tool_choice")
	tools := r.body.get("tools").list()
	name := choice.get("function", "name").str()
	switch {
	case !choice.set():
	case choice.is(text) && !slices.Contains([]string{"none", "auto", "required", "any"}, choice.str()):
		bad("tool_choice", "Input should be 'auto', 'none', 'any' or 'required'")
	case name != "" && !slices.ContainsFunc(tools, func(t *value) bool { return functionName(t).str() == name }):
		bad("tool_choice", "Tool '%s' not found in provided tools", name)
	}
}

func mistralThinking(r *request, bad report) {
	r.eachPart(func(p part) {
		if p.kind != "thinking" {
			return
		}
		chunks := p.value.get("thinking")
		if !chunks.is(array) || len(chunks.items) == 0 {
			bad(p.path, "a thinking chunk holds a list of chunks")
		}
		for i, c := range chunks.list() {
			if c.get("type").str() != "text" && c.get("type").str() != "reference" && c.get("type").str() != "tool_reference" {
				bad(at(p.path+".thinking", i), "Input tag '%s' found using 'type' does not match any of the expected tags", c.get("type").str())
			}
		}
	})
}
