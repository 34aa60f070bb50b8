package bedrock

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// strictSchema holds the keywords of a schema that strictness depends on.
type strictSchema struct {
	Type       json.RawMessage
	AnyOf      []json.RawMessage
	Enum       json.RawMessage
	Properties json.RawMessage
	Required   []string
	Additional json.RawMessage `json:"additionalProperties"`
	Items      json.RawMessage
	MinItems   json.RawMessage
	Format     *string
}

// refusedInStrict are keywords that a strict schema cannot have.
func refusedInStrict() []string {
	return []string{
		"$ref", "$defs", "definitions", "allOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas",
		"patternProperties", "propertyNames", "unevaluatedProperties", "minProperties", "maxProperties",
		"prefixItems", "contains", "minContains", "maxContains", "maxItems", "uniqueItems",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	}
}

// strictFault says why the model could not be held to a schema as it stands; empty =
// it can be. The schema is a valid JSON object. Bedrock compiles it to a grammar; each
// fault is something that such a grammar cannot say.
// https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html.
func strictFault(schema string) string { return strictPart([]byte(schema), false) }

// strictPart checks one schema and those inside it.
func strictPart(schema []byte, alternative bool) string {
	members, err := jsonwire.Members(schema)
	if err != nil {
		return "a schema is no object"
	}
	for _, m := range members {
		if slices.Contains(refusedInStrict(), m.Key) {
			return fmt.Sprintf("keyword %q", m.Key)
		}
	}
	var s strictSchema
	if json.Unmarshal(schema, &s) != nil {
		return "the value of a keyword has the wrong type"
	}
	properties, err := s.properties()
	if err != nil {
		return `keyword "properties" is no object`
	}
	if fault := s.fault(alternative, properties); fault != "" {
		return fault
	}
	for _, p := range properties {
		if fault := strictPart(p.Value, false); fault != "" {
			return fault
		}
	}
	for _, a := range s.AnyOf {
		if fault := strictPart(a, true); fault != "" {
			return fault
		}
	}
	if s.Items != nil {
		return strictPart(s.Items, false)
	}
	return ""
}

// fault checks what one schema says of itself. alternative: it stands in "anyOf".
func (s *strictSchema) fault(alternative bool, properties []jsonwire.Member) string {
	types := s.types()
	object := slices.Contains(types, "object")
	switch {
	case len(types) == 0 && s.AnyOf == nil && s.Enum == nil:
		return `a schema has no "type", "anyOf" or "enum"`
	case alternative && (object || slices.Contains(types, "array")):
		return `an object or array in "anyOf"`
	case s.MinItems != nil && string(s.MinItems) != "0" && string(s.MinItems) != "1":
		return `"minItems" is neither 0 nor 1`
	case s.Format != nil && !knownFormat(*s.Format):
		return `"format" has a value that is not supported`
	case s.Properties != nil && !object:
		return `"properties" without the type "object"`
	case object && string(s.Additional) != "false":
		return `"additionalProperties" is not false`
	case object && !sameNames(properties, s.Required):
		return `"required" does not name every property and nothing else`
	}
	return ""
}

func (s *strictSchema) properties() ([]jsonwire.Member, error) {
	if s.Properties == nil {
		return nil, nil
	}
	return jsonwire.Members(s.Properties)
}

// types are the names in "type", which is one or a list.
func (s *strictSchema) types() []string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return []string{one}
	}
	var list []string
	_ = json.Unmarshal(s.Type, &list) // anything else names no type
	return list
}

func sameNames(properties []jsonwire.Member, names []string) bool {
	for _, p := range properties {
		if !slices.Contains(names, p.Key) {
			return false
		}
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(properties, func(p jsonwire.Member) bool { return p.Key == name })
	})
}

func knownFormat(format string) bool {
	switch format {
	case "date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid":
		return true
	}
	return false
}
