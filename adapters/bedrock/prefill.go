package bedrock

import (
	"fmt"
	"strings"
	"unicode"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// decidePrefill looks at an assistant turn at the end, which only some models go on
// with; see traits.prefills for those that never do.
// https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html.
func (r *request) decidePrefill() error {
	if len(r.turns) == 0 || !r.turns[len(r.turns)-1].assistant {
		return nil
	}
	last := len(r.call.Generation.GetContext().GetMessages()) - 1
	why := ""
	switch {
	case !r.traits.prefills(), r.adaptive():
		why = fmt.Sprintf("model %q does not continue an assistant turn", r.call.Model.ID)
	case r.thinking.claudes():
		why = "beside thinking Claude does not continue an assistant turn"
	case r.call.Generation.GetConfig().GetOutputJsonSchema() != "":
		why = "beside an output schema an assistant turn is not continued"
	}
	if why != "" {
		return unsupported("prefill", fmt.Sprintf("context.messages[%d]", last), why)
	}
	r.trimPrefill(last)
	return nil
}

// trimPrefill drops white space at the end, which Claude refuses there.
func (r *request) trimPrefill(last int) {
	t := &r.turns[len(r.turns)-1]
	b := &t.blocks[len(t.blocks)-1]
	trimmed := strings.TrimRightFunc(b.text, unicode.IsSpace)
	if b.kind != sendText || trimmed == b.text {
		return
	}
	b.text = trimmed
	r.changes = append(r.changes, &llmdv1.HandoffChange{
		MessageIndex: int32(last),
		Action:       llmdv1.HandoffAction_HANDOFF_ACTION_REWRITTEN,
		Rule:         "prefill.trimmed",
		Detail:       "white space at the end of the assistant turn to be continued was dropped",
	})
}
