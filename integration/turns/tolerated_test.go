package turns

import (
	"encoding/json"
	"slices"
	"strings"
)

// exactPlaces are the places whose JSON text counts, not only its value: what a
// model wrote goes back as it wrote it.
func exactPlaces() []string {
	return []string{
		"messages[].content[].input", // Anthropic
		"messages[].content[].toolUse.input",
		"contents[].parts[].functionCall.args",
	}
}

// unplayed are recordings whose answers cannot be streamed, with the reason.
func unplayed() map[string]string {
	return map[string]string{
		"groq-gpt-oss-120b-mid-stream-error-thinking-t1": "it ends in an error, from which the client made a call",
	}
}

// toleratedDifferences is the whole table.
func toleratedDifferences() []tolerated {
	return slices.Concat(toleratedByAll(), toleratedByAnthropic(), toleratedByChat(), toleratedByResponses(),
		toleratedByGoogle(), toleratedByBedrock(), toleratedByMistral())
}

func toleratedByAll() []tolerated {
	return []tolerated{
		{
			name: "all.stream", why: "llmd streams always; the client asked for one document, or in the URL",
			apis: []string{"anthropic-messages", "openai-completions", "openai-responses", "mistral"},
			at:   []string{"stream"},
			mend: func(want, got *node) (*node, *node, bool) { return got, got, !isTrue(want) && isTrue(got) },
		},
		{
			name: "all.nothing", why: "null, an empty text, list or object say no more than an absent member",
			at: []string{
				"system", "inferenceConfig", "generationConfig", "tools[].description", "tools[].function.description",
				"tools[].functionDeclarations[].description", "input[].encrypted_content",
			},
			mend: func(want, got *node) (*node, *node, bool) {
				empty := want.isNull() || want != nil && slices.Contains([]string{`""`, "[]", "{}"}, string(want.raw))
				return got, got, empty && got == nil
			},
		},
		{
			name: "all.recorder-typography", why: "the recorder wrote typographic characters as ASCII; llmd sends what the provider said",
			at:   []string{"*"},
			only: func(r *recording) bool { return r.Fidelity == "text-normalised" },
			mend: func(want, got *node) (*node, *node, bool) {
				return got, got, want.isString() && got.isString() && want.text == ascii(got.text)
			},
		},
		{
			name: "all.arguments-spacing", why: "the client parsed the arguments and wrote them anew; llmd sends the model's own text",
			apis: []string{"openai-completions", "mistral"},
			at:   []string{"messages[].tool_calls[].function.arguments"},
			mend: func(want, got *node) (*node, *node, bool) {
				return got, got, want.isString() && got.isString() && json.Valid([]byte(got.text)) && want.text == compact([]byte(got.text))
			},
		},
	}
}

// added allows a member that the client left out and llmd sends, with this value.
func added(name, why string, apis []string, value string, at ...string) tolerated {
	return tolerated{
		name: name, why: why, apis: apis, at: at,
		mend: func(want, got *node) (*node, *node, bool) {
			return got, got, want == nil && got != nil && equal(got, js(value))
		},
	}
}

// leftOut allows a member that the client sent, with this value, and llmd leaves out.
func leftOut(name, why string, apis []string, value string, at ...string) tolerated {
	return tolerated{
		name: name, why: why, apis: apis, at: at,
		mend: func(want, got *node) (*node, *node, bool) {
			return got, got, got == nil && want != nil && equal(want, js(value))
		},
	}
}

func isTrue(n *node) bool { return n != nil && string(n.raw) == "true" }

// ascii is what recorders that normalise texts make of typographic characters.
func ascii(s string) string {
	return strings.NewReplacer("–", "-", "—", "-", "‘", "'", "’", "'", "“", `"`, "”", `"`, "…", "...", "\u00a0", " ").Replace(s)
}
