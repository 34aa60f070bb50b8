package providersim

import (
	"slices"
	"strings"
)

func responsesCallIDs(r *request, bad report) {
	check := func(id *value, path string) {
		switch n := len(id.str()); {
		case n == 0:
			bad(path, "Missing required parameter: '%s.call_id'.", path)
		case n > 64:
			bad(path, "Invalid '%s.call_id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", path, n)
		}
	}
	for _, c := range r.calls {
		check(c.id, c.path)
	}
	for _, res := range r.results {
		check(res.id, res.path)
	}
}

func responsesCallNames(r *request, bad report) {
	for _, c := range r.calls {
		if !matches(c.name.str(), 128, "_-.") {
			bad(c.path+".name", "Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", c.path)
		}
	}
}

func responsesArguments(r *request, bad report) {
	for _, c := range r.calls {
		if !c.args.is(text) {
			bad(c.path+".arguments", "Invalid type for '%s.arguments': expected a string.", c.path)
		}
	}
}

// stored: the provider knows the conversation, of which the input is only the end.
func (r *request) stored() bool {
	return r.body.get("previous_response_id").set() || r.body.get("conversation").set()
}

func responsesHasOutput(r *request, bad report) {
	for _, c := range r.calls {
		if !slices.ContainsFunc(r.results, func(res result) bool { return res.msg > c.msg && res.id.str() == c.id.str() }) {
			bad(c.path, "No tool output found for function call %s.", c.id.str())
		}
	}
}

func responsesHasCall(r *request, bad report) {
	for _, res := range r.results {
		if !r.stored() && !slices.ContainsFunc(r.calls, func(c call) bool { return c.msg < res.msg && res.id.str() == c.id.str() }) {
			bad(res.path, "No tool call found for function call output with call_id %s.", res.id.str())
		}
	}
}

func responsesOnce(r *request, bad report) {
	seen := map[string]bool{}
	for _, res := range r.results {
		if id := res.id.str(); seen[id] {
			bad(res.path, "Duplicate function call output for call_id %s.", id)
		}
		seen[res.id.str()] = true
	}
}

func responsesOutputShape(r *request, bad report) {
	for _, res := range r.results {
		output := res.value.get("output")
		if !output.is(text) && !output.is(array) {
			bad(res.path+".output", "Missing required parameter: '%s.output'.", res.path)
		}
		if output.is(array) && len(output.items) == 0 {
			bad(res.path+".output", "Invalid '%s.output': empty array.", res.path)
		}
		for i, p := range output.list() {
			if kind := p.get("type").str(); !slices.Contains([]string{"input_text", "input_image", "input_file"}, kind) {
				bad(at(res.path+".output", i), "Invalid value: '%s'.", kind)
			}
		}
	}
}

func responsesReasoningShape(r *request, bad report) {
	for _, m := range r.messages {
		if m.kind() != "reasoning" {
			continue
		}
		if !m.value.get("summary").is(array) {
			bad(m.path, "Missing required parameter: '%s.summary'.", m.path)
		}
	}
}

// responsesFollowed: reasoning leads to an item of the same turn.
func responsesFollowed(r *request, bad report) {
	for i, m := range r.messages {
		if m.kind() != "reasoning" {
			continue
		}
		next := i + 1
		for next < len(r.messages) && r.messages[next].kind() == "reasoning" {
			next++
		}
		if next == len(r.messages) || !r.messages[next].said() {
			bad(m.path, "Item '%s' of type 'reasoning' was provided without its required following item.", m.value.get("id").str())
		}
	}
}

// responsesEncrypted: what the provider has not kept must be there as a whole.
func responsesEncrypted(r *request, bad report) {
	if store := r.body.get("store"); !store.is(boolean) || store.truth() {
		return
	}
	for _, m := range r.messages {
		if m.kind() == "item_reference" || m.kind() == "reasoning" && m.value.get("encrypted_content").str() == "" && len(m.value.get("content").list()) == 0 {
			bad(m.path, "Item with id '%s' not found. Items are not persisted when `store` is set to false.", m.value.get("id").str())
		}
	}
}

// An id of the simulator says which reasoning led to the item: its first digits are
// those of the reasoning's id, or zeros.
const leadDigits = 16

func itemID(prefix, reasoning, nonce string) string {
	lead := strings.Repeat("0", leadDigits)
	if reasoning != "" {
		lead = strings.TrimPrefix(reasoning, "rs_")[:leadDigits]
	}
	return prefix + "_" + lead + nonce
}

// leader gives the digits of the reasoning that an item needs; empty = none.
func leader(id string) string {
	_, digits, _ := strings.Cut(id, "_")
	if len(digits) != leadDigits+8 || strings.Trim(digits, "0123456789abcdef") != "" || strings.HasPrefix(digits, strings.Repeat("0", leadDigits)) {
		return ""
	}
	return digits[:leadDigits]
}

// responsesBefore: an item with its id needs the reasoning that led to it, before it
// in its turn.
func responsesBefore(r *request, bad report) {
	var turn []string // digits of the reasoning so far
	for _, m := range r.messages {
		id := m.value.get("id").str()
		switch {
		case !m.said():
			turn = nil
		case m.kind() == "reasoning":
			turn = append(turn, strings.TrimPrefix(id, "rs_"))
		case leader(id) != "" && !slices.ContainsFunc(turn, func(rs string) bool { return strings.HasPrefix(rs, leader(id)) }):
			bad(m.path, "Item '%s' of type '%s' was provided without its required 'reasoning' item: 'rs_%s'.", id, m.kind(), leader(id))
		}
	}
}

// summaryOf is the text that encrypted reasoning is bound to.
func summaryOf(item *value) string {
	var b strings.Builder
	for _, s := range item.get("summary").list() {
		b.WriteString(s.get("text").str())
		b.WriteByte(0)
	}
	return b.String()
}

func responsesSigned(r *request, bad report) {
	for _, m := range r.messages {
		if m.kind() != "reasoning" {
			continue
		}
		if !r.signed(m.value.get("encrypted_content").str(), "reasoning", m.value.get("id").str()+"\x00"+summaryOf(m.value)) {
			bad(m.path, "The encrypted content could not be verified.")
		}
	}
}

func responsesToolNames(r *request, bad report) {
	toolNames(r.body.get("tools").list(), "tools", func(t *value) *value {
		if t.get("type").str() != "function" {
			return nil
		}
		return t.get("name")
	}, bad, "_-.", 128)
}

func responsesToolSchema(r *request, bad report) {
	for i, t := range r.body.get("tools").list() {
		path := at("tools", i)
		if t.get("type").str() == "" {
			bad(path+".type", "Missing required parameter: '%s.type'.", path)
		}
		if p := t.get("parameters"); t.get("type").str() == "function" && p.set() {
			schemaType(p, bad, path+".parameters")
			openAISchema(p, bad, path+".parameters")
		}
	}
}

func responsesStrict(r *request, bad report) {
	for i, t := range r.body.get("tools").list() {
		if t.get("strict").truth() {
			strictSchema(t.get("parameters"), bad, at("tools", i)+".parameters")
		}
	}
	if f := r.body.get("text", "format"); f.get("strict").truth() {
		strictSchema(f.get("schema"), bad, "text.format.schema")
	}
}

func responsesChoice(r *request, bad report) {
	choice := r.body.get("tool_choice")
	tools := r.body.get("tools").list()
	name := choice.get("name").str()
	switch {
	case !choice.set():
	case len(tools) == 0 && (choice.str() == "required" || name != ""):
		bad("tool_choice", "Tool choice '%s' not found in 'tools' parameter.", name)
	case choice.is(text) && !slices.Contains([]string{"none", "auto", "required"}, choice.str()):
		bad("tool_choice", "Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", choice.str())
	case name != "" && !slices.ContainsFunc(tools, func(t *value) bool { return t.get("name").str() == name }):
		bad("tool_choice", "Tool choice '%s' not found in 'tools' parameter.", name)
	}
}
