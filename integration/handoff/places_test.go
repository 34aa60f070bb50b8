package handoff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// leaf is a text or an image in a request, with the part that it has there.
type leaf struct {
	part string // "user", "assistant", "result", "thinking", "call" or "own"
	text string // of an image, its base64
}

// leaves reads the conversation of a request, whatever its API: by the marks that
// their documentations give to results, thinking and calls.
func leaves(body []byte) []leaf {
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // arguments may have any
	if d.Decode(&doc) != nil {
		return nil
	}
	var out []leaf
	for _, name := range []string{"messages", "input", "contents"} {
		turns, _ := doc[name].([]any)
		for _, t := range turns {
			out = append(out, turnLeaves(t)...)
		}
	}
	return out
}

func turnLeaves(turn any) []leaf {
	m, _ := turn.(map[string]any)
	part := map[any]string{
		"user": "user", "assistant": "assistant", "model": "assistant", "tool": "result", nil: "own", "system": "", "developer": "",
	}[m["role"]]
	if part == "" {
		return nil
	}
	var out []leaf
	visit(m, "", part, func(l leaf) { out = append(out, l) })
	return out
}

// visit finds the strings that are said or shown.
func visit(v any, key, part string, found func(leaf)) {
	switch v := v.(type) {
	case map[string]any:
		part = partOf(v, part)
		for k, inner := range v {
			at := part
			if strings.HasPrefix(k, "reasoning") {
				at = "thinking"
			}
			visit(inner, k, at, found)
		}
	case []any:
		for _, inner := range v {
			visit(inner, key, part, found)
		}
	case string:
		said := []string{"text", "content", "thinking", "output", "error", "reasoning", "reasoning_content", "reasoning_text"}
		shown := []string{"url", "image_url", "data", "bytes"}
		if slices.Contains(said, key) || slices.Contains(shown, key) {
			found(leaf{part, v})
		}
	}
}

// partOf is the part of what is inside an object.
func partOf(m map[string]any, part string) string {
	has := func(key string) bool { _, ok := m[key]; return ok }
	switch kind, _ := m["type"].(string); {
	case kind == "tool_result" || kind == "function_call_output" || has("toolResult") || has("functionResponse"):
		return "result"
	case kind == "thinking" || kind == "reasoning" || has("reasoningContent") || m["thought"] == true:
		return "thinking"
	case kind == "tool_use" || kind == "function" || kind == "function_call" || has("toolUse") || has("functionCall"):
		return "call"
	}
	return part
}

// inserted are the words that llmd puts into conversations, with the rules that report
// each of them. What one change may cause at most once is counted.
func inserted() map[string][]string {
	return map[string][]string{
		"No result provided":                 {"tool_result.synthesized"},
		"(conversation continues)":           {"turn.user_inserted"},
		"I have processed the tool results.": {"turn.assistant_inserted"},
		"(no tool output)":                   {"text.placeholder"},
		"(see attached image)":               {"text.placeholder"},
		"(empty)":                            {"text.placeholder"},
		"<empty>":                            {"text.placeholder"},
		"[tool error]":                       {"tool_result.error_text", "tool_result.synthesized"},
		"(image omitted: model does not support images)":           {"images.placeholder"},
		"(tool image omitted: model does not support images)":      {"images.placeholder"},
		"(image omitted: unsupported source)":                      {"images.unsupported_source"},
		"(image omitted: unsupported type)":                        {"images.unsupported_type"},
		"(image attached after the tool results)":                  {"images.error_result"},
		"Attached image(s) from tool result:":                      {"images.moved"},
		"Tool result image:":                                       {"images.moved"},
		"Images from the error result of tool call " /* id ... */ : {"images.error_result"},
	}
}

// moving are the rules that put something into another part of the request.
func moving(c *llmdv1.HandoffChange) bool {
	return c.GetAction() == dropped || c.GetAction() == downgraded ||
		slices.Contains([]string{"images.moved", "images.error_result", "thinking.as_text"}, c.GetRule())
}

// inItsPlace: what is not reported as moved is where it was: a user's words with the
// user, a result's in the result, thinking in thinking.
func inItsPlace(_ *World, t Turn, p *Prepared) *broken {
	changes, all := p.Changes(), leaves(p.Body)
	messages := t.Generation.GetContext().GetMessages()
	for _, x := range unique(pieces(t.Generation.GetContext())) {
		want := map[string]string{"thinking": "thinking", "text": "assistant"}[x.kind]
		switch m := messages[x.at]; {
		case m.GetUser() != nil:
			want = "user"
		case m.GetToolResult() != nil:
			want = "result"
		case want == "" || x.content.GetThinking().GetRedacted():
			continue
		}
		var parts []string
		for _, l := range all {
			if strings.Contains(l.text, x.needle) {
				parts = append(parts, l.part)
			}
		}
		fate := fates(changes, x.at, x.block)
		switch {
		case len(parts) == 0: // see noSilentLoss
		case slices.ContainsFunc(fate, moving):
			if moved := has(fate, rewritten) && !has(fate, dropped, downgraded); moved && slices.Contains(parts, want) {
				return breach("in its place", "messages[%d] block %d: %v, and it is still a part of the %s", x.at, x.block, fate, want)
			}
		case !slices.Contains(parts, want):
			return breach("in its place", "messages[%d] block %d (%s of the %s) is now a part of the %v", x.at, x.block, x.kind, want, parts)
		}
	}
	return nil
}

// inOrder: results stand in the order in which they came, but for those that are
// reported.
func inOrder(_ *World, t Turn, p *Prepared) *broken {
	changes, all := p.Changes(), leaves(p.Body)
	messages := t.Generation.GetContext().GetMessages()
	last, at := -1, -1 // where the last result stands, and which it was
	for _, x := range unique(pieces(t.Generation.GetContext())) {
		place := slices.IndexFunc(all, func(l leaf) bool { return l.part == "result" && strings.Contains(l.text, x.needle) })
		if place < 0 || messages[x.at].GetToolResult() == nil {
			continue
		}
		moved := slices.ContainsFunc(fates(changes, x.at, x.block), func(c *llmdv1.HandoffChange) bool { return c.GetRule() == "tool_result.reordered" })
		if place < last && at != x.at {
			return breach("in order", "messages[%d] is sent before messages[%d], which is not reported", x.at, at)
		}
		if !moved {
			last, at = place, x.at
		}
	}
	return nil
}

// nothingInserted: every text of the request is the history's, or words that the
// report accounts for.
func nothingInserted(_ *World, t Turn, p *Prepared) *broken {
	counts := map[string]int{}
	for _, c := range p.Changes() {
		counts[c.GetRule()]++
	}
	known := historyTexts(t.Generation.GetContext())
	used := map[string]int{} // words that were found, by rule
	for _, l := range leaves(p.Body) {
		if l.part == "own" || l.part == "call" || strings.Contains(l.text, ";base64,") || isImageData(t.Generation.GetContext(), l.text) {
			continue
		}
		rest := l.text
		without := func(s string) { rest = strings.ReplaceAll(rest, s, "") }
		for _, s := range known {
			if Word(s) != "" { // what was cut to a letter or two is looked for at the end
				without(s)
			}
		}
		for words, rules := range inserted() {
			n := strings.Count(rest, words)
			if n == 0 {
				continue
			}
			if rest = strings.ReplaceAll(rest, words, ""); strings.HasSuffix(words, "call ") {
				_, rest, _ = strings.Cut(rest, "):") // the id and the name
			}
			used[rules[0]] += n
			allowed := 0
			for _, r := range rules {
				allowed += counts[r]
			}
			if used[rules[0]] > allowed && allowed == 0 {
				return breach("nothing inserted", "%q is in the request, and no %v in the report", words, rules)
			}
		}
		for _, s := range known {
			without(s)
		}
		if rest = strings.TrimSpace(rest); rest != "" {
			return breach("nothing inserted", "%q is in the %s of the request, and not in the history", rest, l.part)
		}
	}
	for _, rule := range []string{"text.placeholder", "turn.assistant_inserted"} {
		if used[rule] != counts[rule] {
			return breach("nothing inserted", "%d times %s, reported %d times", used[rule], rule, counts[rule])
		}
	}
	return nil
}

// historyTexts are all texts of a history, and all strings of what is opaque in it, the
// longest first.
func historyTexts(c *llmdv1.Context) []string {
	var out []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	for _, m := range c.GetMessages() {
		for _, b := range m.GetUser().GetContent() {
			add(b.GetText().GetText())
		}
		for _, b := range m.GetToolResult().GetContent() {
			add(b.GetText().GetText())
		}
		for _, b := range m.GetAssistant().GetContent() {
			add(b.GetText().GetText())
			add(b.GetThinking().GetThinking())
			for _, raw := range [][]byte{b.GetProviderContent().GetRawJson(), b.GetThinking().GetSignature().GetData(), b.GetToolCall().GetSignature().GetData()} {
				var v any
				if json.Unmarshal(raw, &v) == nil {
					visit(v, "text", "", func(l leaf) { add(l.text) })
				} else {
					add(string(raw))
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return slices.Compact(out)
}

// isImageData says whether a string of a request is an image of the history.
func isImageData(c *llmdv1.Context, s string) bool {
	return slices.ContainsFunc(pieces(c), func(x piece) bool { return x.kind == "image" && x.needle == s })
}
