package transform

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// verdict is what may be done with a signature.
type verdict int

const (
	unsigned verdict = iota // there is none
	usable                  // the target issued it and its API can carry it
	noIssuer                // nobody knows who issued it
	foreign                 // another model issued it
	spoilt                  // the target issued it and it is no longer what that was
)

// judge compares a signature's issuer with the target. The ids are those that
// were resolved when the signature was issued, so an alias that has since moved
// to another model does not make two models one.
func (h *handoff) judge(s *llmdv1.Signature) verdict {
	m := h.Model
	switch {
	case len(s.GetData()) == 0:
		return unsigned
	case h.isBypass(s):
		return usable
	case s.GetApi() == "" || s.GetProvider() == "" || s.GetModel() == "":
		return noIssuer
	case s.GetApi() == m.API && s.GetProvider() == m.Provider && s.GetModel() == m.ID &&
		s.GetEndpoint() == m.Endpoint && slices.Contains(h.Constraints.SignatureFormats, s.GetFormat()):
		if h.Constraints.Carries != nil && !h.Constraints.Carries(s) {
			return spoilt
		}
		return usable
	default:
		return foreign
	}
}

// isBypass recognises the signature that an earlier hand-off inserted.
func (h *handoff) isBypass(s *llmdv1.Signature) bool {
	bypass := h.Constraints.CallSignature
	return bypass != nil && s.GetFormat() == bypass.GetFormat() && bytes.Equal(s.GetData(), bypass.GetData())
}

// fromTarget says whether the target itself gave an answer. It decides about
// blocks that bear no signature.
func (h *handoff) fromTarget(m *llmdv1.AssistantMessage) bool {
	return m.GetApi() == h.Model.API && m.GetProvider() == h.Model.Provider && m.GetModel() == h.Model.ID
}

// cleanBlocks takes out of the answers what only their issuer can read.
func (h *handoff) cleanBlocks() {
	out := h.turns[:0]
	for _, t := range h.turns {
		switch m := t.msg.GetMessage().(type) {
		case *llmdv1.Message_Assistant:
			h.cleanAnswer(t)
		case *llmdv1.Message_User:
			filter(t, m.User.GetContent(), t.setUser, func(k int, b *llmdv1.UserContent) bool {
				return b.GetBlock() != nil || h.dropUnknown(t, k)
			})
		case *llmdv1.Message_ToolResult:
			filter(t, m.ToolResult.GetContent(), t.setResult, func(k int, b *llmdv1.ToolResultContent) bool {
				return b.GetBlock() != nil || h.dropUnknown(t, k)
			})
		default:
			h.report(t.at, dropped, ruleBlockUnknown, "a kind of message that this version does not know")
			continue
		}
		out = append(out, t)
	}
	h.turns = out
}

// dropUnknown reports a block of a kind that is too new. It is never kept.
func (h *handoff) dropUnknown(t *turn, block int) (keep bool) {
	h.reportBlock(t, block, dropped, ruleBlockUnknown, "a kind of block that this version does not know")
	return false
}

// cleanAnswer cleans the blocks of one answer.
func (h *handoff) cleanAnswer(t *turn) {
	content := t.assistant().GetContent()
	a := answer{handoff: h, turn: t, own: h.fromTarget(t.assistant())}
	e := edit[*llmdv1.AssistantContent]{in: content}
	var before *llmdv1.AssistantContent
	thought := false // the block before is thinking that became text
	for k, b := range content {
		clean := a.clean(k, b)
		if clean == nil {
			continue
		}
		spoken := b.GetThinking() != nil && clean.GetText() != nil
		if h.Constraints.JoinsTexts && before.GetText() != nil && clean.GetText() != nil {
			setApart(before.GetText(), clean.GetText(), thought, spoken)
		}
		e.put(k, clean)
		before, thought = clean, spoken
	}
	e.done(t, t.setAssistant)
}

// setApart puts a blank line between two texts that would be read as one, if one of
// them was thinking. Only such a text is the hand-off's own and may be changed.
func setApart(a, b *llmdv1.TextContent, ownA, ownB bool) {
	switch {
	case ownA:
		a.Text = strings.TrimRightFunc(a.GetText(), unicode.IsSpace) + "\n\n"
	case ownB:
		b.Text = "\n\n" + strings.TrimLeftFunc(b.GetText(), unicode.IsSpace)
	}
}

// answer is one answer while its blocks are cleaned.
type answer struct {
	*handoff
	turn *turn
	// own: the target gave the answer.
	own bool
	// signedCall: a call before this place is sent with a signature.
	signedCall bool
}

// clean gives what is sent instead of a block; nil = nothing.
func (a *answer) clean(k int, b *llmdv1.AssistantContent) *llmdv1.AssistantContent {
	if incomplete(b) {
		a.note(k, dropped, ruleBlockIncomplete, "the provider never ended it")
		return nil
	}
	switch block := b.GetBlock().(type) {
	case *llmdv1.AssistantContent_Text:
		return a.text(k, b)
	case *llmdv1.AssistantContent_Thinking:
		return a.thinking(k, b)
	case *llmdv1.AssistantContent_ToolCall:
		return a.call(k, b)
	case *llmdv1.AssistantContent_ProviderContent:
		return a.provider(k, b, block.ProviderContent)
	default:
		a.dropUnknown(a.turn, k)
		return nil
	}
}

func (a *answer) note(k int, action llmdv1.HandoffAction, rule, detail string) {
	a.reportBlock(a.turn, k, action, rule, detail)
}

// text takes a foreign signature off a text.
func (a *answer) text(k int, b *llmdv1.AssistantContent) *llmdv1.AssistantContent {
	switch a.judge(b.GetText().GetSignature()) {
	case noIssuer:
		a.note(k, rewritten, ruleNoIssuer, "the text is sent without its signature")
	case foreign:
		a.note(k, rewritten, ruleTextSignature, "another model signed it")
	case spoilt:
		a.note(k, rewritten, ruleSignatureSpoilt, "the text is sent without its signature")
	case unsigned, usable:
		return b
	}
	text := shallow(b.GetText())
	text.Signature = nil
	return assistantText(text)
}

// provider lets a provider's own block back to the API and provider it came
// from, whatever the model: the block is their notation, not the model's state.
func (a *answer) provider(k int, b *llmdv1.AssistantContent, p *llmdv1.ProviderContent) *llmdv1.AssistantContent {
	switch {
	case p.GetApi() != a.Model.API || p.GetProvider() != a.Model.Provider:
		a.note(k, dropped, ruleProviderForeign, "a block of another provider's own: "+clip(p.GetType()))
	case !a.Constraints.ProviderContent:
		a.note(k, dropped, ruleProviderUnsupported, "the API does not take the block back: "+clip(p.GetType()))
	default:
		return b
	}
	return nil
}
