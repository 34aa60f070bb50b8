package transform

import (
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// thinking keeps what the target itself has thought and can prove, verbatim even
// where its text is blank: signatures cover the exact bytes. What others thought
// becomes plain text in its place, without tags, which models would imitate.
func (a *answer) thinking(k int, b *llmdv1.AssistantContent) *llmdv1.AssistantContent {
	th := b.GetThinking()
	v := a.judge(th.GetSignature())
	words := adapters.Thoughts(th)
	blank := strings.TrimSpace(words) == ""
	switch {
	case v == usable:
		return b
	case v == unsigned && blank:
		a.note(k, rewritten, ruleThinkingEmpty, "thinking with neither text nor signature says nothing")
		return nil
	case th.GetRedacted() && v != spoilt:
		a.note(k, dropped, ruleThinkingRedacted, "only its issuer can read it")
		return nil
	case a.own && v != foreign && !blank && a.Constraints.UnsignedThinking:
		return a.unsigned(k, b, v)
	}

	rule, why := thinkingRule(v, a.own)
	if blank || a.Policy.GetForeignThinking() == llmdv1.ForeignThinking_FOREIGN_THINKING_DROP {
		a.note(k, dropped, rule, why)
		return nil
	}
	a.note(k, downgraded, rule, why+"; sent as text")
	return assistantText(&llmdv1.TextContent{Text: words})
}

// unsigned sends the target's own thinking back without a signature.
func (a *answer) unsigned(k int, b *llmdv1.AssistantContent, v verdict) *llmdv1.AssistantContent {
	if v == unsigned {
		return b
	}
	rule, _ := thinkingRule(v, a.own)
	a.note(k, rewritten, rule, "the thinking is sent without its signature")
	th := shallow(b.GetThinking())
	th.Signature = nil
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: th}}
}

// thinkingRule is why thinking cannot go back as thinking.
func thinkingRule(v verdict, own bool) (rule, why string) {
	switch {
	case v == noIssuer:
		return ruleNoIssuer, "its signature names no issuer"
	case v == spoilt:
		return ruleSignatureSpoilt, "its signature is not what the API signs with"
	case v == unsigned && own:
		return ruleThinkingUnsigned, "the API takes only signed thinking back"
	default:
		return ruleThinkingForeign, "another model thought it"
	}
}

// endThinking sees to it that an answer goes on after its thinking, for APIs that
// refuse one that ends with it: the rest was cut, or no other could be sent. The
// words of the last thinking become text, so that what is before it stays as it is.
func (h *handoff) endThinking() {
	for _, t := range h.turns {
		content := t.assistant().GetContent()
		if !h.thinksTooLong(content) {
			continue
		}
		last := len(content)
		var instead *llmdv1.AssistantContent
		for last > 0 && instead == nil && content[last-1].GetThinking() != nil {
			last--
			instead = h.lastThinking(t, last, content[last].GetThinking())
		}
		if last == len(content) {
			continue
		}
		e := edit[*llmdv1.AssistantContent]{in: content}
		for k, b := range content[:last] {
			e.put(k, b)
		}
		if instead != nil {
			e.put(last, instead)
		}
		e.done(t, t.setAssistant)
	}
}

// thinksTooLong says whether the API refuses an answer for the thinking at its end.
func (h *handoff) thinksTooLong(content []*llmdv1.AssistantContent) bool {
	if h.Constraints.AnswerAfterThinking {
		return true // if there is any
	}
	return h.Constraints.AnswerBesideThinking && !slices.ContainsFunc(content, func(b *llmdv1.AssistantContent) bool {
		return b.GetThinking() == nil
	})
}

// lastThinking gives what is sent instead of thinking at the end; nil = nothing.
func (h *handoff) lastThinking(t *turn, k int, th *llmdv1.ThinkingContent) *llmdv1.AssistantContent {
	const why = "the API takes no answer without anything after its thinking"
	words := adapters.Thoughts(th)
	if strings.TrimSpace(words) == "" || h.Policy.GetForeignThinking() == llmdv1.ForeignThinking_FOREIGN_THINKING_DROP {
		h.reportBlock(t, k, dropped, ruleThinkingLast, why)
		return nil
	}
	h.reportBlock(t, k, downgraded, ruleThinkingLast, why+"; sent as text")
	return assistantText(&llmdv1.TextContent{Text: words})
}
