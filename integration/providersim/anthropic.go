package providersim

const (
	docMessages   = "https://platform.claude.com/docs/en/api/messages"
	docErrors     = "https://platform.claude.com/docs/en/api/errors"
	docToolUse    = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"
	docToolDefine = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use"
	docThinking   = "https://platform.claude.com/docs/en/build-with-claude/extended-thinking"
	docAdaptive   = "https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking"
	docEffort     = "https://platform.claude.com/docs/en/build-with-claude/effort"
	docCaching    = "https://platform.claude.com/docs/en/build-with-claude/prompt-caching"
	docVision     = "https://platform.claude.com/docs/en/build-with-claude/vision"
	docPrefill    = "https://platform.claude.com/docs/en/build-with-claude/prompt-engineering/prefill-claudes-response"
	docStructured = "https://platform.claude.com/docs/en/build-with-claude/structured-outputs"
)

// anthropicRules are those of the Messages API.
func anthropicRules() []Rule {
	return []Rule{
		{ID: "anthropic.body.object", Doc: docErrors, check: isObject},
		{ID: "anthropic.body.surrogates", Doc: "https://github.com/anthropics/claude-code/issues/2108", check: loneSurrogates},
		{ID: "anthropic.body.fields", Doc: docMessages, check: anthropicFields},
		{ID: "anthropic.max_tokens.positive", Doc: docMessages, check: maxTokensPositive},
		{ID: "anthropic.sampling.range", Doc: docMessages, check: anthropicSampling},

		{ID: "anthropic.messages.some", Doc: docMessages, check: someMessages},
		{ID: "anthropic.messages.role", Doc: docMessages, check: anthropicRoles},
		{ID: "anthropic.messages.user_first", Doc: docMessages, check: userFirst},
		{ID: "anthropic.messages.content_not_empty", Doc: docMessages, check: anthropicContent},
		{ID: "anthropic.content.kind", Doc: docMessages, check: anthropicKinds},
		{ID: "anthropic.text.not_blank", Doc: docMessages, check: anthropicText},
		{ID: "anthropic.system.not_blank", Doc: docMessages, check: anthropicSystem},
		{ID: "anthropic.prefill.trimmed", Doc: docPrefill, check: prefillTrimmed},
		{ID: "anthropic.prefill.supported", Doc: docPrefill, check: prefillSupported},

		{ID: "anthropic.tool_use.id_pattern", Doc: docMessages, check: toolUseIDs},
		{ID: "anthropic.tool_use.ids_unique", Doc: docToolUse, check: uniqueCallIDs},
		{ID: "anthropic.tool_use.name_pattern", Doc: docToolDefine, check: toolUseNames},
		{ID: "anthropic.tool_use.input_object", Doc: docMessages, check: toolUseInput},
		{ID: "anthropic.tool_use.has_result", Doc: docToolUse, check: toolUseHasResult},
		{ID: "anthropic.tool_result.follows_tool_use", Doc: docToolUse, check: resultFollowsUse},
		{ID: "anthropic.tool_result.one_for_each", Doc: docToolUse, check: resultOnce},
		{ID: "anthropic.tool_result.first", Doc: docToolUse, check: resultsFirst},
		{ID: "anthropic.tool_result.error_text_only", Doc: docToolUse, check: errorTextOnly},
		{ID: "anthropic.server_tool.paired", Doc: "https://github.com/AnswerDotAI/lisette/issues/90", check: serverToolPaired},
		{ID: "anthropic.tools.present_with_history", Doc: docToolUse, check: anthropicToolsPresent},
		{ID: "anthropic.tools.names", Doc: docToolDefine, check: anthropicToolNames},
		{ID: "anthropic.tools.schema", Doc: docToolDefine, check: anthropicToolSchema},
		{ID: "anthropic.tools.draft", Doc: docDraft, check: anthropicDraft},
		{ID: "anthropic.tools.strict_schema", Doc: docStructured, check: anthropicStrict},
		{ID: "anthropic.tool_choice.valid", Doc: docToolDefine, check: anthropicChoice},

		{ID: "anthropic.thinking.type", Doc: docAdaptive, check: thinkingType},
		{ID: "anthropic.effort.level", Doc: docEffort, check: effortLevel},
		{ID: "anthropic.thinking.budget_least", Doc: docThinking, check: budgetLeast},
		{ID: "anthropic.thinking.budget_below_max_tokens", Doc: docThinking, check: budgetBelowMax},
		{ID: "anthropic.thinking.sampling", Doc: docThinking, check: thinkingSampling},
		{ID: "anthropic.thinking.forced_tool_choice", Doc: docThinking, check: thinkingForced},
		{ID: "anthropic.thinking.starts_turn", Doc: docThinking, check: thinkingStartsTurn},
		{ID: "anthropic.thinking.not_last", Doc: "https://github.com/tailcallhq/forgecode/issues/3071", check: thinkingNotLast},
		{ID: "anthropic.thinking.not_prefilled", Doc: "https://github.com/anthropics/claude-code/issues/7946", check: thinkingNotPrefilled},
		{ID: "anthropic.thinking.has_signature", Doc: docThinking, check: thinkingHasSignature},
		{ID: "anthropic.thinking.signature_valid", Doc: docThinking, Signature: true, check: thinkingSigned},
		{ID: "anthropic.redacted_thinking.data_valid", Doc: docThinking, Signature: true, check: redactedSealed},

		{ID: "anthropic.cache_control.limit", Doc: docCaching, check: cacheLimit},
		{ID: "anthropic.cache_control.place", Doc: docCaching, check: cachePlace},
		{ID: "anthropic.cache_control.ttl", Doc: docCaching, check: cacheTTL},
		{ID: "anthropic.image.type", Doc: docVision, check: anthropicImages},
		{ID: "anthropic.image.bytes", Doc: docVision, check: anthropicImageBytes},
		{ID: "anthropic.output.schema", Doc: docStructured, check: anthropicOutput},
	}
}

// anthropicView reads the messages.
func anthropicView(body *value) view {
	var v view
	for i, m := range body.get("messages").list() {
		msg := message{at: i, path: at("messages", i), role: m.get("role").str(), value: m}
		content := m.get("content")
		msg.plain = content.is(text)
		for k, b := range content.list() {
			p := part{msg: i, at: k, path: at(msg.path+".content", k), role: msg.role, kind: b.get("type").str(), value: b}
			msg.parts = append(msg.parts, p)
			switch p.kind {
			case "tool_use":
				v.calls = append(v.calls, call{msg: i, path: p.path, id: b.get("id"), name: b.get("name"), args: b.get("input")})
			case "tool_result":
				v.results = append(v.results, result{msg: i, path: p.path, id: b.get("tool_use_id"), value: b})
			}
		}
		v.messages = append(v.messages, msg)
	}
	return v
}

// turnOf numbers turns: messages of one role that follow each other are one.
func (r *request) turnOf() []int {
	turns := make([]int, len(r.messages))
	for i := 1; i < len(turns); i++ {
		turns[i] = turns[i-1]
		if r.messages[i].role != r.messages[i-1].role {
			turns[i]++
		}
	}
	return turns
}

func (r *request) thinkingMode() string { return r.body.get("thinking", "type").str() }

func (r *request) thinks() bool {
	mode := r.thinkingMode()
	return mode == "enabled" || mode == "adaptive"
}
