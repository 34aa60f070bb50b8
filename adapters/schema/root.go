package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// Listed is a schema of an object that says which properties it has, if only that it
// has none. Of another schema, and of one that says it, every byte stays.
func Listed(text string) string {
	members, err := jsonwire.Members([]byte(text))
	end := strings.LastIndexByte(text, '}')
	if err != nil || end < 0 || !slices.ContainsFunc(members, func(m jsonwire.Member) bool { return m.Key == "type" && string(m.Value) == `"object"` }) ||
		slices.ContainsFunc(members, func(m jsonwire.Member) bool { return m.Key == "properties" }) {
		return text
	}
	return text[:end] + `,"properties":{}` + text[end:]
}

// ClaudeRoot are the keywords that the models of Anthropic refuse at the top of a
// tool's schema: "input_schema does not support oneOf, allOf, or anyOf at the top level",
// https://github.com/anthropics/claude-code/issues/5319.
func ClaudeRoot() []string { return []string{"oneOf", "allOf", "anyOf"} }

// OpenAIRoot are those that OpenAI refuses: "schema must have type 'object' and not have
// 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level".
func OpenAIRoot() []string { return []string{"oneOf", "anyOf", "allOf", "enum", "not"} }

// Flat is a schema without these keywords at its top, and the ones that it had. The
// properties that their alternatives name become the schema's own, none of them
// required, so that a model still knows them. Without such keywords every byte stays.
func Flat(text string, refused []string) (flat string, had []string) {
	members, err := jsonwire.Members([]byte(text))
	if err != nil {
		return text, nil
	}
	var kept, properties []jsonwire.Member
	for _, m := range members {
		switch {
		case slices.Contains(refused, m.Key):
			had = append(had, m.Key)
			properties = append(properties, alternatives(m)...)
		default:
			kept = append(kept, m)
		}
	}
	if had == nil {
		return text, nil
	}
	var w jsonwire.Writer
	w.BeginObject()
	for _, m := range kept {
		w.Key(m.Key)
		if m.Key != "properties" {
			w.RawBytes(m.Value)
			continue
		}
		own, _ := jsonwire.Members(m.Value) // none if it is no object
		writeProperties(&w, append(own, properties...))
		properties = nil
	}
	if len(properties) > 0 {
		w.Key("properties")
		writeProperties(&w, properties)
	}
	w.EndObject()
	return string(w.Bytes()), had
}

// alternatives are the properties that the schemas of a list name.
func alternatives(m jsonwire.Member) (properties []jsonwire.Member) {
	var list []json.RawMessage
	if m.Key == "enum" || json.Unmarshal(m.Value, &list) != nil {
		return nil
	}
	for _, branch := range list {
		members, _ := jsonwire.Members(branch) // none if it is no object
		for _, b := range members {
			if b.Key == "properties" {
				named, _ := jsonwire.Members(b.Value)
				properties = append(properties, named...)
			}
		}
	}
	return properties
}

// writeProperties writes each name once, the first that has it.
func writeProperties(w *jsonwire.Writer, properties []jsonwire.Member) {
	seen := map[string]bool{}
	w.BeginObject()
	for _, p := range properties {
		if !seen[p.Key] {
			seen[p.Key] = true
			w.Key(p.Key)
			w.RawBytes(p.Value)
		}
	}
	w.EndObject()
}
