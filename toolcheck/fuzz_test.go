package toolcheck

import (
	"encoding/json"
	"errors"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// FuzzArguments: whatever the schema and the arguments, the answer is one of those that
// are documented, and what is given out is a JSON object that fits, again and again.
func FuzzArguments(f *testing.F) {
	for _, schema := range []string{
		``, `{}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["integer","null"]}},"required":["b"]}`,
		`{"properties":{"l":{"items":{"properties":{"x":{"pattern":"^a+$"}}}}},"additionalProperties":false}`,
		`{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"c":{"$ref":"#/$defs/n"}}}}}`,
		`{"properties":{"o":{"anyOf":[{"properties":{"k":{"const":1}}},{"type":"null"}]}}}`, `{"type":5}`, `{"$ref":"https://h/x"}`,
	} {
		for _, arguments := range []string{``, `{}`, `{"a":null,"b":null}`, `{"l":[{"x":null},{"x":"b"}]}`, `{"c":{"c":null}}`, `{"o":{"k":null}}`, `[1]`, `{"a":`} {
			f.Add(schema, arguments, true)
			f.Add(schema, arguments, false)
		}
	}
	f.Fuzz(func(t *testing.T, schema, arguments string, strict bool) {
		definition := &llmdv1.Tool{Name: "t", ParametersJsonSchema: schema}
		if strict {
			definition.Strict = llmdv1.StrictMode_STRICT_MODE_REQUIRE
		}
		tool, err := Compile(definition)
		if err != nil {
			if _, ok := errors.AsType[*SchemaError](err); !ok && !errors.Is(err, ErrLimit) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		got, err := tool.Arguments(&llmdv1.ToolCall{Name: "t", ArgumentsJson: arguments})
		if err != nil {
			mismatch, ok := errors.AsType[*ArgumentsError](err)
			if !ok && !errors.Is(err, ErrLimit) || ok && (len(mismatch.Problems) == 0 || len(mismatch.Problems) > maxProblems) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(got), &object); err != nil {
			t.Fatalf("%q is no object: %v", got, err)
		}
		again, err := tool.Arguments(&llmdv1.ToolCall{Name: "t", ArgumentsJson: got})
		if err != nil || again != got {
			t.Fatalf("%q became %q, %v", got, again, err)
		}
	})
}
