package openaichat

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// schemaNode is what decides whether a schema can be enforced.
type schemaNode struct {
	Type       json.RawMessage            `json:"type"`
	Enum       json.RawMessage            `json:"enum"`
	Const      json.RawMessage            `json:"const"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Additional *json.RawMessage           `json:"additionalProperties"`
	Items      json.RawMessage            `json:"items"`
}

// unenforced are the keywords that strict mode does not take.
// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
func unenforced() []string {
	return []string{
		"$ref", "$defs", "definitions", "allOf", "oneOf", "patternProperties", "dependentSchemas", "dependencies",
		"unevaluatedProperties", "propertyNames", "contains", "prefixItems", "not", "if", "then", "else",
	}
}

// strictSchema says why a schema cannot be enforced as it stands; empty = it can.
// Strict mode wants every property required and no others. Schemas are sent byte
// for byte, so one that is not made for strict mode is not rewritten for it.
func strictSchema(schema string) string {
	if err := strictNode(json.RawMessage(schema), false); err != nil {
		return err.Error()
	}
	return ""
}

// strictNode checks one node and what is below it. Inside anyOf only plain values
// are taken: how a host compiles unions of objects is not specified.
func strictNode(text json.RawMessage, inUnion bool) error {
	var keys map[string]json.RawMessage
	if json.Unmarshal(text, &keys) != nil || keys == nil {
		return errors.New("a schema that is no object")
	}
	for _, k := range unenforced() {
		if _, ok := keys[k]; ok {
			return errors.New("the keyword " + k)
		}
	}
	var n schemaNode
	if json.Unmarshal(text, &n) != nil {
		return errors.New("a keyword of an unusual type")
	}
	kinds, ok := n.kinds()
	if !ok {
		return errors.New("a node without type, anyOf or enum")
	}
	object, array := slices.Contains(kinds, "object"), slices.Contains(kinds, "array")
	switch {
	case inUnion && (object || array):
		return errors.New("an object or array inside anyOf")
	case n.Properties != nil && !object:
		return errors.New("properties of what is no object")
	}
	if object {
		if err := n.strictObject(); err != nil {
			return err
		}
	}
	if array {
		if err := strictNode(n.Items, false); err != nil {
			return err
		}
	}
	for _, a := range n.AnyOf {
		if err := strictNode(a, true); err != nil {
			return err
		}
	}
	return nil
}

// kinds are the types that a node names. A node may do with anyOf or enum.
func (n *schemaNode) kinds() (kinds []string, ok bool) {
	var one string
	switch {
	case n.Type == nil:
		return nil, n.AnyOf != nil || n.Enum != nil || n.Const != nil
	case json.Unmarshal(n.Type, &one) == nil:
		return []string{one}, true
	}
	return kinds, json.Unmarshal(n.Type, &kinds) == nil
}

// strictObject: what strict mode lacks is the choice to leave a property out, so
// every one must be required and no other allowed.
func (n *schemaNode) strictObject() error {
	if n.Additional == nil || string(*n.Additional) != "false" {
		return errors.New("an object without additionalProperties: false")
	}
	names := slices.Sorted(maps.Keys(n.Properties))
	required := slices.Clone(n.Required)
	slices.Sort(required)
	if !slices.Equal(names, slices.Compact(required)) {
		return errors.New("an object whose properties are not all required")
	}
	for _, name := range names {
		if err := strictNode(n.Properties[name], false); err != nil {
			return err
		}
	}
	return nil
}
