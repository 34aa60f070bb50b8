package transform_test

import (
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/transform"
)

// What is sent for a name: the same under no rule, else what the API allows.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, c := range []struct {
		rule     adapters.NameRule
		in, want string
	}{
		{adapters.NameRule{}, "a b", "a b"},
		{adapters.NameRule{}, "", ""},
		{adapters.NameRule{MaxLen: 64}, "a_B-9", "a_B-9"},
		{adapters.NameRule{MaxLen: 64}, "functions.look:0", "functions_look_0"},
		{adapters.NameRule{MaxLen: 64}, "", "unknown"},
		{adapters.NameRule{MaxLen: 64}, "日本", "__"},
		{adapters.NameRule{MaxLen: 64}, "a\x00\n", "a__"},
		{adapters.NameRule{MaxLen: 64}, long, long[:64]},
		{adapters.NameRule{MaxLen: 64, Extra: ":."}, "functions.look:0", "functions.look:0"},
		{adapters.NameRule{MaxLen: 64, LetterFirst: true}, "1st", "_1st"},
		{adapters.NameRule{MaxLen: 64, LetterFirst: true}, "-a", "_-a"},
		{adapters.NameRule{MaxLen: 64, LetterFirst: true}, "_a", "_a"},
		{adapters.NameRule{MaxLen: 64, LetterFirst: true, Extra: ":."}, ".a", "_.a"},
		{adapters.NameRule{MaxLen: 64, LetterFirst: true}, "9" + long[:63], "_9" + long[:62]},
	} {
		in := transform.Input{
			Context: conversation(says("go"), answer(gpt, called("a", c.in)), returnsOf("a", c.in)),
			Model:   chat.target(), Constraints: adapters.Constraints{ToolNames: c.rule},
		}
		r := apply(t, in)
		call, result := r.Context.GetMessages()[1].GetAssistant().GetContent()[0].GetToolCall(), r.Context.GetMessages()[2].GetToolResult()
		if call.GetName() != c.want || result.GetToolName() != c.want {
			t.Errorf("%+v: %q is called %q, its result's %q, want %q", c.rule, c.in, call.GetName(), result.GetToolName(), c.want)
		}
		if reported := len(r.Changes) == 1; reported != (c.in != c.want) {
			t.Errorf("%q: changes %v", c.in, r.Changes)
		}
	}
}
