package transform_test

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

// A conversation that was begun with a model of OpenAI goes on with one of
// Anthropic.
func ExampleApply() {
	history := conversation(
		says("What time is it?"),
		answer(gpt, thinking("Look at the clock.", gpt.sign("openai.reasoning_item", "...")), calls("call_1|fc_2")),
		returns("call_1|fc_2", "12:05"),
	)
	r, err := transform.Apply(transform.Input{
		Context: history,
		Model:   &profile.Model{API: "anthropic-messages", Provider: "anthropic", ID: "claude-demo"},
		Constraints: adapters.Constraints{
			ToolCallIDs:   adapters.IDRule{MaxLen: 64, WordChars: true},
			ToolErrorFlag: true,
		},
		Policy: &llmdv1.HandoffPolicy{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Changes {
		fmt.Printf("messages[%d].content[%d] %s: %s\n", c.GetMessageIndex(), c.GetContentIndex(), c.GetRule(), c.GetDetail())
	}
	// Output:
	// messages[1].content[0] thinking.foreign: another model thought it; sent as text
	// messages[1].content[1] tool_call.id_normalized: "call_1|fc_2" is sent as "call_1_fc_2"
}
