package providersim

import (
	"slices"
	"strings"
)

const (
	docResponses = "https://platform.openai.com/docs/api-reference/responses/create"
	docRequired  = "https://github.com/openai/openai-node/issues/1567"
	docStore     = "https://github.com/vercel/ai/issues/7543"
)

// responsesRules are those of the Responses API, at OpenAI and at Azure.
func responsesRules() []Rule {
	return []Rule{
		{ID: "responses.body.object", Doc: docResponses, check: isObject},
		{ID: "responses.body.fields", Doc: docResponses, check: knownFields("model input",
			"background context_management conversation include instructions max_output_tokens max_tool_calls metadata "+
				"parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning "+
				"safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user")},
		{ID: "responses.max_output_tokens.least", Doc: docResponses + "#responses-create-max_output_tokens", check: responsesLimit},
		{ID: "responses.prompt_cache_key.length", Doc: docResponses + "#responses-create-prompt_cache_key", check: responsesCacheKey},
		{ID: "responses.sampling.reasoning_model", Doc: docReasoning, check: responsesSampling},
		{ID: "responses.reasoning.supported", Doc: docReasoning, check: responsesReasoning},

		{ID: "responses.input.some", Doc: docResponses, check: responsesSome},
		{ID: "responses.item.type", Doc: docResponses, check: responsesTypes},
		{ID: "responses.item.id", Doc: docResponses, check: responsesIDs},
		{ID: "responses.item.ids_unique", Doc: docResponses, check: responsesUnique},
		{ID: "responses.message.content", Doc: docResponses, check: responsesContent},
		{ID: "responses.message.text", Doc: docResponses, check: responsesTexts},
		{ID: "responses.image.type", Doc: docOpenAIVision, check: responsesImages},
		{ID: "responses.image.supported", Doc: docOpenAIVision, check: responsesImagesSupported},

		{ID: "responses.function_call.call_id", Doc: docFunctions, check: responsesCallIDs},
		{ID: "responses.function_call.ids_unique", Doc: docFunctions, check: uniqueCallIDs},
		{ID: "responses.function_call.name_pattern", Doc: docFunctions, check: responsesCallNames},
		{ID: "responses.function_call.arguments", Doc: docFunctions, check: responsesArguments},
		{ID: "responses.function_call.has_output", Doc: docFunctions, check: responsesHasOutput},
		{ID: "responses.function_call_output.has_call", Doc: docFunctions, check: responsesHasCall},
		{ID: "responses.function_call_output.one_for_each", Doc: docFunctions, check: responsesOnce},
		{ID: "responses.function_call_output.shape", Doc: docFunctions, check: responsesOutputShape},

		{ID: "responses.reasoning.shape", Doc: docReasoning, check: responsesReasoningShape},
		{ID: "responses.reasoning.followed", Doc: docRequired, check: responsesFollowed},
		{ID: "responses.reasoning.encrypted", Doc: docStore, check: responsesEncrypted},
		{ID: "responses.reasoning.before_item", Doc: "https://github.com/openai/openai-agents-python/issues/1660", Signature: true, check: responsesBefore},
		{ID: "responses.reasoning.signature_valid", Doc: docReasoning, Signature: true, check: responsesSigned},

		{ID: "responses.tools.names", Doc: docFunctions, check: responsesToolNames},
		{ID: "responses.tools.schema", Doc: docFunctions, check: responsesToolSchema},
		{ID: "responses.tools.draft", Doc: docDraftOpenAI, check: responsesDraft},
		{ID: "responses.tools.strict_schema", Doc: docStrict, check: responsesStrict},
		{ID: "responses.tool_choice.valid", Doc: docResponses + "#responses-create-tool_choice", check: responsesChoice},
	}
}

// responsesView reads the items. An item is a message here; reasoning, calls and
// outputs are too, with their type as the only part's kind.
func responsesView(body *value) view {
	var v view
	for i, item := range body.get("input").list() {
		kind := item.get("type").str()
		if kind == "" && item.get("role") != nil {
			kind = "message"
		}
		m := message{at: i, path: at("input", i), role: item.get("role").str(), value: item}
		m.parts = []part{{msg: i, path: m.path, role: m.role, kind: kind, value: item}}
		switch kind {
		case "function_call", "custom_tool_call":
			args := item.get("arguments")
			if kind == "custom_tool_call" {
				args = item.get("input")
			}
			v.calls = append(v.calls, call{msg: i, path: m.path, id: item.get("call_id"), name: item.get("name"), args: args})
		case "function_call_output", "custom_tool_call_output":
			v.results = append(v.results, result{msg: i, path: m.path, id: item.get("call_id"), value: item})
		}
		v.messages = append(v.messages, m)
	}
	return v
}

func (m *message) kind() string { return m.parts[0].kind }

// said: the item is something that the model said.
func (m *message) said() bool {
	switch m.kind() {
	case "message":
		return m.role == "assistant"
	case "function_call_output", "custom_tool_call_output", "compaction":
		return false
	}
	return true
}

func responsesLimit(r *request, bad report) {
	if v := r.body.get("max_output_tokens"); v.set() && v.num() < 16 {
		bad("max_output_tokens", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %s instead.", v.raw)
	}
}

func responsesCacheKey(r *request, bad report) {
	if n := len([]rune(r.body.get("prompt_cache_key").str())); n > 64 {
		bad("prompt_cache_key", "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", n)
	}
}

func responsesSampling(r *request, bad report) {
	if !openAIReasons(r.model) || r.body.get("reasoning", "effort").str() == "none" {
		return
	}
	for _, name := range []string{"temperature", "top_p"} {
		if v := r.body.get(name); v.set() && v.num() != 1 {
			bad(name, "Unsupported parameter: '%s' is not supported with this model.", name)
		}
	}
}

// plainOpenAI: a model of OpenAI's that does not reason, as "gpt-4.1". Of others
// nobody knows by the name.
func plainOpenAI(model string) bool {
	return strings.HasPrefix(model, "gpt-4") || strings.HasPrefix(model, "gpt-3.5")
}

func responsesReasoning(r *request, bad report) {
	if !plainOpenAI(r.model) {
		return
	}
	if r.body.get("reasoning", "effort").set() {
		bad("reasoning.effort", "Unsupported parameter: 'reasoning.effort' is not supported with this model.")
	}
	for i, s := range r.body.get("include").list() {
		if s.str() == "reasoning.encrypted_content" {
			bad(at("include", i), "Encrypted content is not supported with this model.")
		}
	}
	for _, m := range r.messages {
		if m.kind() == "reasoning" {
			bad(m.path, "Reasoning input items can only be provided to a reasoning or computer use model. Remove reasoning items from your input and try again.")
		}
	}
}

func responsesSome(r *request, bad report) {
	input := r.body.get("input")
	if input.is(text) && input.str() == "" || input.is(array) && len(input.items) == 0 {
		bad("input", "One of \"input\" or \"previous_response_id\" or 'prompt' must be provided.")
	}
}

func responsesTypes(r *request, bad report) {
	for _, m := range r.messages {
		switch {
		case m.kind() == "":
			bad(m.path+".type", "Invalid value: ''.")
		case m.kind() == "message" && !slices.Contains([]string{"user", "assistant", "system", "developer"}, m.role):
			bad(m.path+".role", "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", m.role)
		}
	}
}

// idPrefix is what OpenAI's the id of an item begins with.
func idPrefix(kind string) string {
	switch kind {
	case "message":
		return "msg"
	case "function_call":
		return "fc"
	case "reasoning":
		return "rs"
	}
	return ""
}

func responsesIDs(r *request, bad report) {
	if d := dialectOf(r.model); d != openAI {
		return // hosts of other makers have ids of their own
	}
	for _, m := range r.messages {
		id := m.value.get("id").str()
		switch prefix := idPrefix(m.kind()); {
		case !m.value.get("id").set():
		case len(id) > 64:
			bad(m.path+".id", "Invalid '%s.id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", m.path, len(id))
		case !matches(id, 64, "_-"):
			bad(m.path+".id", "Invalid '%s.id': '%s'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.", m.path, id)
		case !strings.HasPrefix(id, prefix):
			bad(m.path+".id", "Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", m.path, id, prefix)
		}
	}
}

func responsesUnique(r *request, bad report) {
	seen := map[string]bool{}
	for _, m := range r.messages {
		id := m.value.get("id").str()
		if id != "" && seen[id] {
			bad(m.path, "Duplicate item found with id %s. Remove duplicate items from your input and try again.", id)
		}
		seen[id] = true
	}
}

func responsesContent(r *request, bad report) {
	for _, m := range r.messages {
		if m.kind() != "message" {
			continue
		}
		content := m.value.get("content")
		if !content.is(text) && !content.is(array) || content.is(array) && len(content.items) == 0 {
			bad(m.path+".content", "Missing required parameter: 'content'.")
		}
		allowed := []string{"input_text", "input_image", "input_file", "input_audio"}
		if m.role == "assistant" {
			allowed = []string{"output_text", "refusal"}
		}
		for i, p := range content.list() {
			if kind := p.get("type").str(); !slices.Contains(allowed, kind) {
				bad(at(m.path+".content", i), "Invalid value: '%s'. Supported values are: '%s'.", kind, strings.Join(allowed, "', '"))
			}
		}
	}
}

func responsesTexts(r *request, bad report) {
	for _, m := range r.messages {
		for i, p := range m.value.get("content").list() {
			if kind := p.get("type").str(); (kind == "input_text" || kind == "output_text") && !p.get("text").is(text) {
				bad(at(m.path+".content", i), "Missing required parameter: 'text'.")
			}
		}
	}
}

func (r *request) responsesImages(f func(path string, p *value)) {
	for _, m := range r.messages {
		for _, where := range []string{"content", "output"} {
			for i, p := range m.value.get(where).list() {
				if p.get("type").str() == "input_image" {
					f(at(m.path+"."+where, i), p)
				}
			}
		}
	}
}

func responsesImages(r *request, bad report) {
	r.responsesImages(func(path string, p *value) {
		if !p.get("file_id").set() {
			checkDataURL(p.get("image_url"), path, bad)
		}
	})
}

func responsesImagesSupported(r *request, bad report) {
	r.responsesImages(func(path string, _ *value) {
		if !takesImages(r.model) {
			bad(path, "Invalid content type. image_url is only supported by certain models.")
		}
	})
}
