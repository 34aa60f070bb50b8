package transform

import (
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// errorMark begins the text of a failed result on APIs that have no other way to
// say that a tool failed.
const errorMark = "[tool error]"

// spellErrors says in the text of a result that it is an error, where the API
// cannot say it otherwise, and clears the flag: what it said is in the text now.
func (h *handoff) spellErrors() {
	if h.Constraints.ToolErrorFlag {
		return
	}
	for _, t := range h.turns {
		r := t.result()
		if !r.GetIsError() {
			continue
		}
		if !t.inserted {
			h.report(t.at, rewritten, ruleResultErrorText, "the API has no flag for failed tools")
		}
		e := edit[*llmdv1.ToolResultContent]{in: r.GetContent()}
		marked := false
		for k, b := range e.in {
			if text := b.GetText(); text != nil && !marked {
				b = resultText(strings.TrimSuffix(errorMark+" "+text.GetText(), " "))
				marked = true
			}
			e.put(k, b)
		}
		e.done(t, t.setResult)
		t.own()
		r = t.result()
		r.IsError = false
		if !marked {
			r.Content = append([]*llmdv1.ToolResultContent{resultText(errorMark)}, r.GetContent()...)
			t.from = append([]adapters.Place{{Message: t.at}}, t.origins(len(r.GetContent())-1)...)
		}
	}
}

// dropBlankText leaves out texts of no characters, and in answers those of white
// space: most APIs refuse them, and they say nothing. A signed one stays, because
// its signature says something.
func (h *handoff) dropBlankText() {
	for _, t := range h.turns {
		switch m := t.msg.GetMessage().(type) {
		case *llmdv1.Message_User:
			filter(t, m.User.GetContent(), t.setUser, func(_ int, b *llmdv1.UserContent) bool {
				return !empty(b.GetText())
			})
		case *llmdv1.Message_ToolResult:
			filter(t, m.ToolResult.GetContent(), t.setResult, func(_ int, b *llmdv1.ToolResultContent) bool {
				return !empty(b.GetText())
			})
		case *llmdv1.Message_Assistant:
			h.dropBlankAnswer(t, m.Assistant.GetContent())
		}
	}
}

func (h *handoff) dropBlankAnswer(t *turn, content []*llmdv1.AssistantContent) {
	filter(t, content, t.setAssistant, func(k int, b *llmdv1.AssistantContent) bool {
		text := b.GetText()
		if text == nil || text.GetSignature() != nil || strings.TrimSpace(text.GetText()) != "" {
			return true
		}
		if !empty(text) {
			h.reportBlock(t, k, rewritten, ruleTextEmpty, "a text of white space says nothing")
		}
		return false
	})
}

// empty says whether a block is a text that carries nothing at all.
func empty(t *llmdv1.TextContent) bool {
	return t != nil && t.GetText() == "" && t.GetSignature() == nil
}
