package transform

import (
	"cmp"
	"slices"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// The rules. Their ids are part of the contract: once released they are not
// renamed. docs/handoff.md explains each.
const (
	ruleTurnAborted      = "turn.aborted"
	ruleTurnEmpty        = "turn.empty"
	ruleTurnMerged       = "turn.merged"
	ruleTurnUserInserted = "turn.user_inserted"

	ruleBlockIncomplete = "block.incomplete"
	ruleBlockUnknown    = "block.unknown"

	ruleNoIssuer        = "signature.no_issuer"
	ruleSignatureSpoilt = "signature.spoilt"

	ruleThinkingForeign  = "thinking.foreign"
	ruleThinkingUnsigned = "thinking.unsigned"
	ruleThinkingRedacted = "thinking.redacted_foreign"
	ruleThinkingEmpty    = "thinking.empty"
	ruleThinkingLast     = "thinking.last"

	ruleTextSignature = "text.signature_removed"
	ruleTextEmpty     = "text.empty"

	ruleProviderForeign     = "provider_content.foreign"
	ruleProviderUnsupported = "provider_content.unsupported"
	ruleProviderUnpaired    = "provider_content.unpaired"

	ruleCallSignatureRemoved  = "tool_call.signature_removed"
	ruleCallSignatureInserted = "tool_call.signature_inserted"
	ruleCallArguments         = "tool_call.arguments_invalid"
	ruleCallMended            = "tool_call.arguments_mended"
	ruleCallName              = "tool_call.name_normalized"
	ruleCallID                = "tool_call.id_normalized"

	ruleGroupBroken       = "tool_group.broken"
	ruleResultSynthesized = "tool_result.synthesized"
	ruleResultOrphan      = "tool_result.orphan"
	ruleResultDuplicate   = "tool_result.duplicate"
	ruleResultOfAborted   = "tool_result.of_aborted_turn"
	ruleResultErrorText   = "tool_result.error_text"

	ruleImagesPlaceholder = "images.placeholder"
	ruleImagesSource      = "images.unsupported_source"
	ruleImagesType        = "images.unsupported_type"
	ruleImagesErrorResult = "images.error_result"
)

// Rules lists the ids of all rules that can stand in HandoffChange.rule.
func Rules() []string {
	return []string{
		ruleTurnAborted, ruleTurnEmpty, ruleTurnMerged, ruleTurnUserInserted,
		ruleBlockIncomplete, ruleBlockUnknown,
		ruleNoIssuer, ruleSignatureSpoilt,
		ruleThinkingForeign, ruleThinkingUnsigned, ruleThinkingRedacted, ruleThinkingEmpty,
		ruleThinkingLast,
		ruleTextSignature, ruleTextEmpty,
		ruleProviderForeign, ruleProviderUnsupported, ruleProviderUnpaired,
		ruleCallSignatureRemoved, ruleCallSignatureInserted, ruleCallArguments, ruleCallMended, ruleCallName, ruleCallID,
		ruleGroupBroken, ruleResultSynthesized, ruleResultOrphan, ruleResultDuplicate,
		ruleResultOfAborted, ruleResultErrorText,
		ruleImagesPlaceholder, ruleImagesSource, ruleImagesType, ruleImagesErrorResult,
	}
}

const (
	rewritten  = llmdv1.HandoffAction_HANDOFF_ACTION_REWRITTEN
	downgraded = llmdv1.HandoffAction_HANDOFF_ACTION_DOWNGRADED
	dropped    = llmdv1.HandoffAction_HANDOFF_ACTION_DROPPED
	inserted   = llmdv1.HandoffAction_HANDOFF_ACTION_INSERTED
)

// report notes a change of a message.
func (h *handoff) report(at int, action llmdv1.HandoffAction, rule, detail string) {
	h.changes = append(h.changes, &llmdv1.HandoffChange{
		MessageIndex: int32(at),
		Action:       action,
		Rule:         rule,
		Detail:       detail,
	})
}

// reportBlock notes a change of a block, by its present place in its turn.
func (h *handoff) reportBlock(t *turn, block int, action llmdv1.HandoffAction, rule, detail string) {
	from := t.origin(block)
	h.report(from.Message, action, rule, detail)
	index := int32(from.Block)
	h.changes[len(h.changes)-1].ContentIndex = &index
}

// sortChanges puts changes in the order of the caller's history; those of one
// place stay in the order in which they were made.
func sortChanges(changes []*llmdv1.HandoffChange) {
	slices.SortStableFunc(changes, func(a, b *llmdv1.HandoffChange) int {
		return cmp.Or(
			cmp.Compare(a.GetMessageIndex(), b.GetMessageIndex()),
			cmp.Compare(place(a), place(b)),
		)
	})
}

// place puts changes of a whole message before those of its blocks.
func place(c *llmdv1.HandoffChange) int32 {
	if c.ContentIndex == nil {
		return -1
	}
	return c.GetContentIndex()
}

// losses are the changes that take something away.
func losses(changes []*llmdv1.HandoffChange) []*llmdv1.HandoffChange {
	var lost []*llmdv1.HandoffChange
	for _, c := range changes {
		if a := c.GetAction(); a == dropped || a == downgraded {
			lost = append(lost, c)
		}
	}
	return lost
}

// clip keeps a word of the caller's, such as an id, short enough for a detail.
func clip(s string) string {
	const limit = 80
	if short := cutBytes(s, limit); short != s {
		return short + "..."
	}
	return s
}
