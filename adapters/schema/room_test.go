package schema

import (
	"fmt"
	"strings"
	"testing"
)

// TestRoom: "Schemas contains too many parameters with union types (49 parameters with type
// arrays or anyOf) which exceeds the limit: 16", and 20 strict tools,
// https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs#schema-complexity-limits.
func TestRoom(t *testing.T) {
	may := func(n int) string {
		var properties []string
		for i := range n {
			properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
		}
		text, err := Strict(`{"type":"object","properties":{`+strings.Join(properties, ",")+`}}`, Claude())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, c := range map[string]struct {
		answer string
		tools  []string
		fit    int // so many of them
	}{
		"none":         {"", nil, 0},
		"tools":        {"", strings.Split(strings.Repeat(NoParameters+" ", 20)+NoParameters, " "), 20},
		"unions":       {"", []string{may(16)}, 1},
		"too many":     {"", []string{may(17)}, 0},
		"in all":       {"", []string{may(9), may(7), may(0), may(1)}, 3},
		"the answer's": {`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"array","items":{"type":["null","number"]}},{"$ref":"#/$defs/a"}]}},"$defs":{"a":{"type":["null","string"]}}}`, []string{may(12), may(1)}, 1},
		"in all of it": {
			`{"allOf":[{"properties":{"a":{"type":["string","null"]}}}],"oneOf":[{"anyOf":[{},{}]}],"additionalProperties":{"not":{"type":["null","string"]}},"default":{"type":[]}}`,
			[]string{may(13), may(1)},
			1,
		},
		"of the answer ": {may(17), []string{may(1)}, 0},
	} {
		room, fit := ClaudeRoom(c.answer), 0
		for _, text := range c.tools {
			if room.Take(text) != nil {
				break
			}
			fit++
		}
		if fit != c.fit {
			t.Errorf("%s: %d of the tools fit, want %d", name, fit, c.fit)
		}
	}
	if err := (*Room)(nil).Take(may(99)); err != nil {
		t.Error(err)
	}
}
