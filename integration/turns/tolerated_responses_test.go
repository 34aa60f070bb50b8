package turns

import (
	"slices"
	"strings"
)

func toleratedByResponses() []tolerated {
	apis := []string{"openai-responses"}
	return append(toleratedItems(apis), []tolerated{
		added("responses.store", "llmd keeps the state itself, and says that the provider is not to", apis, "false", "store"),
		added("responses.include", "without the provider's memory the next request needs the encrypted thoughts",
			apis, `["reasoning.encrypted_content"]`, "include"),
		leftOut("responses.include-unsaid", "a model that does not reason has no encrypted thoughts",
			apis, `["reasoning.encrypted_content"]`, "include"),
		leftOut("responses.strict-unsaid", "the host does not look at it", apis, "true", "tools[].strict"),
		leftOut("responses.not-strict-unsaid", "not all hosts know the word", apis, "false", "tools[].strict"),
		{
			name: "responses.instructions", why: "the system prompt is the first item instead of the instructions",
			apis: apis, at: []string{""},
			mend: func(want, got *node) (*node, *node, bool) {
				text, input, sent := want.get("instructions"), want.get("input"), got.get("input").list()
				if !text.isString() || input == nil || len(sent) == 0 || !isSystem(sent[0]) || got.get("instructions") != nil {
					return nil, nil, false
				}
				first := object(member{"role", sent[0].get("role")}, member{"content", text})
				return want.with("instructions", nil).with("input", array(append([]*node{first}, input.items...)...)), got, true
			},
		},
		{
			name: "responses.previous-response", why: "the client referred to what the provider keeps; llmd sends the whole history, of which this is the end",
			apis: apis, at: []string{""},
			mend: func(want, got *node) (*node, *node, bool) {
				input, sent := want.get("input").list(), got.get("input").list()
				if want.get("previous_response_id") == nil || len(input) == 0 || len(sent) <= len(input) {
					return nil, nil, false
				}
				// The item before is the end of the answer that the id names.
				if last := sent[len(sent)-len(input)-1]; last.get("call_id") == nil || last.get("output") != nil {
					return nil, nil, false
				}
				history := slices.Concat(sent[:len(sent)-len(input)], input)
				return want.with("previous_response_id", nil).with("input", array(history...)), got, true
			},
		},
	}...)
}

func isSystem(item *node) bool {
	role := item.get("role")
	return role.isString() && (role.text == "system" || role.text == "developer")
}

// toleratedItems are the differences in the form of items.
func toleratedItems(apis []string) []tolerated {
	return []tolerated{
		leftOut("responses.message-type", "an item with a role is a message", apis, `"message"`, "input[].type"),
		added("responses.message-type-said", "an item with a role is a message", apis, `"message"`, "input[].type"),
		added("responses.status", "llmd says that an item of an answer is whole", apis, `"completed"`, "input[].status"),
		leftOut("responses.status-unsaid", "a call that is sent back is whole", apis, `"completed"`, "input[].status"),
		added("responses.no-annotations", "the text has none", apis, "[]", "input[].content[].annotations"),
		added("responses.no-content", "reasoning goes back as it came, and came with an empty content", apis, "[]", "input[].content"),
		{
			name: "responses.text-content", why: "a content of one text is a string or a list of one part",
			apis: apis, at: []string{"input[].content"},
			mend: func(want, got *node) (*node, *node, bool) {
				if text, ok := onlyTexts(want, "input_text"); ok && got.isString() {
					return got, got, text == got.text
				}
				text, ok := onlyTexts(got, "input_text")
				return got, got, ok && want.isString() && want.text == text
			},
		},
		{
			name: "responses.developer", why: "models that reason take the system prompt from the developer",
			apis: apis, at: []string{"input[].role"},
			mend: func(want, got *node) (*node, *node, bool) {
				return got, got, want.isString() && got.isString() && want.text == "system" && got.text == "developer"
			},
		},
		{
			name: "responses.item-ids", why: "the client left out the ids of items; llmd sends those that came, and makes one for a message without",
			apis: apis, at: []string{"input[].id"},
			mend: func(want, got *node) (*node, *node, bool) {
				ok := got.isString() && slices.ContainsFunc([]string{"rs_", "fc_", "msg_"}, func(p string) bool { return strings.HasPrefix(got.text, p) })
				return got, got, want == nil && ok
			},
		},
		{
			name: "responses.call-id", why: "the client put the response's id before the host's; llmd sends the host's alone, or respells what OpenAI would refuse",
			apis: apis, at: []string{"input[].call_id"},
			mend: func(want, got *node) (*node, *node, bool) {
				if !want.isString() || !got.isString() || !strings.HasPrefix(want.text, "resp_") {
					return nil, nil, false
				}
				_, host, ok := strings.Cut(want.text, ":")
				return got, got, ok && (got.text == host || got.text == strings.ReplaceAll(want.text, ":", "_"))
			},
		},
	}
}
