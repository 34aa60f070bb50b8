package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// object is a schema whose property "a" is required.
func object(a string) string {
	return `{"type":"object","properties":{"a":` + a + `},"required":["a"],"additionalProperties":false}`
}

// TestStrict: the results are those of the rules in doc.go, and of the reference
// library, but for the whitespace and the order, which stay the caller's.
func TestStrict(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"no parameters":        {NoParameters, `{"type":"object","properties":{},"required":[],"additionalProperties":false}`},
		"no properties at all": {`{"type":"object"}`, `{"type":"object","properties":{},"required":[],"additionalProperties":false}`},
		"strict already":       {object(`{ "type": "string" }`), object(`{ "type": "string" }`)},
		"optional": {
			`{ "type": "object", "properties": {"a":{"type":"string"}, "b": {"type":"number","description":"d"} }, "required": ["a"] }`,
			`{ "type": "object", "properties": {"a":{"type":"string"}, "b": {"anyOf":[{"type":"number","description":"d"},{"type":"null"}]} }, "required": ["a","b"] ,"additionalProperties":false}`,
		},
		"nothing required": {
			`{"type":"object","required":[ ],"properties":{"a":{"type":"string"},"b\"":{"type":"string"}},"additionalProperties":false}`,
			`{"type":"object","required":[ "a","b\""],"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b\"":{"anyOf":[{"type":"string"},{"type":"null"}]}},"additionalProperties":false}`,
		},
		"may be null already": {
			`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"string"},{"type":"null"}]},"c":{"enum":["x",null]},"d":{"type":"null"}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"string"},{"type":"null"}]},"c":{"enum":["x",null]},"d":{"type":"null"}},"required":["a","b","c","d"],"additionalProperties":false}`,
		},
		"null by its type, not by its enum": {
			`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x"]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":["string","null"],"enum":["x"]},{"type":"null"}]}},"required":["a"],"additionalProperties":false}`,
		},
		"inside": {
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"array","items":{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["x"],"additionalProperties":false}},{"type":"null"}]}},"required":["a"],"additionalProperties":false}`,
		},
		"names that look like keywords, data that looks like schemas": {
			object(`{"type":"object","properties":{"$ref":{"type":"string","const":{"allOf":1},"enum":["oneOf"]}},"required":["$ref"],"additionalProperties":false}`),
			object(`{"type":"object","properties":{"$ref":{"type":"string","const":{"allOf":1},"enum":["oneOf"]}},"required":["$ref"],"additionalProperties":false}`),
		},
	} {
		for rule, r := range map[string]Rules{"common": {}, "OpenAI": OpenAI(), "Claude": Claude()} {
			got, err := Strict(c.in, r)
			if err != nil || got != c.want {
				t.Errorf("%s, %s: %v\n%s, want\n%s", name, rule, err, got, c.want)
			}
			if !json.Valid([]byte(got)) || Holds(c.in, r) != (got == c.in) {
				t.Errorf("%s, %s: valid JSON %v, holds %v", name, rule, json.Valid([]byte(got)), Holds(c.in, r))
			}
		}
	}
}

func TestStrictReferences(t *testing.T) {
	in := `{"type":"object","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"properties":{"a":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"array","items":{"$ref":"#"}}]}},"required":["a"]}`
	want := `{"type":"object","$defs":{"n":{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"required":["next"],"additionalProperties":false}},"properties":{"a":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"array","items":{"$ref":"#"}}]}},"required":["a"],"additionalProperties":false}`
	// "reference can only point to definitions defined at the top level of the schema",
	// https://github.com/langchain-ai/langchainjs/pull/8389.
	zod := `{"type":"object","properties":{"a":{"type":"object","properties":{}},"b":{"$ref":"#/properties/a"}},"required":["a","b"]}`
	defined := `{"type":"object","properties":{"a":{"type":"object","properties":{},"required":[],"additionalProperties":false},"b":{"$ref":"#/$defs/properties_a"}},"required":["a","b"],` +
		`"$defs":{"properties_a":{"type":"object","properties":{},"required":[],"additionalProperties":false}},"additionalProperties":false}`
	for in, want := range map[string]string{in: want, want: want, zod: defined, defined: defined} {
		if got, err := Strict(in, OpenAI()); err != nil || got != want {
			t.Errorf("%v\n%s, want\n%s", err, got, want)
		}
	}
}

func TestFaults(t *testing.T) {
	common := map[string]struct{ in, keyword, path string }{
		"lookaround":             {object(`{"type":"string","pattern":"(?=.*P)"}`), "pattern", "/properties/a"},
		"property of Unicode":    {object(`{"type":"string","pattern":"^\\p{L}+$"}`), "pattern", "/properties/a"},
		"root is no object":      {`{"type":"string"}`, "type", ""},
		"root is a union":        {`{"type":"object","anyOf":[{"type":"string"}]}`, "anyOf", ""},
		"root without type":      {`{"properties":{}}`, "type", ""},
		"root is an array":       {`[]`, "", ""},
		"boolean":                {object(`true`), "", "/properties/a"},
		"without type":           {object(`{"description":"x"}`), "type", "/properties/a"},
		"const alone":            {object(`{"const":1}`), "type", "/properties/a"},
		"odd type":               {object(`{"type":1}`), "type", "/properties/a"},
		"deep":                   {object(`{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number","not":{}}]}}`), "not", "/properties/a/items/anyOf/1"},
		"escaped path":           {`{"type":"object","properties":{"a/~b":{"oneOf":[]}}}`, "oneOf", "/properties/a~1~0b"},
		"tuple":                  {object(`{"type":"array","items":[{"type":"string"}]}`), "items", "/properties/a"},
		"empty union":            {object(`{"anyOf":[]}`), "anyOf", "/properties/a"},
		"properties of a string": {object(`{"type":"string","properties":{}}`), "properties", "/properties/a"},
		"others allowed":         {object(`{"type":"object","properties":{},"additionalProperties":true}`), "additionalProperties", "/properties/a"},
		"others by a schema":     {`{"type":"object","additionalProperties":{"type":"string"}}`, "additionalProperties", ""},
		"any object":             {object(`{"type":"object"}`), "properties", "/properties/a"},
		"properties is a list":   {`{"type":"object","properties":[]}`, "properties", ""},
		"required is a word":     {`{"type":"object","properties":{},"required":"a"}`, "required", ""},
		"required is null":       {`{"type":"object","properties":{},"required":null}`, "required", ""},
		"required is unknown":    {`{"type":"object","properties":{},"required":["z"]}`, "required", ""},
	}
	for _, k := range []string{
		"allOf", "oneOf", "patternProperties", "dependentSchemas", "dependencies", "unevaluatedProperties", "propertyNames",
		"contains", "prefixItems", "not", "if", "then", "else",
	} {
		common[k] = struct{ in, keyword, path string }{object(`{"type":"string","` + k + `":{}}`), k, "/properties/a"}
	}
	for name, c := range common {
		for rule, r := range map[string]Rules{"common": {}, "OpenAI": OpenAI(), "Claude": Claude()} {
			fault(t, name+", "+rule, c.in, r, c.keyword, c.path)
		}
	}
	for k, in := range map[string]string{
		"$ref": object(`{"$ref":"#"}`), "$defs": `{"type":"object","$defs":{}}`, "definitions": `{"type":"object","definitions":{}}`,
	} {
		for rule, r := range map[string]Rules{"common": {}, "Claude": Claude()} {
			fault(t, k+", "+rule, in, r, k, map[string]string{"$ref": "/properties/a"}[k])
		}
	}
	union := object(`{"anyOf":[{"type":"object","properties":{}},{"type":"null"}]}`)
	fault(t, "union", union, Rules{}, "type", "/properties/a/anyOf/0")
	if _, err := Strict(union, OpenAI()); err != nil {
		t.Errorf("union: %v", err)
	}
	// The keywords for texts, numbers and lists that it has are "pattern", "format" and lengths, the
	// bounds and "multipleOf", and "minItems" and "maxItems".
	for _, k := range []string{"uniqueItems", "minProperties", "maxProperties", "minContains", "maxContains", "unevaluatedItems", "default"} {
		fault(t, k, object(`{"type":"string","`+k+`":1}`), OpenAI(), k, "/properties/a")
	}
	for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if _, err := Strict(object(`{"type":"number","`+k+`":1}`), OpenAI()); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
	for _, k := range []string{"minLength", "maxLength"} {
		text := object(`{"type":"string","` + k + `":1}`)
		if _, err := Strict(text, OpenAI()); err != nil {
			t.Errorf("%s: %v", k, err)
		}
		fault(t, k, text, Compatible(), k, "/properties/a")
	}
	fault(t, "array of anything", object(`{"type":"array"}`), OpenAI(), "items", "/properties/a")
	fault(t, "reference beside", object(`{"$ref":"#","description":"x"}`), OpenAI(), "$ref", "/properties/a")
	fault(t, "reference elsewhere", object(`{"$ref":"https://example.com"}`), OpenAI(), "$ref", "/properties/a")
	fault(t, "reference to nothing", `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"a":{"type":"null"}}}`, OpenAI(), "$ref", "/properties/a")
	fault(t, "reference at the root", `{"$ref":"#/$defs/a"}`, OpenAI(), "$ref", "")
}

// TestClaudeFaults: what only Claude's grammar cannot say.
func TestClaudeFaults(t *testing.T) {
	for _, k := range []string{
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems",
		"minContains", "maxContains", "minProperties", "maxProperties",
	} {
		in := object(`{"type":"number","` + k + `":1}`)
		fault(t, k, in, Claude(), k, "/properties/a")
		if _, err := Strict(in, Rules{}); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
	fault(t, "minItems", object(`{"type":"array","items":{"type":"string"},"minItems":2}`), Claude(), "minItems", "/properties/a")
	fault(t, "format", object(`{"type":"string","format":"color"}`), Claude(), "format", "/properties/a")
	fault(t, "enum", object(`{"enum":[1,{}]}`), Claude(), "enum", "/properties/a")
	// Its answers to these: "Backreferences are not supported", "\b is not supported",
	// https://github.com/ENTERPILOT/GoModel/pull/963.
	for _, expression := range []string{`^(a)\\1$`, `\\bParis\\b`} {
		in := object(`{"type":"string","pattern":"` + expression + `"}`)
		fault(t, expression, in, Claude(), "pattern", "/properties/a")
		if _, err := Strict(in, OpenAI()); err != nil {
			t.Errorf("%s: %v", expression, err)
		}
	}
	for _, in := range []string{
		`{"type":"array","items":{"type":"string"},"minItems":1}`, `{"type":"string","format":"uri"}`, `{"type":"string","pattern":"^P[a-z\\b]+$"}`, `{"enum":["[",null]}`,
	} {
		if _, err := Strict(object(in), Claude()); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func fault(t *testing.T, name, in string, r Rules, keyword, path string) {
	t.Helper()
	_, err := Strict(in, r)
	var f *Error
	if !errors.As(err, &f) || f.Keyword != keyword || f.Path != path || !strings.Contains(err.Error(), keyword) {
		t.Errorf("%s: %v, want keyword %q at %q", name, err, keyword, path)
	}
}

func TestTyped(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: NoParameters, ` { } `: NoParameters, `{"type":"string"}`: `{"type":"string"}`,
		` {"properties":{ }}`:           `{"type":"object","properties":{ }}`,
		`{"type": ["object", "null"] }`: `{"type": "object" }`, `{"type":["string"]}`: `{"type":["string"]}`,
	} {
		if got := Typed(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzStrict(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"x":{"enum":[1]}}}}}}`)
	f.Add(`{"type":"object","$defs":{"n":{"type":["object","null"],"properties":{}}},"required":[]}`)
	f.Fuzz(func(t *testing.T, in string) {
		if !json.Valid([]byte(in)) {
			return
		}
		got, err := Strict(in, OpenAI())
		if err != nil {
			return
		}
		if again, err := Strict(got, OpenAI()); err != nil || again != got {
			t.Fatalf("%s became %s, and that %s, %v", in, got, again, err)
		}
	})
}
