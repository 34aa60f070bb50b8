package schema

// Rules is what a provider takes of a strict schema. The zero value is what all of
// them take.
type Rules struct {
	// References: "$ref" to a place in the schema itself.
	References bool
	// Unions: objects and arrays may stand in "anyOf".
	Unions bool
	// Items: an array must say what its items are.
	Items bool
	// Refused are keywords that are refused besides those that all refuse.
	Refused []string
	// Formats are the values that "format" may have; none = any.
	Formats []string
	// ShortMinItems: "minItems" may be 0 or 1 alone.
	ShortMinItems bool
	// SimplePatterns: a "pattern" has neither references to its groups nor boundaries of
	// words.
	SimplePatterns bool
	// Scalars: the values of "enum" are no objects and no arrays.
	Scalars bool
}

// OpenAI are the rules of OpenAI. What its list does not name is refused with the request:
// "'uniqueItems' is not permitted", and so is a default. The lengths of texts are taken and
// kept to, although the list names them only as what fine-tuned models do not have.
//
//   - https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
//   - https://github.com/openai/openai-node/pull/1988
//   - https://github.com/mastra-ai/mastra/issues/23321
//   - https://github.com/pydantic/pydantic-ai/pull/7400
func OpenAI() Rules {
	return Rules{
		References: true,
		Unions:     true,
		Items:      true,
		Refused: []string{
			"dependentRequired", "default", "uniqueItems", "unevaluatedItems", "minContains", "maxContains",
			"minProperties", "maxProperties",
		},
		Formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
	}
}

// Compatible are the rules of those that follow OpenAI, as far as they are known: some have
// no lengths of texts, https://api-docs.deepseek.com/guides/tool_calls.
func Compatible() Rules {
	r := OpenAI()
	r.Refused = append(r.Refused, "minLength", "maxLength")
	return r
}

// Claude are the rules of the models of Anthropic, on Bedrock as well.
// https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations
// https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html
func Claude() Rules {
	return Rules{
		Refused: []string{
			"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
			"maxItems", "uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties",
		},
		Formats:        []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
		ShortMinItems:  true,
		SimplePatterns: true,
		Scalars:        true,
	}
}

// refused are the keywords that no provider takes.
func refused() []string {
	return []string{
		"allOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas",
		"patternProperties", "propertyNames", "unevaluatedProperties", "prefixItems", "contains",
	}
}

// references are those that not all take.
func references() []string { return []string{"$ref", "$defs", "definitions"} }
