package schema

import (
	"errors"
	"testing"
)

// TestClosed: an object that names no others gets the one keyword, all else keeps its
// bytes.
func TestClosed(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"string"}`:                              `{"type":"string"}`,
		`{ "type" : "object" }`:                          `{ "type" : "object" ,"additionalProperties":false}`,
		`{"type":"object","additionalProperties":false}`: `{"type":"object","additionalProperties":false}`,
		`{"type":["object","null"],"required":[]}`:       `{"type":["object","null"],"required":[],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}},"b":{"anyOf":[{"type":"object"},{"type":"null"}]}}}`: `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","additionalProperties":false}},` +
			`"b":{"anyOf":[{"type":"object","additionalProperties":false},{"type":"null"}]}},"additionalProperties":false}`,
		`{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}}}`: `{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"additionalProperties":false}}}`,
		// Two closed parts would rule each other out.
		`{"allOf":[{"type":"object"}],"oneOf":[{"type":"object"}]}`: `{"allOf":[{"type":"object"}],"oneOf":[{"type":"object"}]}`,
		// Data that looks like a schema, schemas that are none.
		`{"enum":[{"type":"object"}],"items":true}`: `{"enum":[{"type":"object"}],"items":true}`,
	} {
		got, err := Closed(in)
		if err != nil || got != want {
			t.Errorf("%s: %v\n%s, want\n%s", in, err, got, want)
		}
		if again, err := Closed(got); err != nil || again != got {
			t.Errorf("%s: %v, closed again it is %s", in, err, again)
		}
	}
}

func TestClosedFault(t *testing.T) {
	for in, path := range map[string]string{
		`{"type":"object","additionalProperties":true}`:                                                  "",
		`{"type":"object","properties":{"a/b":{"type":"object","additionalProperties":{}}}}`:             "/properties/a~1b",
		`{"anyOf":[{"type":"null"},{"type":"object","additionalProperties":{"type":"string"}}]}`:         "/anyOf/1",
		`{"type":"array","items":{"type":["null","object"],"additionalProperties": true,"required":[]}}`: "/items",
	} {
		_, err := Closed(in)
		fault, ok := errors.AsType[*Error](err)
		if !ok || fault.Keyword != "additionalProperties" || fault.Path != path {
			t.Errorf("%s: %v", in, err)
		}
	}
}
