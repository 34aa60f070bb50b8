package providersim

import (
	"slices"
	"strings"
)

func thinkingType(r *request, bad report) {
	mode := r.thinkingMode()
	switch {
	case !r.body.get("thinking").set():
	case mode == "enabled" && claudeFrom(r.model, 4, 7):
		bad("thinking.type", "this model decides itself how much to think: use adaptive")
	case mode == "adaptive" && !claudeFrom(r.model, 4, 6):
		bad("thinking.type", "adaptive thinking is not supported on this model")
	case mode == "enabled" && !r.body.get("thinking", "budget_tokens").whole():
		bad("thinking.budget_tokens", "Field required")
	case mode != "enabled" && r.body.get("thinking", "budget_tokens") != nil:
		bad("thinking.budget_tokens", "Extra inputs are not permitted")
	case !slices.Contains([]string{"enabled", "adaptive", "disabled"}, mode):
		bad("thinking", "Input tag '%s' found using 'type' does not match any of the expected tags", mode)
	}
}

func effortLevel(r *request, bad report) {
	effort := r.body.get("output_config", "effort")
	levels := []string{"low", "medium", "high"}
	if claudeFrom(r.model, 4, 6) {
		levels = append(levels, "max")
	}
	if claudeFrom(r.model, 4, 7) {
		levels = append(levels, "xhigh")
	}
	if effort.set() && !slices.Contains(levels, effort.str()) {
		bad("output_config.effort", "This model does not support effort level '%s'. Supported levels: %v.", effort.str(), levels)
	}
}

func budgetLeast(r *request, bad report) {
	if r.thinkingMode() == "enabled" && r.body.get("thinking", "budget_tokens").num() < 1024 {
		bad("thinking.enabled.budget_tokens", "Input should be greater than or equal to 1024")
	}
}

func budgetBelowMax(r *request, bad report) {
	if r.thinkingMode() == "enabled" && r.body.get("thinking", "budget_tokens").num() >= r.body.get("max_tokens").num() {
		bad("max_tokens", "`max_tokens` must be greater than `thinking.budget_tokens`")
	}
}

func thinkingSampling(r *request, bad report) {
	t, p := r.body.get("temperature"), r.body.get("top_p")
	switch {
	case !r.thinks():
	case t.set() && t.num() != 1:
		bad("temperature", "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode")
	case p.set() && p.num() < 0.95:
		bad("top_p", "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled")
	case r.body.get("top_k").set():
		bad("top_k", "`top_k` must be unset when thinking is enabled")
	}
}

func thinkingForced(r *request, bad report) {
	kind := r.body.get("thinking", "type").str()
	if mode := r.body.get("tool_choice", "type").str(); r.thinks() && (mode == "any" || mode == "tool") && !(kind == "adaptive" && forcedThinks(r.model)) {
		bad("tool_choice", "Thinking may not be enabled when tool_choice forces tool use.")
	}
}

// forcedThinks: https://github.com/langchain-ai/langchain-aws/pull/1141.
func forcedThinks(model string) bool {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(model, name) })
	}
	return has("opus-4-8", "opus-5", "sonnet-5", "haiku-5", "fable-5", "mythos-5") &&
		!has("opus-5-5", "sonnet-5-5", "fable-5-1", "fable-5-2", "mythos-5-1", "mythos-5-2")
}

func isThinking(p part) bool { return p.kind == "thinking" || p.kind == "redacted_thinking" }

// toolLoop is the first and the last answer of the turn whose results are being handed
// in; nil = none are. A turn begins with a user's message that is not of results alone.
func (r *request) toolLoop(resultKind string) (first, last *message) {
	isResult := func(p part) bool { return p.kind == resultKind }
	n := len(r.messages) - 1
	if n < 0 || r.messages[n].role != "user" || !slices.ContainsFunc(r.messages[n].parts, isResult) {
		return nil, nil
	}
	for i := n - 1; i >= 0; i-- {
		m := &r.messages[i]
		if m.role == "user" && slices.ContainsFunc(m.parts, func(p part) bool { return !isResult(p) && p.kind != "cachePoint" }) {
			break
		}
		if m.role == "assistant" && len(m.parts) > 0 {
			if first = m; last == nil {
				last = m
			}
		}
	}
	return first, last
}

// thinkingStartsTurn: while results are handed in, the turn that they belong to must
// have begun with thinking: its first message or its last one does.
func thinkingStartsTurn(r *request, bad report) {
	first, last := r.toolLoop("tool_result")
	if r.thinkingMode() == "enabled" && last != nil && !isThinking(first.parts[0]) && !isThinking(last.parts[0]) {
		bad(last.parts[0].path, "Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).", last.parts[0].kind)
	}
}

func thinkingNotLast(r *request, bad report) {
	turns := r.turnOf()
	for i, m := range r.messages {
		n := len(m.parts)
		if n == 0 || m.parts[n-1].kind != "thinking" && m.parts[n-1].kind != "redacted_thinking" {
			continue
		}
		if i+1 == len(r.messages) || turns[i+1] != turns[i] {
			bad(m.path, "The final block in an assistant message cannot be `thinking`.")
		}
	}
}

func thinkingNotPrefilled(r *request, bad report) {
	m := r.prefill()
	if m == nil || r.thinks() {
		return
	}
	for _, p := range m.parts {
		if isThinking(p) {
			bad(p.path, "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.")
		}
	}
}

func thinkingHasSignature(r *request, bad report) {
	r.eachPart(func(p part) {
		switch {
		case p.kind == "thinking" && p.value.get("signature").str() == "":
			bad(p.path+".signature", "Field required")
		case p.kind == "thinking" && !p.value.get("thinking").is(text):
			bad(p.path+".thinking", "Field required")
		case p.kind == "redacted_thinking" && p.value.get("data").str() == "":
			bad(p.path+".data", "Field required")
		}
	})
}

func thinkingSigned(r *request, bad report) {
	r.eachPart(func(p part) {
		if p.kind == "thinking" && !r.signed(p.value.get("signature").str(), "thinking", p.value.get("thinking").str()) {
			bad(p.path, "Invalid `signature` in `thinking` block")
		}
	})
}

func redactedSealed(r *request, bad report) {
	r.eachPart(func(p part) {
		if p.kind == "redacted_thinking" && !r.sealed(p.value.get("data").str()) {
			bad(p.path, "Invalid `data` in `redacted_thinking` block")
		}
	})
}
