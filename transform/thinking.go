package transform

import (
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// thinking keeps what the target itself has thought and can prove, verbatim even
// where its text is blank: signatures cover the exact bytes. What others thought
// becomes plain text in its place, without tags, which models would imitate.
func (a *answer) thinking(k int, b *llmdv1.AssistantContent) *llmdv1.AssistantContent {
	th := b.GetThinking()
	v := a.judge(th.GetSignature())
	blank := strings.TrimSpace(th.GetThinking()) == ""
	switch {
	case v == usable:
		return b
	case v == unsigned && blank:
		a.note(k, rewritten, ruleThinkingEmpty, "thinking with neither text nor signature says nothing")
		return nil
	case th.GetRedacted():
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
	return assistantText(&llmdv1.TextContent{Text: th.GetThinking()})
}

// unsigned sends the target's own thinking back without a signature.
func (a *answer) unsigned(k int, b *llmdv1.AssistantContent, v verdict) *llmdv1.AssistantContent {
	if v == unsigned {
		return b
	}
	a.note(k, rewritten, ruleNoIssuer, "the thinking is sent without its signature")
	th := shallow(b.GetThinking())
	th.Signature = nil
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: th}}
}

// thinkingRule is why thinking cannot go back as thinking.
func thinkingRule(v verdict, own bool) (rule, why string) {
	switch {
	case v == noIssuer:
		return ruleNoIssuer, "its signature names no issuer"
	case v == unsigned && own:
		return ruleThinkingUnsigned, "the API takes only signed thinking back"
	default:
		return ruleThinkingForeign, "another model thought it"
	}
}
