package providersim

import (
	"slices"
	"strings"
)

func bedrockIDs(r *request, bad report) {
	letters := "_-"
	if strings.Contains(r.model, "kimi") {
		letters = "_-.:"
	}
	check := func(id *value, path string) {
		if !matches(id.str(), 64, letters) {
			bad(path, "Value '%s' at '%s.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+", id.str(), path)
		}
	}
	for _, c := range r.calls {
		check(c.id, c.path)
	}
	for _, res := range r.results {
		check(res.id, res.path)
	}
}

func bedrockNames(r *request, bad report) {
	for _, c := range r.calls {
		if !matches(c.name.str(), 64, "_-") {
			bad(c.path, "Value '%s' at '%s.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+", c.name.str(), c.path)
		}
	}
}

func bedrockHasResult(r *request, bad report) {
	for _, c := range r.calls {
		if !slices.ContainsFunc(r.results, func(res result) bool { return res.msg == c.msg+1 && res.id.str() == c.id.str() }) {
			bad(c.path, "Expected toolResult blocks at messages.%d.content for the following Ids: %s", c.msg+1, c.id.str())
		}
	}
}

func bedrockFollows(r *request, bad report) {
	for _, res := range r.results {
		if !slices.ContainsFunc(r.calls, func(c call) bool { return c.msg == res.msg-1 && res.id.str() == c.id.str() }) {
			bad(res.path, "The number of toolResult blocks at messages.%d.content exceeds the number of toolUse blocks of previous turn.", res.msg)
		}
	}
}

// bedrockToolsAlone: https://github.com/strands-agents/harness-sdk/issues/1223.
func bedrockToolsAlone(r *request, bad report) {
	if !slices.ContainsFunc([]string{"llama", "mistral.", "palmyra"}, func(maker string) bool { return strings.Contains(r.model, maker) }) {
		return
	}
	for i, m := range r.body.get("messages").list() {
		kinds := map[string]bool{}
		for _, b := range m.get("content").list() {
			name, _ := b.one()
			kinds[name] = true
		}
		for name, said := range map[string]string{"toolUse": "use", "toolResult": "result"} {
			if kinds[name] && len(kinds) > 1 {
				bad(at("messages", i)+".content", "Conversation blocks and tool %s blocks cannot be provided in the same turn.", said)
			}
		}
	}
}

func bedrockResultContent(r *request, bad report) {
	for _, res := range r.results {
		content := res.value.get("content")
		if !content.is(array) || len(content.items) == 0 {
			bad(res.path, "The content field at %s.toolResult cannot be empty when status value is error.", res.path)
		}
		for i, c := range content.list() {
			if name, _ := c.one(); !slices.Contains([]string{"text", "json", "image", "document", "video", "searchResult"}, name) {
				bad(at(res.path+".toolResult.content", i), "The ToolResultContentBlock object must set one of the following keys: text, image, json, document, video.")
			}
		}
	}
}

func bedrockErrorText(r *request, bad report) {
	if !isClaude(r.model) {
		return
	}
	for _, res := range r.results {
		for i, c := range res.value.get("content").list() {
			if name, _ := c.one(); res.value.get("status").str() == "error" && name != "text" && name != "json" {
				bad(at(res.path, i), "The model returned the following errors: all content must be type \"text\" if \"is_error\" is true")
			}
		}
	}
}

func (r *request) bedrockTools() []*value { return r.body.get("toolConfig", "tools").list() }

func bedrockToolsPresent(r *request, bad report) {
	if len(r.calls)+len(r.results) > 0 && len(r.bedrockTools()) == 0 {
		bad("toolConfig", "The toolConfig field must be defined when using toolUse and toolResult content blocks.")
	}
}

func specName(t *value) *value { return t.get("toolSpec", "name") }

func bedrockToolNames(r *request, bad report) {
	toolNames(r.bedrockTools(), "toolConfig.tools", specName, bad, "_-", 64)
}

func bedrockToolSchema(r *request, bad report) {
	if c := r.body.get("toolConfig"); c.set() && len(r.bedrockTools()) == 0 {
		bad("toolConfig.tools", "Value at 'toolConfig.tools' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	for i, t := range r.bedrockTools() {
		spec := t.get("toolSpec")
		if spec == nil {
			continue
		}
		path := at("toolConfig.tools", i)
		schemaType(spec.get("inputSchema", "json"), bad, path)
		if d := spec.get("description"); d != nil && d.str() == "" {
			bad(path+".description", "Member must have length greater than or equal to 1")
		}
		if spec.get("strict").truth() {
			closedSchema(spec.get("inputSchema", "json"), bad, path)
		}
	}
}

func bedrockChoice(r *request, bad report) {
	choice := r.body.get("toolConfig", "toolChoice")
	if !choice.set() {
		return
	}
	name, inner := choice.one()
	switch {
	case !slices.Contains([]string{"auto", "any", "tool"}, name):
		bad("toolConfig.toolChoice", "the ToolChoice object must set one of the following keys: auto, any, tool")
	case name == "tool" && !slices.ContainsFunc(r.bedrockTools(), func(t *value) bool { return specName(t).str() == inner.get("name").str() }):
		bad("toolConfig.toolChoice", "Tool '%s' not found in provided tools", inner.get("name").str())
	}
}

// claudeThinking is Claude's own field for thinking.
func (r *request) claudeThinking() *value {
	return r.body.get("additionalModelRequestFields", "thinking")
}

func bedrockBudget(r *request, bad report) {
	t := r.claudeThinking()
	limit := r.body.get("inferenceConfig", "maxTokens")
	switch {
	case t.get("type").str() != "enabled":
	case t.get("budget_tokens").num() < 1024:
		bad("additionalModelRequestFields.thinking", "The model returned the following errors: thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case limit.set() && limit.num() <= t.get("budget_tokens").num():
		bad("inferenceConfig.maxTokens", "The model returned the following errors: `max_tokens` must be greater than `thinking.budget_tokens`")
	}
}

// bedrockStartsTurn is thinkingStartsTurn in Bedrock's words.
func bedrockStartsTurn(r *request, bad report) {
	const kind = "reasoningContent"
	first, last := r.toolLoop("toolResult")
	if r.claudeThinking().get("type").str() == "enabled" && last != nil && first.parts[0].kind != kind && last.parts[0].kind != kind {
		bad(last.parts[0].path, "The model returned the following errors: Expected `thinking` or `redacted_thinking`, but found `%s`.", last.parts[0].kind)
	}
}

func bedrockNotLast(r *request, bad report) {
	for _, m := range r.messages {
		if n := len(m.parts); isClaude(r.model) && n > 0 && m.parts[n-1].kind == "reasoningContent" {
			bad(m.path, "The model returned the following errors: The final block in an assistant message cannot be `thinking`.")
		}
	}
}

func bedrockNotPrefilled(r *request, bad report) {
	if !isClaude(r.model) || r.lastRole() != "assistant" {
		return
	}
	for _, p := range r.messages[len(r.messages)-1].parts {
		if p.kind == "reasoningContent" {
			bad(p.path, "The model returned the following errors: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.")
		}
	}
}

func bedrockForced(r *request, bad report) {
	name, _ := r.body.get("toolConfig", "toolChoice").one()
	if mode := r.claudeThinking().get("type").str(); (mode == "enabled" || mode == "adaptive" && !forcedThinks(r.model)) && (name == "any" || name == "tool") {
		bad("toolConfig.toolChoice", "The model returned the following errors: Thinking may not be enabled when tool_choice forces tool use.")
	}
}

func bedrockReasoning(r *request, bad report) {
	r.eachPart(func(p part) {
		if p.kind != "reasoningContent" {
			return
		}
		name, inner := p.value.get("reasoningContent").one()
		switch {
		case name == "redactedContent":
			if _, ok := imageBytes(inner.str()); !ok {
				bad(p.path, "redactedContent is not base64")
			}
		case name != "reasoningText" || !inner.get("text").is(text):
			bad(p.path, "The ReasoningContentBlock object must set one of the following keys: reasoningText, redactedContent.")
		case isClaude(r.model) && inner.get("signature").str() == "":
			bad(p.path, "The model returned the following errors: thinking.signature: Field required")
		}
	})
}

func bedrockSigned(r *request, bad report) {
	r.eachPart(func(p part) {
		c := p.value.get("reasoningContent")
		if box := c.get("redactedContent"); box != nil && !r.sealed(box.str()) {
			bad(p.path, "The model returned the following errors: Invalid `data` in `redacted_thinking` block")
		}
		t := c.get("reasoningText")
		if s := t.get("signature"); s.set() && !r.signed(s.str(), "thinking", t.get("text").str()) {
			bad(p.path, "The model returned the following errors: Invalid `signature` in `thinking` block")
		}
	})
}

func (r *request) cachePoints() []string {
	var out []string
	list := func(path string, all []*value) {
		for i, v := range all {
			if v.get("cachePoint").set() {
				out = append(out, at(path, i))
			}
		}
	}
	list("toolConfig.tools", r.bedrockTools())
	list("system", r.body.get("system").list())
	for _, m := range r.messages {
		list(m.path+".content", m.value.get("content").list())
	}
	return out
}

func bedrockCacheLimit(r *request, bad report) {
	if n := len(r.cachePoints()); n > 4 {
		bad("", "The model returned the following errors: A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
}

func bedrockCacheSupported(r *request, bad report) {
	for _, path := range r.cachePoints() {
		if !isClaude(r.model) && !strings.Contains(r.model, "nova") {
			bad(path, "You invoked an unsupported model or your request did not allow prompt caching.")
		}
		if path[len(path)-2:] == ".0" {
			bad(path, "a cachePoint must stand behind something")
		}
	}
}
