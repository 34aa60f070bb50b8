package anthropic

import (
	"fmt"
	"strings"
	"unicode"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// decidePrefill looks at an assistant turn at the end. One that holds blocks of
// the provider's own is a paused turn, which every model goes on with; another is
// a beginning that the caller wrote for the model.
// https://docs.anthropic.com/en/docs/build-with-claude/prompt-engineering/prefill-claudes-response.
func (r *request) decidePrefill() error {
	if len(r.turns) == 0 || !r.turns[len(r.turns)-1].assistant {
		return nil
	}
	t := &r.turns[len(r.turns)-1]
	last := len(r.call.Generation.GetContext().GetMessages()) - 1
	paused := false
	for _, b := range t.blocks {
		paused = paused || b.kind == sendOpaque
	}
	why := ""
	switch {
	case paused:
	case r.thinking.on():
		why = "beside thinking the API does not continue an assistant turn"
	case r.call.Model.Compat.ForceAdaptiveThinking:
		// The models with adaptive thinking alone, Claude 4.6 and later, are those.
		why = fmt.Sprintf("model %q does not continue an assistant turn", r.call.Model.ID)
	case r.call.Generation.GetConfig().GetOutputJsonSchema() != "":
		why = "beside an output schema the API does not continue an assistant turn"
	}
	if why != "" {
		return unsupported("prefill", fmt.Sprintf("context.messages[%d]", last), why)
	}
	r.trimPrefill(t, last)
	return nil
}

// trimPrefill drops white space at the end, which the API refuses there.
func (r *request) trimPrefill(t *turn, last int) {
	b := &t.blocks[len(t.blocks)-1]
	if b.kind != sendText {
		return
	}
	trimmed := strings.TrimRightFunc(b.text, unicode.IsSpace)
	if trimmed == b.text {
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
