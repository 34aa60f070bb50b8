package turns

import (
	"slices"
	"strings"
	"unicode"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Prefill is the assistant's turn at the end that the model is to go on with; nil = the
// user has the last word.
func Prefill(turns []Turn) *Turn {
	if n := len(turns); n > 0 && turns[n-1].Assistant {
		return &turns[n-1]
	}
	return nil
}

// Thinks says whether a turn holds thinking. Claude does not go on with such a one: "When
// thinking is disabled, an assistant message in the final position cannot contain
// thinking", and beside thinking it goes on with none.
func (t *Turn) Thinks() bool {
	return slices.ContainsFunc(t.Blocks, func(b Block) bool { return b.Kind == Thinking || b.Kind == Redacted })
}

// Trim drops white space at the end of a prefill, which Claude refuses there, and
// reports it; nil = there is none.
func (t *Turn) Trim(call *adapters.Call) *llmdv1.HandoffChange {
	b := &t.Blocks[len(t.Blocks)-1]
	trimmed := strings.TrimRightFunc(b.Text, unicode.IsSpace)
	if b.Kind != Text || trimmed == b.Text {
		return nil
	}
	b.Text = trimmed
	last := len(call.Context.GetMessages()) - 1
	change := call.Change(last, adapters.Rewritten, adapters.RulePrefillTrimmed, "white space at the end of the assistant turn to be continued was dropped")
	change.MessageIndex = int32(LastMessage(call))
	return change
}

// LastMessage is the caller's place of the last message, which a prefill is.
func LastMessage(call *adapters.Call) int {
	history := call.Context.GetMessages()
	last := len(history) - 1
	return call.Origin(last).Place(len(history[last].GetAssistant().GetContent()) - 1).Message
}

// LoopThinks says whether Claude may go on with a thinking budget. While results of
// tools are being handed in, the assistant turn that called them must start with its
// thinking; a turn that thought once at its beginning need not again before later
// calls. Earlier turns may lack theirs.
// https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#preserving-thinking-blocks
func (r *Rules) LoopThinks(messages []*llmdv1.Message) bool {
	i, results := len(messages), false
	for ; i > 0 && messages[i-1].GetAssistant() == nil; i-- {
		results = results || messages[i-1].GetToolResult() != nil
	}
	if !results {
		return true
	}
	var first, last *llmdv1.AssistantMessage
	for ; i > 0 && messages[i-1].GetUser() == nil; i-- {
		if a := messages[i-1].GetAssistant(); a != nil {
			first = a
			if last == nil {
				last = a
			}
		}
	}
	return r.startsWithThinking(first) || r.startsWithThinking(last)
}

// startsWithThinking says whether the first block that is sent is thinking.
func (r *Rules) startsWithThinking(a *llmdv1.AssistantMessage) bool {
	for _, c := range a.GetContent() {
		if t := c.GetThinking(); t != nil {
			if b, ok := r.Thinking(t); ok {
				return b.Kind == Thinking || b.Kind == Redacted
			}
			continue
		}
		if c.GetText() == nil || !Blank(c.GetText().GetText()) {
			return false
		}
	}
	return false
}
