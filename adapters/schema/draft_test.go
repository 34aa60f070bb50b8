package schema

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestFit: what a draft has no words for is put in others, all else keeps its bytes.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		name     string
		draft    Draft
		in, want string // empty = as it is
		had      string
	}{
		{"bytes are kept", OpenAIDraft(), `{ "type" : "object", "properties":{"a":{"exclusiveMinimum":1.0,"items":{ }}} }`, "", ""},
		{"no object", Latest(), `[ ]`, "", ""},
		{
			"tuple", Latest(), `{"properties":{"a":{"type":"array","items":[{"type":"number"},{"items":[{}]}],"additionalItems":false}}}`,
			`{"properties":{"a":{"type":"array","prefixItems":[{"type":"number"},{"prefixItems":[{}]}],"items":false}}}`, "items",
		},
		{"tuple elsewhere", Draft{}, `{"items":[{"type":"number"}]}`, "", ""},
		{"rest of no tuple", Latest(), `{"items":{},"additionalItems":false}`, "", ""},
		{"empty tuple", Draft{}, `{"items":[],"additionalItems":{"type":"string"}}`, `{"items":{"type":"string"}}`, "items"},
		{"both kinds of tuple", Latest(), `{"prefixItems":[{}],"items":[{}]}`, `{"prefixItems":[{}]}`, "items"},
		{"bound", Draft{}, `{"anyOf":[{"minimum":0,"exclusiveMinimum":true},{"exclusiveMaximum":true,"maximum":9}]}`, `{"anyOf":[{"exclusiveMinimum":0},{"exclusiveMaximum":9}]}`, "exclusiveMaximum exclusiveMinimum"},
		{"no bound", Draft{}, `{"minimum":0,"exclusiveMinimum":false,"exclusiveMaximum":true}`, `{"minimum":0}`, "exclusiveMaximum exclusiveMinimum"},
		{"draft 3", Draft{}, `{"properties":{"a":{"type":"any","required":true},"b":{"type":["any","null"],"required":false}}}`, `{"properties":{"a":{},"b":{}}}`, "required type"},
		{"names within", Latest(), `{"$id":"https://x.example/s#","definitions":{"a":{"$id":"#a"},"b":{"$id":"x#b"}}}`, `{"$id":"https://x.example/s#","definitions":{"a":{"$anchor":"a"},"b":{}}}`, "$id"},
		{"draft 2019", Latest(), `{"$recursiveAnchor":true,"additionalProperties":{"$recursiveRef":"#"}}`, `{"additionalProperties":{"$ref":"#"}}`, "$recursiveAnchor $recursiveRef"},
		{"name of the draft", Latest(), `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}]}`, `{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{}]}`, "items"},
		{"name of draft 4", Draft{}, `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":0,"exclusiveMinimum":true}`, `{"$schema":"http://json-schema.org/draft-07/schema#","exclusiveMinimum":0}`, "exclusiveMinimum"},
		{"name of draft 7", Draft{}, `{"$schema":"http://json-schema.org/draft-07/schema#","minimum":0,"exclusiveMinimum":true}`, `{"$schema":"http://json-schema.org/draft-07/schema#","exclusiveMinimum":0}`, "exclusiveMinimum"},
		{"name of the draft alone", Latest(), `{"$schema":"http://json-schema.org/draft-07/schema#"}`, "", ""},
		{
			"data and names of properties", OpenAIDraft(), `{"properties":{"items":{"enum":[{"items":[]}]},"required":{"default":{"exclusiveMinimum":true}},"type":{"const":{"type":"array"}}}}`, "", "",
		},
		{
			"items wanted", OpenAIDraft(), `{"properties":{"a":{"type":"array"},"b":{"type":["array","null"],"items":[{}]},"c":{"type":"array","items":{}}}}`,
			`{"properties":{"a":{"type":"array","items":{}},"b":{"type":["array","null"],"prefixItems":[{}],"items":{}},"c":{"type":"array","items":{}}}}`, "items",
		},
		{
			"definitions", GoogleDraft(), `{"type":"object","properties":{"a":{"$ref":"#/definitions/n","title":"t","description":"d"}},"definitions":{"n":{"properties":{"n":{"$ref":"#/definitions/n"}}}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/n","description":"d"}},"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"}}}}}`, "$ref definitions",
		},
		{"both kinds of definitions", GoogleDraft(), `{"definitions":{"a":{},"b":{}},"$defs":{"a":{"type":"null"}}}`, `{"$defs":{"a":{"type":"null"},"b":{}}}`, "definitions"},
		{
			"reference as root", GoogleDraft(), `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/A~1s","definitions":{"A/s":{"type":"object","properties":{"q":{"type":"string"}}}}}`,
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"A/s":{"type":"object","properties":{"q":{"type":"string"}}}},"type":"object","properties":{"q":{"type":"string"}}}`, "$ref definitions",
		},
		{
			"expressions", Regular(), `{"properties":{"mail":{"type":"string","format":"email","pattern":"^(?!\\.)\\S+@\\S+$"},"field":{"anyOf":[{"pattern":"^[^\\p{Cc}]{1,200}$"},{"pattern":"^[^\\]]+(?:\\(?=)\\/\\u00e9\\1$"}]}}}`,
			`{"properties":{"mail":{"type":"string","format":"email"},"field":{"anyOf":[{},{"pattern":"^[^\\]]+(?:\\(?=)\\/\\u00e9\\1$"}]}}}`, "pattern",
		},
		{
			"expressions for names", Regular(), `{"$schema":"http://json-schema.org/draft-07/schema#","patternProperties":{"^x-":{},"^(?<=a)b":{"type":"string"}},"additionalProperties":false}`,
			`{"$schema":"http://json-schema.org/draft-07/schema#","patternProperties":{"^x-":{}}}`, "additionalProperties patternProperties",
		},
		{
			"an expression for names, and others that are not evaluated", Regular(), `{"patternProperties":{"^\\p{L}":{}},"unevaluatedProperties":false}`,
			`{"patternProperties":{}}`, "patternProperties unevaluatedProperties",
		},
		{
			"expressions that are denied", Regular(), `{"type":"string","not":{"anyOf":[{"pattern":"(?=x)"},{"const":"y"}]},"minLength":1}`,
			`{"type":"string","minLength":1}`, "not pattern",
		},
		{
			"expressions that decide", Regular(), `{"if":{"properties":{"a":{"pattern":"(?=x)"}}},"then":{"required":["b"]},"properties":{"c":{"if":{"pattern":"x"},"then":{"pattern":"(?=y)","minLength":2}}}}`,
			`{"properties":{"c":{"if":{"pattern":"x"},"then":{"minLength":2}}}}`, "if pattern then",
		},
		{"expressions that all read", Regular(), `{"patternProperties":{"^x-":{"pattern":"\\bx\\b"}},"properties":{"pattern":{"const":{"pattern":"(?=x)"}}},"pattern":7}`, "", ""},
		{"expressions elsewhere", OpenAIDraft(), `{"pattern":"(?=x)"}`, "", ""},
		{"references elsewhere", Latest(), `{"$ref":"#/definitions/a","definitions":{"a":{}},"title":"t"}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = c.in
			}
			got, had := Fit(c.in, c.draft)
			if got != want || strings.Join(had, " ") != c.had {
				t.Errorf("%s %v, want\n%s %s", got, had, want, c.had)
			}
			if again, had := Fit(got, c.draft); again != got || had != nil {
				t.Errorf("once more it is %s %v", again, had)
			}
			// The short way goes where the long one changes nothing, and for all drafts.
			for _, d := range []Draft{{}, Latest(), OpenAIDraft(), GoogleDraft(), Regular()} {
				for _, text := range []string{c.in, got} {
					if fit, had := d.fit(text); d.plain(text) && (fit != text || had != nil) {
						t.Errorf("%+v: %s is plain, and becomes %s %v", d, text, fit, had)
					}
				}
			}
			if c.draft.Latest && c.in[0] == '{' {
				valid(t, got)
			}
		})
	}
}

// TestPlain: an ordinary schema goes the short way.
func TestPlain(t *testing.T) {
	const in = `{"type":"object","$schema":"x","properties":{"a":{"type":"array","items":{"type":["string","null"]},"minItems":1},"b":{"anyOf":[{"const":{"type":"any"}},true]}},"required":["a"],"additionalProperties":false}`
	for _, d := range []Draft{{}, Latest(), OpenAIDraft(), GoogleDraft()} {
		if !d.plain(in) {
			t.Errorf("%+v", d)
		}
	}
}

// valid holds a schema to the meta-schema of draft 2020-12, whatever draft it names.
func valid(t *testing.T, text string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	members, ok := doc.(map[string]any)
	if !ok {
		t.Fatalf("%s is no object", text)
	}
	delete(members, "$schema")
	meta, err := jsonschema.NewCompiler().Compile(latest)
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.Validate(doc); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

// TestRefusedBefore: without it the meta-schema refuses these, so that the test bites.
func TestRefusedBefore(t *testing.T) {
	meta, err := jsonschema.NewCompiler().Compile(latest)
	if err != nil {
		t.Fatal(err)
	}
	refused := []string{
		`{"items":[{}]}`, `{"items":[]}`, `{"exclusiveMinimum":true}`, `{"required":true}`, `{"type":"any"}`,
		`{"$id":"#a"}`, `{"$recursiveAnchor":true}`,
	}
	for _, text := range refused {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if meta.Validate(doc) == nil {
			t.Errorf("%s is valid as it is", text)
		}
		fit, _ := Fit(text, Latest())
		valid(t, fit)
	}
}
