package providersim

import "strings"

// wish reads what a request says about its answer.
func (r *request) wish() wish {
	switch r.api {
	case Anthropic:
		return r.anthropicWish()
	case Responses, Azure:
		return r.responsesWish()
	case Gemini, Vertex:
		return r.googleWish()
	case Bedrock:
		return r.bedrockWish()
	default:
		return r.chatWish()
	}
}

func (r *request) anthropicWish() wish {
	choice := r.body.get("tool_choice")
	mode := choice.get("type").str()
	w := wish{
		none: mode == "none", must: mode == "any" || mode == "tool", only: choice.get("name").str(),
		single: choice.get("disable_parallel_tool_use").truth(),
		thinks: r.thinks(), redacts: true, own: true, pauses: true,
	}
	for _, t := range r.clientTools() {
		w.tools = append(w.tools, tool{t.get("name").str(), t.get("input_schema")})
	}
	return w
}

func (r *request) chatWish() wish {
	choice := r.body.get("tool_choice")
	w := wish{
		none: choice.str() == "none", must: choice.is(object) || choice.str() == "required" || choice.str() == "any",
		only: choice.get("function", "name").str(),
	}
	if p := r.body.get("parallel_tool_calls"); p.is(boolean) {
		w.single = !p.truth()
	}
	for _, t := range r.body.get("tools").list() {
		w.tools = append(w.tools, tool{functionName(t).str(), t.get("function", "parameters")})
	}
	if r.api == Mistral {
		effort := r.body.get("reasoning_effort").str()
		w.thinks = strings.Contains(r.model, "magistral") || effort != "" && effort != "none"
		return w
	}
	switch dialectOf(r.model) {
	case openAI: // which shows no thinking here
	case openRouter:
		reasoning := r.body.get("reasoning")
		w.thinks = reasoning.set() && reasoning.get("effort").str() != "none"
		w.redacts = w.thinks
	case deepSeek:
		w.thinks = r.body.get("thinking", "type").str() == "enabled"
	case compatible:
		w.thinks = strings.Contains(r.model, "gpt-oss") || r.body.get("enable_thinking").truth()
	}
	return w
}

func (r *request) responsesWish() wish {
	choice := r.body.get("tool_choice")
	w := wish{
		none: choice.str() == "none", must: choice.is(object) || choice.str() == "required", only: choice.get("name").str(),
		thinks: openAIReasons(r.model) && r.body.get("reasoning", "effort").str() != "none", own: true,
	}
	if p := r.body.get("parallel_tool_calls"); p.is(boolean) {
		w.single = !p.truth()
	}
	for _, t := range r.body.get("tools").list() {
		if t.get("type").str() == "function" {
			w.tools = append(w.tools, tool{t.get("name").str(), t.get("parameters")})
		}
	}
	return w
}

func (r *request) googleWish() wish {
	mode := strings.ToUpper(r.body.field("toolConfig").field("functionCallingConfig").get("mode").str())
	w := wish{
		none: mode == "NONE", must: mode == "ANY", own: true,
		thinks: r.thinkingConfig("includeThoughts").truth(),
	}
	if allowed := r.body.field("toolConfig").field("functionCallingConfig").field("allowedFunctionNames").list(); len(allowed) > 0 {
		w.only = allowed[0].str()
	}
	all, _ := r.declarations()
	for _, d := range all {
		schema := d.field("parametersJsonSchema")
		if schema == nil {
			schema = d.get("parameters")
		}
		w.tools = append(w.tools, tool{d.get("name").str(), schema})
	}
	return w
}

func (r *request) bedrockWish() wish {
	mode, inner := r.body.get("toolConfig", "toolChoice").one()
	w := wish{must: mode == "any" || mode == "tool", only: inner.get("name").str()}
	for _, t := range r.bedrockTools() {
		if name := specName(t).str(); name != "" {
			w.tools = append(w.tools, tool{name, t.get("toolSpec", "inputSchema", "json")})
		}
	}
	switch {
	case isClaude(r.model):
		kind := r.claudeThinking().get("type").str()
		w.thinks = kind == "enabled" || kind == "adaptive"
		w.redacts = true
	case strings.Contains(r.model, "nova"):
		w.thinks = r.body.get("additionalModelRequestFields", "reasoningConfig", "type").str() == "enabled"
	case strings.Contains(r.model, "gpt-oss"):
		w.thinks = true
	}
	return w
}
