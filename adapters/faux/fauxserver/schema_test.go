package fauxserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What is made for a schema is valid, says another implementation of JSON Schema.
func TestValuesAreValid(t *testing.T) {
	for name, schema := range map[string]string{
		"none":        `{}`,
		"true":        `true`,
		"object":      `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"number"},"d":{"type":"boolean"},"e":{"type":"null"}},"required":["a","b","c","d","e"],"additionalProperties":false}`,
		"enum":        `{"type":"object","properties":{"u":{"enum":["C","F"]},"v":{"const":{"x":[1]}}},"required":["u","v"]}`,
		"array":       `{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]},"minItems":3}`,
		"nullable":    `{"type":["null","string"],"minLength":500}`,
		"short":       `{"type":"string","maxLength":4}`,
		"formats":     `{"type":"object","properties":{"a":{"type":"string","format":"date"},"b":{"type":"string","format":"date-time"},"c":{"type":"string","format":"email"},"d":{"type":"string","format":"uuid"},"e":{"type":"string","format":"uri"},"f":{"type":"string","format":"ipv6"},"g":{"type":"string","format":"time"},"h":{"type":"string","format":"duration"},"i":{"type":"string","format":"json-pointer"}}}`,
		"ranges":      `{"type":"object","properties":{"a":{"type":"integer","minimum":10},"b":{"type":"integer","maximum":-2},"c":{"type":"integer","exclusiveMinimum":3},"d":{"type":"integer","exclusiveMaximum":3},"e":{"type":"integer","minimum":4,"multipleOf":5},"f":{"type":"integer","maximum":-1,"multipleOf":7},"g":{"type":"integer","minimum":0.5,"maximum":1.5}}}`,
		"real ranges": `{"type":"object","properties":{"a":{"type":"number","minimum":10.5},"b":{"type":"number","exclusiveMinimum":3},"c":{"type":"number","exclusiveMaximum":3},"d":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":0.25},"e":{"type":"number","multipleOf":0.5,"minimum":3.2}}}`,
		"all of":      `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"integer"}},"required":["a","b"]}]}`,
		"any of":      `{"anyOf":[{"type":"integer"},{"type":"string"}]}`,
		"one of":      `{"type":"object","properties":{"x":{"oneOf":[{"type":"integer"},{"type":"string"}]}}}`,
		"references":  `{"$defs":{"city/name":{"type":"string"},"place":{"type":"object","properties":{"n":{"$ref":"#/$defs/city~1name"}},"required":["n"]}},"type":"object","properties":{"p":{"$ref":"#/$defs/place"}},"required":["p"]}`,
		"recursive":   `{"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/node"},"all":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["v"]}},"$ref":"#/$defs/node"}`,
		"no type":     `{"properties":{"a":{"items":{"type":"integer"}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
			if err != nil {
				t.Fatal(err)
			}
			c := jsonschema.NewCompiler()
			c.AssertFormat()
			if err := c.AddResource("schema.json", doc); err != nil {
				t.Fatal(err)
			}
			compiled, err := c.Compile("schema.json")
			if err != nil {
				t.Fatal(err)
			}
			for variant := range 3 {
				text := valueOf(json.RawMessage(schema), "What's up?", variant)
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				if err := compiled.Validate(value); err != nil {
					t.Errorf("%s: %v", text, err)
				}
			}
		})
	}
}

// A schema of a line may ask for any length, and what it has once for many values.
func TestLargeValues(t *testing.T) {
	array := func(n int, items string) string {
		return strings.Repeat(`{"type":"array","minItems":16,"items":`, n) + items + strings.Repeat("}", n)
	}
	properties := func(n int) (all string) {
		for i := range n {
			all += fmt.Sprintf(`,{"properties":{"property%d":{"type":"integer"}}}`, i)
		}
		return all[1:]
	}
	constant := `{"const":"` + strings.Repeat("x", 200_000) + `"}`
	for name, schema := range map[string]string{
		"a long text":    `{"type":"string","minLength":9223372036854775807}`,
		"long texts":     array(3, `{"type":"string","minLength":100000}`),
		"long constants": array(3, constant),
		"references":     `{"$defs":{"c":` + constant + `},"type":"array","minItems":16,"items":` + array(3, `{"$ref":"#/$defs/c"}`) + `}`,
		"combined":       `{"allOf":[` + properties(5000) + `]}`,
	} {
		began := time.Now()
		text := valueOf(json.RawMessage(schema), "Hi", 0)
		if !json.Valid([]byte(text)) || len(text) > 1<<20 {
			t.Errorf("%s: %d bytes, %.100s", name, len(text), text)
		}
		if took := time.Since(began); took > 30*time.Second { // of what would take minutes
			t.Errorf("%s took %v", name, took)
		}
	}
}

// Whatever the schema, it is JSON, soon, and for a tool an object.
func TestOddSchemas(t *testing.T) {
	for _, schema := range []string{
		``, `{}`, `[]`, `12`, `{"type":12}`, `{"type":"string"}`, `{"$ref":"#"}`, `{"$ref":"other.json"}`, `{"allOf":[{"$ref":"#"}]}`,
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, `{"type":"object","properties":[]}`,
		`{"type":"array","minItems":1000000000,"items":{"$ref":"#"}}`, `{"type":"integer","minimum":1e300}`,
		`{"exclusiveMinimum":true,"type":"number"}`, `{"type":"object","properties":{"<b>\u0000":{}}}`,
	} {
		text := argumentsFor(json.RawMessage(schema), "Hi", 0)
		if !json.Valid([]byte(text)) || text[0] != '{' || len(text) > 1<<20 {
			t.Errorf("%s: %.100s", schema, text)
		}
	}
}

func TestChunks(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"one two  three\nfour", 0, "one |two  |three\n|four"},
		{strings.Repeat("é", 30), 0, strings.Repeat("é", 24) + "|" + strings.Repeat("é", 6)},
		{"äöüß", 3, "äöü|ß"},
		{"", 0, ""},
	} {
		var l []string
		for chunk := range chunks(c.text, c.n) {
			if !utf8.ValidString(chunk) {
				t.Errorf("%q is cut inside a character", c.text)
			}
			l = append(l, chunk)
		}
		if got := strings.Join(l, "|"); got != c.want {
			t.Errorf("%q by %d: %s, want %s", c.text, c.n, got, c.want)
		}
	}
}
