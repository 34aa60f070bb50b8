package crosscheck

import (
	"fmt"
	"regexp"
	"strings"
)

// request body, of which only what differs in sense is left.
type normalised struct {
	body any
	// adjacent is how many turns stood behind one of the same role; they are joined.
	// Anthropic says that it does so itself, of other APIs it is a difference.
	adjacent int
}

// normal rewrites what an API's documentation says to be two notations of one thing
// into one of them.
func normal(t *target, body any) normalised {
	n := normalised{body: body}
	doc, ok := body.(map[string]any)
	if !ok {
		return n
	}
	// An empty list of required properties says nothing (JSON Schema, 6.5.3).
	prune(doc, "required")
	switch {
	case t.label == "anthropic":
		// "content can be a string or a list of blocks; a string is shorthand for one text
		// block." https://platform.claude.com/docs/en/api/messages/create
		eachTurn(doc["messages"], func(m map[string]any) {
			if s, ok := m["content"].(string); ok {
				m["content"] = []any{map[string]any{"type": "text", "text": s}}
			}
		})
		n.join(doc, "messages", "content")
	case strings.HasPrefix(t.label, "bedrock"):
		n.join(doc, "messages", "content")
	case strings.HasPrefix(t.label, "gemini"), strings.HasPrefix(t.label, "vertex"):
		n.join(doc, "contents", "parts")
	case t.label == "responses" || t.label == "azure":
		// Ids of messages that another model gave are made up by either.
		eachTurn(doc["input"], func(m map[string]any) {
			if id, _ := m["id"].(string); strings.HasPrefix(id, "msg_llmd_") || strings.HasPrefix(id, "msg_pi_") {
				m["id"] = "made up"
			}
		})
	case t.label == "mistral" || t.label == "magistral":
		renameIDs(doc["messages"])
	}
	return n
}

func eachTurn(list any, rewrite func(map[string]any)) {
	turns, _ := list.([]any)
	for _, t := range turns {
		if m, ok := t.(map[string]any); ok {
			rewrite(m)
		}
	}
}

// prune leaves out empty lists of a name.
func prune(v any, name string) {
	switch v := v.(type) {
	case map[string]any:
		if list, ok := v[name].([]any); ok && len(list) == 0 {
			delete(v, name)
		}
		for _, inner := range v {
			prune(inner, name)
		}
	case []any:
		for _, inner := range v {
			prune(inner, name)
		}
	}
}

// join joins adjacent turns of one role.
func (n *normalised) join(doc map[string]any, list, content string) {
	turns, _ := doc[list].([]any)
	var out []any
	for _, t := range turns {
		m, _ := t.(map[string]any)
		if len(out) > 0 {
			last, _ := out[len(out)-1].(map[string]any)
			a, isA := last[content].([]any)
			b, isB := m[content].([]any)
			if isA && isB && last["role"] == m["role"] {
				last[content] = append(a, b...)
				n.adjacent++
				continue
			}
		}
		out = append(out, t)
	}
	doc[list] = out
}

var fits = regexp.MustCompile("^[a-zA-Z0-9]{9}$")

// renameIDs numbers the ids of calls that keep Mistral's rule, as each library has its
// own way to make them.
func renameIDs(list any) {
	names := map[string]string{}
	rename := func(m map[string]any, key string) {
		id, _ := m[key].(string)
		if !fits.MatchString(id) {
			return
		}
		if names[id] == "" {
			names[id] = fmt.Sprintf("call %d", len(names)+1)
		}
		m[key] = names[id]
	}
	eachTurn(list, func(m map[string]any) {
		eachTurn(m["tool_calls"], func(c map[string]any) { rename(c, "id") })
		rename(m, "tool_call_id")
	})
}
