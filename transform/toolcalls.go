package transform

import (
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// emptyArguments is what a call without usable arguments is sent with.
const emptyArguments = "{}"

// call mends the name, the arguments and the signature of a call.
func (a *answer) call(k int, b *llmdv1.AssistantContent) *llmdv1.AssistantContent {
	c := b.GetToolCall()
	name := a.name(k, c.GetName())
	arguments := a.arguments(k, c)
	signature := a.callSignature(k, c)
	if name == c.GetName() && arguments == c.GetArgumentsJson() && signature == c.GetSignature() {
		return b
	}
	c = shallow(c)
	c.Name = name
	c.ArgumentsJson = arguments
	c.Signature = signature
	return assistantCall(c)
}

// arguments are the call's if they are one JSON object, else an empty one.
func (a *answer) arguments(k int, c *llmdv1.ToolCall) string {
	text := c.GetArgumentsJson()
	switch {
	case text == "":
		return emptyArguments
	case text == emptyArguments:
		return text
	case jsonstream.Object([]byte(text)) == nil:
		return a.mended(k, text)
	default:
		a.note(k, downgraded, ruleCallArguments, "the arguments are not one JSON object; sent as {}")
		return emptyArguments
	}
}

// mended replaces half of a surrogate pair by U+FFFD where the API would refuse the
// request for it. It is no character, and everything else stays as it is.
func (a *answer) mended(k int, text string) string {
	if !a.Constraints.WholeSurrogates || !strings.Contains(text, `\u`) {
		return text
	}
	if r := jsonstream.Repair([]byte(text)); r.Repaired {
		a.note(k, rewritten, ruleCallMended, "half of a surrogate pair is sent as U+FFFD")
		return r.JSON
	}
	return text
}

// callSignature is the signature to send. Where the API demands one it is
// inserted on the first call of an answer: of parallel calls Gemini signs the
// first only, and wants the others as they are.
func (a *answer) callSignature(k int, c *llmdv1.ToolCall) *llmdv1.Signature {
	signature := c.GetSignature()
	switch a.judge(signature) {
	case usable:
		a.signedCall = true
		return signature
	case noIssuer:
		a.note(k, rewritten, ruleNoIssuer, "the call is sent without its signature")
		signature = nil
	case spoilt:
		a.note(k, rewritten, ruleSignatureSpoilt, "the call is sent without its signature")
		signature = nil
	case foreign:
		a.note(k, rewritten, ruleCallSignatureRemoved, "another model signed it")
		signature = nil
	case unsigned:
	}
	if a.Constraints.CallSignature == nil || a.signedCall {
		return signature
	}
	a.note(k, inserted, ruleCallSignatureInserted, "the API demands a signature; sent with its bypass")
	a.signedCall = true
	return a.Constraints.CallSignature
}
