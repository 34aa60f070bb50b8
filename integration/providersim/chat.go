package providersim

import (
	"slices"
	"strings"
)

const (
	docChat         = "https://platform.openai.com/docs/api-reference/chat/create"
	docFunctions    = "https://platform.openai.com/docs/guides/function-calling"
	docStrict       = "https://platform.openai.com/docs/guides/structured-outputs"
	docOpenAIVision = "https://platform.openai.com/docs/guides/images-vision"
	docReasoning    = "https://platform.openai.com/docs/guides/reasoning"
	docDeepSeek     = "https://api-docs.deepseek.com/guides/thinking_mode"
	docOpenRouter   = "https://openrouter.ai/docs/use-cases/reasoning-tokens"
)

// dialect is a family of hosts of Chat Completions, told by the model's name.
type dialect uint8

const (
	compatible dialect = iota // a host that is like most
	openAI                    // OpenAI's own, which is the strictest
	openRouter                // names have a maker: "anthropic/claude-opus-4.6"
	deepSeek
)

func dialectOf(model string) dialect {
	switch {
	case strings.Contains(model, "gpt-oss"):
		return compatible
	case strings.Contains(model, "/"):
		return openRouter
	case strings.HasPrefix(model, "deepseek"):
		return deepSeek
	case strings.HasPrefix(model, "gpt-"), isOSeries(model):
		return openAI
	}
	return compatible
}

func isOSeries(model string) bool {
	return len(model) > 1 && model[0] == 'o' && model[1] >= '1' && model[1] <= '9'
}

// openAIReasons says whether a model of OpenAI's reasons, which changes what it takes.
func openAIReasons(model string) bool {
	_, name, found := strings.Cut(model, "/")
	if !found {
		name = model
	}
	return strings.HasPrefix(name, "gpt-5") && !strings.Contains(name, "chat") || isOSeries(name) || strings.HasPrefix(name, "codex")
}

// chatRules are those of Chat Completions.
func chatRules() []Rule {
	return []Rule{
		{ID: "chat.body.object", Doc: docChat, check: isObject},
		{ID: "chat.body.fields", Doc: docChat, check: chatFields},
		{ID: "chat.message.fields", Doc: docChat, check: chatMessageFields},
		{ID: "chat.max_tokens.field", Doc: docReasoning, check: chatMaxTokens},
		{ID: "chat.max_tokens.least", Doc: "https://platform.openai.com/docs/api-reference/responses/create#responses-create-max_output_tokens", check: chatMaxTokensLeast},
		{ID: "chat.sampling.range", Doc: docChat, check: chatSampling},
		{ID: "chat.sampling.reasoning_model", Doc: docReasoning, check: chatReasoningSampling},
		{ID: "chat.stop.limit", Doc: docChat, check: chatStop},
		{ID: "chat.stream_options.with_stream", Doc: docChat, check: chatStreamOptions},

		{ID: "chat.messages.some", Doc: docChat, check: someMessages},
		{ID: "chat.messages.role", Doc: docChat, check: chatRoles},
		{ID: "chat.messages.developer_role", Doc: docReasoning, check: chatDeveloper},
		{ID: "chat.messages.system_role", Doc: "https://ai.google.dev/gemma/docs/core/prompt-structure", check: chatSystem},
		{ID: "chat.content.not_null", Doc: docChat, check: chatContent},
		{ID: "chat.content.kind", Doc: docChat, check: chatKinds},
		{ID: "chat.content.text", Doc: docChat, check: chatTexts},
		{ID: "chat.image.type", Doc: docOpenAIVision, check: chatImages},
		{ID: "chat.image.supported", Doc: docOpenAIVision, check: chatImagesSupported},

		{ID: "chat.tool_calls.shape", Doc: docFunctions, check: chatCallShape},
		{ID: "chat.tool_calls.id_length", Doc: docChat, check: chatCallIDs},
		{ID: "chat.tool_calls.ids_unique", Doc: docFunctions, check: uniqueCallIDs},
		{ID: "chat.tool_calls.name_pattern", Doc: docChat, check: chatCallNames},
		{ID: "chat.tool_calls.arguments_json", Doc: "https://docs.vllm.ai/en/latest/features/tool_calling.html", check: chatArguments},
		{ID: "chat.tool_calls.answered", Doc: docFunctions, check: chatAnswered},
		{ID: "chat.tool.follows_call", Doc: docFunctions, check: chatFollows},
		{ID: "chat.tool.one_for_each", Doc: docFunctions, check: chatOnce},
		{ID: "chat.tools.not_empty", Doc: docChat, check: chatToolsEmpty},
		{ID: "chat.tools.names", Doc: docChat, check: chatToolNames},
		{ID: "chat.tools.schema", Doc: docFunctions, check: chatToolSchema},
		{ID: "chat.tools.draft", Doc: docDraftOpenAI, check: chatDraft},
		{ID: "chat.tools.strict_schema", Doc: docStrict, check: chatStrict},
		{ID: "chat.tool_choice.valid", Doc: docChat, check: chatChoice},
		{ID: "chat.parallel_tool_calls.with_tools", Doc: docChat, check: chatParallel},

		{ID: "chat.reasoning_content.in_tool_loop", Doc: docDeepSeek, check: chatReasoningContent},
		{ID: "chat.reasoning_details.shape", Doc: docOpenRouter, check: chatDetails},
		{ID: "chat.reasoning_details.signature_valid", Doc: docOpenRouter, Signature: true, check: chatDetailsSigned},
		{ID: "chat.cache_control.limit", Doc: docCaching, check: chatCacheLimit},
	}
}

// chatView reads the messages of Chat Completions, and of Mistral.
func chatView(body *value) view {
	var v view
	for i, m := range body.get("messages").list() {
		msg := message{at: i, path: at("messages", i), role: m.get("role").str(), value: m}
		content := m.get("content")
		msg.plain = content.is(text)
		for k, p := range content.list() {
			msg.parts = append(msg.parts, part{
				msg: i, at: k, path: at(msg.path+".content", k), role: msg.role, kind: p.get("type").str(), value: p,
			})
		}
		for k, c := range m.get("tool_calls").list() {
			v.calls = append(v.calls, call{
				msg: i, path: at(msg.path+".tool_calls", k), id: c.get("id"),
				name: c.get("function", "name"), args: c.get("function", "arguments"), first: k == 0,
			})
		}
		if msg.role == "tool" {
			v.results = append(v.results, result{msg: i, path: msg.path, id: m.get("tool_call_id"), value: m})
		}
		v.messages = append(v.messages, msg)
	}
	return v
}

func chatFields(r *request, bad report) {
	if dialectOf(r.model) != openAI {
		knownFields("model messages", "*")(r, func(path, format string, args ...any) {
			if r.body.get(path) == nil {
				bad(path, format, args...)
			}
		})
		return
	}
	knownFields("model messages", "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens "+
		"max_tokens metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_retention "+
		"reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature "+
		"tool_choice tools top_logprobs top_p user verbosity web_search_options")(r, bad)
}

func chatMessageFields(r *request, bad report) {
	if dialectOf(r.model) != openAI {
		return
	}
	for _, m := range r.messages {
		for _, f := range m.value.members {
			known := []string{"role", "content", "name", "refusal", "audio", "function_call", "tool_calls", "tool_call_id", "annotations"}
			if !slices.Contains(known, f.name) {
				bad(m.path+"."+f.name, "Unknown parameter: '%s.%s'.", m.path, f.name)
			}
		}
	}
}

func chatMaxTokens(r *request, bad report) {
	if dialectOf(r.model) == openAI && openAIReasons(r.model) && r.body.get("max_tokens") != nil {
		bad("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	if dialectOf(r.model) == deepSeek && r.body.get("max_completion_tokens") != nil {
		bad("max_completion_tokens", "unknown field: the limit is max_tokens")
	}
}

// chatMaxTokensLeast: OpenRouter forwards to OpenAI's Responses, which has a least
// limit.
func chatMaxTokensLeast(r *request, bad report) {
	least := 1.0
	if strings.HasPrefix(r.model, "openai/") && !strings.Contains(r.model, "gpt-oss") {
		least = 16
	}
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if v := r.body.get(name); v.set() && v.num() < least {
			bad(name, "Invalid '%s': integer below minimum value. Expected a value >= %v, but got %s instead.", name, least, v.raw)
		}
	}
}

func chatSampling(r *request, bad report) {
	for name, most := range map[string]float64{"temperature": 2, "top_p": 1} {
		if v := r.body.get(name); v.set() && (!v.is(number) || v.num() < 0 || v.num() > most) {
			bad(name, "Invalid '%s': decimal above maximum value.", name)
		}
	}
}

func chatReasoningSampling(r *request, bad report) {
	if dialectOf(r.model) != openAI {
		return
	}
	if !openAIReasons(r.model) {
		if r.body.get("reasoning_effort") != nil {
			bad("reasoning_effort", "Unrecognized request argument supplied: reasoning_effort")
		}
		return
	}
	if effort := r.body.get("reasoning_effort").str(); effort == "none" {
		return // beside which sampling is free
	}
	for _, name := range []string{"temperature", "top_p"} {
		if v := r.body.get(name); v.set() && v.num() != 1 {
			bad(name, "Unsupported value: '%s' does not support %s with this model. Only the default (1) value is supported.", name, v.raw)
		}
	}
}

func chatStop(r *request, bad report) {
	if len(r.body.get("stop").list()) > 4 {
		bad("stop", "Invalid 'stop': array too long. Expected an array with maximum length 4.")
	}
}

func chatStreamOptions(r *request, bad report) {
	if r.body.get("stream_options").set() && !r.body.get("stream").truth() {
		bad("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
}

func chatRoles(r *request, bad report) {
	for _, m := range r.messages {
		if !slices.Contains([]string{"developer", "system", "user", "assistant", "tool", "function"}, m.role) {
			bad(m.path+".role", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.role)
		}
	}
}

func chatDeveloper(r *request, bad report) {
	if d := dialectOf(r.model); d == openAI || d == openRouter {
		return
	}
	for _, m := range r.messages {
		if m.role == "developer" {
			bad(m.path+".role", "unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`")
		}
	}
}

func chatSystem(r *request, bad report) {
	for _, m := range r.messages {
		if strings.Contains(r.model, "gemma-3n") && (m.role == "system" || m.role == "developer") {
			bad(m.path, "Developer instruction is not enabled for models/%s", r.model)
		}
	}
}

func chatContent(r *request, bad report) {
	for _, m := range r.messages {
		content := m.value.get("content")
		empty := !content.set()
		spoken := len(m.value.get("tool_calls").list()) > 0 || m.value.get("function_call").set() || m.value.get("audio").set() || m.value.get("refusal").set()
		switch {
		case empty && m.role == "assistant" && spoken:
		case empty:
			bad(m.path+".content", "Invalid value for 'content': expected a string, got null.")
		case content.is(array) && len(m.parts) == 0:
			bad(m.path+".content", "Invalid 'content': empty array. Expected an array with minimum length 1, but got an empty array instead.")
		case !content.is(array) && !content.is(text):
			bad(m.path+".content", "Invalid type for 'content'.")
		}
		if calls := m.value.get("tool_calls"); calls.is(array) && len(calls.items) == 0 {
			bad(m.path+".tool_calls", "Invalid 'tool_calls': empty array.")
		}
	}
}

func chatKinds(r *request, bad report) {
	r.eachPart(func(p part) {
		allowed := []string{"text"}
		switch p.role {
		case "user":
			allowed = []string{"text", "image_url", "input_audio", "file", "video_url"}
		case "assistant":
			allowed = []string{"text", "refusal", "thinking"}
		}
		if !slices.Contains(allowed, p.kind) {
			bad(p.path+".type", "Invalid value: '%s'. Supported values are: '%s'.", p.kind, strings.Join(allowed, "', '"))
		}
	})
}

func chatTexts(r *request, bad report) {
	r.eachPart(func(p part) {
		if p.kind == "text" && !p.value.get("text").is(text) {
			bad(p.path+".text", "Missing required parameter: 'text'.")
		}
		if p.kind == "text" && p.value.get("text").str() == "" {
			bad(p.path+".text", "text content blocks must be non-empty")
		}
	})
}

func chatImages(r *request, bad report) {
	r.eachPart(func(p part) {
		if p.kind == "image_url" {
			checkDataURL(p.value.get("image_url", "url"), p.path, bad)
		}
	})
}

// checkDataURL looks at an image of OpenAI's. A plain URL is left alone: whether it
// can be fetched is no matter of structure.
func checkDataURL(url *value, path string, bad report) {
	if url.str() == "" {
		bad(path, "Missing required parameter: 'image_url'.")
	}
	mediaType, payload, ok := dataURL(url.str())
	if !ok {
		if strings.HasPrefix(url.str(), "data:") {
			bad(path, "Invalid base64 image_url.")
		}
		return
	}
	is, ok := imageBytes(payload)
	switch {
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mediaType):
		bad(path, "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].")
	case !ok || is != mediaType:
		bad(path, "Invalid image data: %s is said, %s is there", mediaType, is)
	}
}

func chatImagesSupported(r *request, bad report) {
	r.eachPart(func(p part) {
		if p.kind == "image_url" && !takesImages(r.model) {
			bad(p.path, "Invalid content type. image_url is only supported by certain models.")
		}
	})
}
