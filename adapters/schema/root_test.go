package schema

import (
	"slices"
	"testing"
)

func TestListed(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"object"}`:                 `{"type":"object","properties":{}}`,
		`{"type": "object" }`:               `{"type": "object" ,"properties":{}}`,
		`{"type":"object","properties":{}}`: `{"type":"object","properties":{}}`,
		`{"type":"string"}`:                 `{"type":"string"}`,
		`{}`:                                `{}`,
		`[]`:                                `[]`,
	} {
		if got := Listed(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestFlat(t *testing.T) {
	for _, c := range []struct {
		in, want string
		had      []string
	}{
		{`{"type":"object", "properties":{"a":{"oneOf":[{}]}}}`, `{"type":"object", "properties":{"a":{"oneOf":[{}]}}}`, nil},
		{
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"allOf":[{"required":["b"]},{"properties":{"b":{"type":"number"},"a":{}}}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}},"required":["a"]}`,
			[]string{"allOf"},
		},
		{
			`{"oneOf":[{"properties":{"a":{"type":"string"}}},true,{"properties":{"b":{}}}],"anyOf":{},"type":"object"}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{}}}`,
			[]string{"oneOf", "anyOf"},
		},
		{`{"type":"object","not":{"properties":{"a":{}}}}`, `{"type":"object","not":{"properties":{"a":{}}}}`, nil},
	} {
		got, had := Flat(c.in, ClaudeRoot())
		if got != c.want || !slices.Equal(had, c.had) {
			t.Errorf("%s\ngot %s %v\nwant %s %v", c.in, got, had, c.want, c.had)
		}
	}
	got, had := Flat(`{"type":"object","enum":[{"properties":{"x":{}}}],"not":{}}`, OpenAIRoot())
	if got != `{"type":"object"}` || !slices.Equal(had, []string{"enum", "not"}) {
		t.Errorf("%s %v", got, had)
	}
}
