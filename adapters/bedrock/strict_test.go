package bedrock

import "testing"

// TestStrictFault: the limits are those of
// https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html.
func TestStrictFault(t *testing.T) {
	const closed = `"additionalProperties":false`
	for schema, ok := range map[string]bool{
		`{"type":"object",` + closed + `}`: true,
		`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],` + closed + `}`:                                             true,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"enum":[1]}]}},"required":["a"],` + closed + `}`:                             true,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","format":"uri"},"minItems":1}},"required":["a"],` + closed + `}`: true,
		`{"type":"object"}`: false,
		`{"type":"object","properties":{"a":{"type":"string"}},` + closed + `}`:                                             false,
		`{"type":"object","required":["a"],` + closed + `}`:                                                                 false,
		`{"type":"object","properties":{"a":{"type":"integer","minimum":0}},"required":["a"],` + closed + `}`:               false,
		`{"type":"object","properties":{"a":{}},"required":["a"],` + closed + `}`:                                           false,
		`{"type":"object","properties":{"a":true},"required":["a"],` + closed + `}`:                                         false,
		`{"type":"object","properties":[],"required":[],` + closed + `}`:                                                    false,
		`{"type":"object","properties":{"a":{"type":"array","minItems":2}},"required":["a"],` + closed + `}`:                false,
		`{"type":"object","properties":{"a":{"type":"string","format":"x"}},"required":["a"],` + closed + `}`:               false,
		`{"type":"object","properties":{"a":{"properties":{},"type":"string"}},"required":["a"],` + closed + `}`:            false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"object",` + closed + `}]}},"required":["a"],` + closed + `}`: false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"not":{}}}},"required":["a"],` + closed + `}`:          false,
		`{"type":"object","required":1,` + closed + `}`:                                                                     false,
	} {
		if fault := strictFault(schema); (fault == "") != ok {
			t.Errorf("%s: %q", schema, fault)
		}
	}
}
