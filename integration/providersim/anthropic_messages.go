package providersim

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// loneSurrogates finds half a surrogate pair, escaped: Anthropic's parser of JSON
// wants both halves.
func loneSurrogates(r *request, bad report) {
	body := string(r.raw)
	for i := 0; i+6 <= len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		first, ok := escapedUnit(body[i:])
		if !ok {
			i++ // over what is escaped, which may be a backslash
			continue
		}
		i += 5
		if !utf16.IsSurrogate(first) {
			continue
		}
		second, ok := escapedUnit(body[i+1:])
		if !ok || utf16.DecodeRune(first, second) == unicode.ReplacementChar {
			bad("", "The request body is not valid JSON: no low surrogate in string: line 1 column %d (char %d)", i-4, i-5)
			return
		}
		i += 6
	}
}

func escapedUnit(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

// anthropicFields: Vertex has the model in the path and the version in the body.
func anthropicFields(r *request, bad report) {
	const optional = "system temperature top_p top_k stop_sequences stream metadata thinking tools tool_choice service_tier container " +
		"context_management mcp_servers output_config output_format speed fallbacks inference_geo cache_control"
	if r.body.get("anthropic_version") != nil {
		knownFields("max_tokens messages", "anthropic_version anthropic_beta model "+optional)(r, bad)
		return
	}
	knownFields("model max_tokens messages", optional)(r, bad)
}

func maxTokensPositive(r *request, bad report) {
	if v := r.body.get("max_tokens"); v.set() && (!v.whole() || v.num() < 1) {
		bad("max_tokens", "max_tokens: Input should be greater than or equal to 1")
	}
}

func anthropicSampling(r *request, bad report) {
	for _, name := range []string{"temperature", "top_p"} {
		if v := r.body.get(name); v.set() && (!v.is(number) || v.num() < 0 || v.num() > 1) {
			bad(name, "%s: range: 0..1", name)
		}
		if v := r.body.get(name); v.set() && claudeFrom(r.model, 4, 7) {
			bad(name, "`%s` is not supported for this model", name)
		}
	}
	for i, s := range r.body.get("stop_sequences").list() {
		if blank(s.str()) {
			bad(at("stop_sequences", i), "each stop sequence must contain non-whitespace")
		}
	}
}

func someMessages(r *request, bad report) {
	if len(r.messages) == 0 {
		bad("messages", "messages: at least one message is required")
	}
}

func anthropicRoles(r *request, bad report) {
	for _, m := range r.messages {
		if m.role != "user" && m.role != "assistant" {
			bad(m.path, "Input should be 'user' or 'assistant'")
		}
	}
}

func userFirst(r *request, bad report) {
	if len(r.messages) > 0 && r.messages[0].role == "assistant" {
		bad("messages.0", "messages: first message must use the \"user\" role")
	}
}

func anthropicContent(r *request, bad report) {
	for i, m := range r.messages {
		content := m.value.get("content")
		last := i == len(r.messages)-1 && m.role == "assistant"
		switch {
		case !content.is(text) && !content.is(array):
			bad(m.path, "Input does not match the expected shape.")
		case !last && len(m.parts) == 0 && content.str() == "":
			bad(m.path, "all messages must have non-empty content except for the optional final assistant message")
		}
	}
}

// anthropicKinds: what may stand in whose turn. Blocks of the provider's own tools
// have names of their own, which are not listed here.
func anthropicKinds(r *request, bad report) {
	r.eachPart(func(p part) {
		wrong := false
		switch p.kind {
		case "":
			wrong = true
		case "tool_use", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use":
			wrong = p.role != "assistant"
		case "tool_result", "image", "document":
			wrong = p.role != "user"
		}
		if wrong {
			bad(p.path, "Input tag '%s' found using 'type' does not match any of the expected tags", p.kind)
		}
	})
}

func anthropicText(r *request, bad report) {
	for _, m := range r.messages {
		if m.plain && m.value.get("content").str() != "" && blank(m.value.get("content").str()) {
			bad(m.path, "text content blocks must contain non-whitespace text")
		}
	}
	check := func(v *value, path string) {
		if v.get("type").str() == "text" && blank(v.get("text").str()) {
			bad(path, "text content blocks must contain non-whitespace text")
		}
	}
	r.eachPart(func(p part) {
		check(p.value, p.path)
		if p.kind == "tool_result" {
			for i, b := range p.value.get("content").list() {
				check(b, at(p.path+".content", i))
			}
		}
	})
}

func anthropicSystem(r *request, bad report) {
	for i, b := range r.body.get("system").list() {
		if blank(b.get("text").str()) {
			bad(at("system", i), "text content blocks must contain non-whitespace text")
		}
	}
}

// paused: an assistant turn at the end that holds blocks of the provider's own is
// one that the provider paused; it is no prefill.
func (m *message) paused() bool {
	return slices.ContainsFunc(m.parts, func(p part) bool {
		return !slices.Contains([]string{"text", "thinking", "redacted_thinking", "tool_use"}, p.kind)
	})
}

func (r *request) prefill() *message {
	if r.lastRole() != "assistant" || r.messages[len(r.messages)-1].paused() {
		return nil
	}
	return &r.messages[len(r.messages)-1]
}

func prefillTrimmed(r *request, bad report) {
	m := r.prefill()
	if m == nil {
		return
	}
	last := m.value.get("content").str()
	if n := len(m.parts); n > 0 {
		last = m.parts[n-1].value.get("text").str()
	}
	if last != strings.TrimRightFunc(last, unicode.IsSpace) {
		bad(m.path, "messages: final assistant content cannot end with trailing whitespace")
	}
}

func prefillSupported(r *request, bad report) {
	m := r.prefill()
	switch {
	case m == nil:
	case claudeFrom(r.model, 4, 6):
		bad(m.path, "This model does not support assistant message prefill. The conversation must end with a user message.")
	case r.thinks():
		bad(m.path, "When thinking is enabled, the final message must be the user's.")
	case r.body.get("output_config", "format").set():
		bad(m.path, "Prefill is not supported with structured outputs.")
	}
}
