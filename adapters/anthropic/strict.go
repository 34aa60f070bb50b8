package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// strictFault says why the provider could not hold a model to a schema as it
// stands; "" = it can. The schema is a valid JSON object.
// https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations.
func strictFault(schema string) string {
	return strictNode(json.RawMessage(schema), false)
}

// strictUnsupported are keywords that no strict schema may have.
func strictUnsupported() []string {
	return []string{
		"$ref", "$defs", "definitions", "allOf", "oneOf", "patternProperties", "dependentSchemas", "dependencies",
		"unevaluatedProperties", "propertyNames", "contains", "prefixItems", "not", "if", "then", "else",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxItems", "uniqueItems",
		"minContains", "maxContains", "minProperties", "maxProperties",
	}
}

// strictFormats are the values that "format" may have.
func strictFormats() []string {
	return []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
}

// node holds the keywords of a schema that strictness depends on.
type node struct {
	Type       json.RawMessage   `json:"type"`
	AnyOf      []json.RawMessage `json:"anyOf"`
	Enum       json.RawMessage   `json:"enum"`
	Properties json.RawMessage   `json:"properties"`
	Required   []string          `json:"required"`
	Additional json.RawMessage   `json:"additionalProperties"`
	Items      json.RawMessage   `json:"items"`
	MinItems   json.RawMessage   `json:"minItems"`
	Format     *string           `json:"format"`
}

// strictNode checks one schema and all within it. The provider compiles schemas to
// a grammar, and each of these faults is something a grammar cannot say.
func strictNode(schema json.RawMessage, inAnyOf bool) string {
	members, err := jsonwire.Members(schema)
	if err != nil {
		return "a schema that is no object"
	}
	for _, m := range members {
		if slices.Contains(strictUnsupported(), m.Key) {
			return fmt.Sprintf("keyword %q", m.Key)
		}
	}
	var n node
	if json.Unmarshal(schema, &n) != nil {
		return "a keyword whose value has the wrong type"
	}
	types := n.types()
	switch {
	case len(types) == 0 && n.AnyOf == nil && n.Enum == nil:
		return `a schema without keyword "type", "anyOf" or "enum"`
	case inAnyOf && (slices.Contains(types, "object") || slices.Contains(types, "array")):
		return `an object or array in keyword "anyOf"`
	case n.MinItems != nil && string(n.MinItems) != "0" && string(n.MinItems) != "1":
		return `keyword "minItems" other than 0 or 1`
	case n.Format != nil && !slices.Contains(strictFormats(), *n.Format):
		return `keyword "format" with a value that is not supported`
	case n.Properties != nil && !slices.Contains(types, "object"):
		return `keyword "properties" without the type "object"`
	}
	if slices.Contains(types, "object") {
		if fault := n.object(); fault != "" {
			return fault
		}
	}
	return n.children()
}

// object checks what every object must say: which members it has, that all of
// them are there, and that there are no others.
func (n *node) object() string {
	if string(n.Additional) != "false" {
		return `keyword "additionalProperties" is not false`
	}
	properties, err := n.properties()
	if err != nil {
		return `keyword "properties" is no object`
	}
	for _, p := range properties {
		if !slices.Contains(n.Required, p.Key) {
			return `keyword "required" does not name every property`
		}
	}
	for _, name := range n.Required {
		if !slices.ContainsFunc(properties, func(p jsonwire.Member) bool { return p.Key == name }) {
			return `keyword "required" names a property that is not there`
		}
	}
	return ""
}

// properties are the members of an object, in order.
func (n *node) properties() ([]jsonwire.Member, error) {
	if n.Properties == nil {
		return nil, nil
	}
	return jsonwire.Members(n.Properties)
}

// children checks the schemas inside.
func (n *node) children() string {
	properties, err := n.properties()
	if err != nil {
		return `keyword "properties" is no object`
	}
	for _, p := range properties {
		if fault := strictNode(p.Value, false); fault != "" {
			return fault
		}
	}
	for _, s := range n.AnyOf {
		if fault := strictNode(s, true); fault != "" {
			return fault
		}
	}
	if n.Items != nil {
		return strictNode(n.Items, false)
	}
	return ""
}

// types are the names in "type", which is one or a list.
func (n *node) types() []string {
	var one string
	if json.Unmarshal(n.Type, &one) == nil {
		return []string{one}
	}
	var list []string
	_ = json.Unmarshal(n.Type, &list) // anything else names no type
	return list
}
