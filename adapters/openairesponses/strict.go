package openairesponses

import (
	"encoding/json"
	"slices"
)

// schema is what decides whether a JSON Schema can be enforced.
type schema struct {
	Type                 json.RawMessage
	Enum                 json.RawMessage
	AnyOf                []json.RawMessage
	Properties           map[string]json.RawMessage
	Required             []string
	AdditionalProperties json.RawMessage
	Items                json.RawMessage
}

// forbidden are the keywords that strict mode does not take.
// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
func forbidden() []string {
	return []string{
		"$ref", "$defs", "definitions", "allOf", "oneOf", "patternProperties", "dependentSchemas", "dependencies",
		"unevaluatedProperties", "propertyNames", "contains", "prefixItems", "not", "if", "then", "else",
	}
}

// strictSchema says what in a schema keeps it from being enforced; empty = nothing.
// Strict mode wants every property required and no other ones. Schemas are sent byte
// for byte, so one that was not made for strict mode is not rewritten for it.
func strictSchema(text string) string { return obstacle(json.RawMessage(text), false) }

// obstacle finds the first one, from the outside in.
func obstacle(text json.RawMessage, inAnyOf bool) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || members == nil {
		return "a part that is no object"
	}
	for _, keyword := range forbidden() {
		if _, ok := members[keyword]; ok {
			return "the keyword " + keyword
		}
	}
	var s schema
	if json.Unmarshal(text, &s) != nil {
		return "a keyword with an unusual value"
	}
	types, ok := s.types()
	if !ok {
		return "a part without type, anyOf or enum"
	}
	object, array := slices.Contains(types, "object"), slices.Contains(types, "array")
	switch {
	case inAnyOf && (object || array):
		return "an object or array inside anyOf"
	case s.Properties != nil && !object:
		return "properties without type object"
	case object && string(s.AdditionalProperties) != "false":
		return "an object without additionalProperties false"
	case object && !s.allRequired():
		return "an object whose properties are not all required"
	}
	return s.inner(array)
}

// inner looks into the parts of a schema.
func (s *schema) inner(array bool) string {
	// The order of a map must not decide which obstacle is named.
	names := slices.Clone(s.Required)
	slices.Sort(names)
	for _, name := range names {
		if o := obstacle(s.Properties[name], false); o != "" {
			return o
		}
	}
	if array {
		if o := obstacle(s.Items, false); o != "" {
			return o
		}
	}
	for _, alternative := range s.AnyOf {
		if o := obstacle(alternative, true); o != "" {
			return o
		}
	}
	return ""
}

// types are the types that a part names; anyOf or enum do without.
func (s *schema) types() (types []string, ok bool) {
	if s.Type == nil {
		return nil, s.AnyOf != nil || s.Enum != nil
	}
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return []string{one}, true
	}
	return types, json.Unmarshal(s.Type, &types) == nil
}

// allRequired says whether required names the properties, all of them and no others.
func (s *schema) allRequired() bool {
	names := map[string]bool{}
	for _, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			return false
		}
		names[name] = true
	}
	return len(names) == len(s.Properties)
}
