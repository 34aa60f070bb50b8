package transform

import (
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// emptyArguments is what a call without usable arguments is sent with.
const emptyArguments = "{}"

// call mends the arguments and the signature of a call.
func (a *answer) call(k int, b *llmdv1.AssistantContent) *llmdv1.AssistantContent {
	c := b.GetToolCall()
	arguments := a.arguments(k, c)
	signature := a.callSignature(k, c)
	if arguments == c.GetArgumentsJson() && signature == c.GetSignature() {
		return b
	}
	c = shallow(c)
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
	case text == emptyArguments || jsonstream.Object([]byte(text)) == nil:
		return text
	default:
		a.note(k, downgraded, ruleCallArguments, "the arguments are not one JSON object; sent as {}")
		return emptyArguments
	}
}

// callSignature is the signature to send. Where the API demands one it is
// inserted on each call that has none, except beside a signed call in an answer
// of the target's own: of parallel calls Gemini signs the first only, and wants
// the others back as they were.
func (a *answer) callSignature(k int, c *llmdv1.ToolCall) *llmdv1.Signature {
	signature := c.GetSignature()
	switch a.judge(signature) {
	case usable:
		a.signedCall = true
		return signature
	case noIssuer:
		a.note(k, rewritten, ruleNoIssuer, "the call is sent without its signature")
		signature = nil
	case foreign:
		a.note(k, rewritten, ruleCallSignatureRemoved, "another model signed it")
		signature = nil
	case unsigned:
	}
	if a.Constraints.CallSignature == nil || a.own && a.signedCall {
		return signature
	}
	a.note(k, inserted, ruleCallSignatureInserted, "the API demands a signature; sent with its bypass")
	a.signedCall = true
	return a.Constraints.CallSignature
}
