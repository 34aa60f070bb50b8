package adapters

import llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"

// Rule is the id of a rule by which an adapter changes a conversation beyond the
// hand-off. Ids are part of the contract: once released they are not renamed.
// docs/handoff.md explains each.
type Rule string

// The rules of adapters.
const (
	RulePrefillTrimmed     Rule = "prefill.trimmed"
	RuleAssistantInserted  Rule = "turn.assistant_inserted"
	RuleTextPlaceholder    Rule = "text.placeholder"
	RuleThinkingAsText     Rule = "thinking.as_text"
	RuleResultsReordered   Rule = "tool_result.reordered"
	RuleImagesMoved        Rule = "images.moved"
	RuleUnnamedMember      Rule = "tool_call.unnamed_member"
	RuleProviderImage      Rule = "provider_content.image"
	RuleProviderOrphan     Rule = "provider_content.orphan"
	RuleProviderOutputOnly Rule = "provider_content.output_only"
	RuleProviderSignature  Rule = "provider_content.signature_removed"
	RuleReasoningOrphan    Rule = "reasoning_item.orphan"
	RuleReasoningEmpty     Rule = "reasoning_item.empty"
	RuleItemDuplicate      Rule = "item.duplicate"
	RuleItemID             Rule = "item.id_normalized"
	RuleContentOrphan      Rule = "message_content.orphan"
)

// Rules of the hand-off that adapters apply too, where their API has no place for
// what it leaves.
const (
	RuleTextEmpty     Rule = "text.empty"
	RuleThinkingEmpty Rule = "thinking.empty"
	RuleUserInserted  Rule = "turn.user_inserted"
)

// Rules lists the rules that only adapters have.
func Rules() []Rule {
	return []Rule{
		RulePrefillTrimmed, RuleAssistantInserted, RuleTextPlaceholder, RuleThinkingAsText, RuleResultsReordered, RuleImagesMoved,
		RuleUnnamedMember, RuleProviderImage, RuleProviderOrphan, RuleProviderOutputOnly, RuleProviderSignature,
		RuleReasoningOrphan, RuleReasoningEmpty, RuleItemDuplicate, RuleItemID, RuleContentOrphan,
	}
}

// What happens to a message or a block.
const (
	Rewritten  = llmdv1.HandoffAction_HANDOFF_ACTION_REWRITTEN
	Downgraded = llmdv1.HandoffAction_HANDOFF_ACTION_DOWNGRADED
	Dropped    = llmdv1.HandoffAction_HANDOFF_ACTION_DROPPED
	Inserted   = llmdv1.HandoffAction_HANDOFF_ACTION_INSERTED
)

// Change reports what an adapter changes in a message after the hand-off. Of an
// insertion it is the message that follows; one behind the last is allowed.
func (c *Call) Change(message int, action llmdv1.HandoffAction, rule Rule, detail string) *llmdv1.HandoffChange {
	return &llmdv1.HandoffChange{MessageIndex: int32(c.Origin(message).Message), Action: action, Rule: string(rule), Detail: detail}
}

// ChangeBlock reports what an adapter changes in a block of one.
func (c *Call) ChangeBlock(message, block int, action llmdv1.HandoffAction, rule Rule, detail string) *llmdv1.HandoffChange {
	p := c.Origin(message).Place(block)
	index := int32(p.Block)
	return &llmdv1.HandoffChange{MessageIndex: int32(p.Message), ContentIndex: &index, Action: action, Rule: string(rule), Detail: detail}
}
