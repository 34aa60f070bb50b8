package accumulate

import (
	"cmp"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// block is one block of the content. The zero value stands for a block of a kind
// that this version does not know.
type block struct {
	// content is the block. While the deltas have its text, it goes without.
	content *llmdv1.AssistantContent
	// text is the deltas joined, which is the block's text if deltas is set.
	text   []byte
	deltas bool
	// open: it began here and has not ended.
	open bool
	// valid bytes of a tool call's text can be read, with closing behind them.
	valid   int
	closing string
}

// addToBlock takes the events that are about one block.
func (a *Accumulator) addToBlock(e *llmdv1.StreamResponse) {
	switch v := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_TextStart:
		a.start(v.TextStart.GetContentIndex(), text(&llmdv1.TextContent{Incomplete: true}))
	case *llmdv1.StreamResponse_TextDelta:
		a.delta(v.TextDelta.GetContentIndex(), v.TextDelta.GetDelta())
	case *llmdv1.StreamResponse_TextEnd:
		a.finish(v.TextEnd.GetContentIndex(), text(v.TextEnd.GetContent()), v.TextEnd.GetContentOmitted())
	case *llmdv1.StreamResponse_ThinkingStart:
		a.start(v.ThinkingStart.GetContentIndex(), thinking(&llmdv1.ThinkingContent{Redacted: v.ThinkingStart.GetRedacted(), Incomplete: true}))
	case *llmdv1.StreamResponse_ThinkingDelta:
		a.delta(v.ThinkingDelta.GetContentIndex(), v.ThinkingDelta.GetDelta())
	case *llmdv1.StreamResponse_ThinkingEnd:
		a.finish(v.ThinkingEnd.GetContentIndex(), thinking(v.ThinkingEnd.GetContent()), v.ThinkingEnd.GetContentOmitted())
	case *llmdv1.StreamResponse_ToolCallStart:
		s := v.ToolCallStart
		a.start(s.GetContentIndex(), toolCall(&llmdv1.ToolCall{Id: s.GetId(), Name: s.GetName(), ToolNamespace: s.GetToolNamespace(), Incomplete: true}))
	case *llmdv1.StreamResponse_ToolCallDelta:
		if b := a.delta(v.ToolCallDelta.GetContentIndex(), v.ToolCallDelta.GetDelta()); b != nil {
			b.valid, b.closing = int(v.ToolCallDelta.GetValidPrefixBytes()), v.ToolCallDelta.GetClosing()
		}
	case *llmdv1.StreamResponse_ToolCallEnd:
		a.finish(v.ToolCallEnd.GetContentIndex(), toolCall(v.ToolCallEnd.GetToolCall()), v.ToolCallEnd.GetContentOmitted())
	case *llmdv1.StreamResponse_ProviderContent:
		a.finish(v.ProviderContent.GetContentIndex(), &llmdv1.AssistantContent{
			Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: v.ProviderContent.GetContent()},
		}, false)
	}
}

// start begins a block.
func (a *Accumulator) start(index int32, c *llmdv1.AssistantContent) {
	if b := a.grow(index); b != nil {
		*b = block{content: c, deltas: true, open: true}
	}
}

// delta appends to a block that began here. A stream that was joined later has
// no use for the rest of the others.
func (a *Accumulator) delta(index int32, delta string) *block {
	b := a.at(index)
	if b == nil || !b.open {
		return nil
	}
	b.text = append(b.text, delta...)
	return b
}

// finish completes a block: its end replaces what the deltas gave, or has left
// the text to them.
func (a *Accumulator) finish(index int32, c *llmdv1.AssistantContent, omitted bool) {
	b := a.grow(index)
	if b == nil {
		return
	}
	b.content, b.open = c, false
	if !omitted {
		b.text, b.deltas = nil, false
	}
}

// grow makes room for a block. Blocks that are passed over are of a kind that
// began with an event of a newer kind.
func (a *Accumulator) grow(index int32) *block {
	if index < 0 || index >= maxBlocks {
		return nil
	}
	for int(index) >= len(a.blocks) {
		a.blocks = append(a.blocks, block{content: &llmdv1.AssistantContent{}})
	}
	return &a.blocks[index]
}

// resumed is a block from a snapshot.
func resumed(c *llmdv1.AssistantContent) block {
	switch {
	case c.GetText().GetIncomplete():
		return block{content: c, text: []byte(c.GetText().GetText()), deltas: true, open: true}
	case c.GetThinking().GetIncomplete():
		return block{content: c, text: []byte(c.GetThinking().GetThinking()), deltas: true, open: true}
	}
	return block{content: c}
}

// sign sets the signature of a block.
func (b *block) sign(s *llmdv1.Signature) {
	b.content = proto.CloneOf(b.content) // it belongs to an event
	switch c := b.content.GetBlock().(type) {
	case *llmdv1.AssistantContent_Text:
		c.Text.Signature = s
	case *llmdv1.AssistantContent_Thinking:
		c.Thinking.Signature = s
	case *llmdv1.AssistantContent_ToolCall:
		c.ToolCall.Signature = s
	}
}

// whole is the block with its text.
func (b *block) whole() *llmdv1.AssistantContent {
	if !b.deltas {
		return b.content
	}
	out := proto.CloneOf(b.content)
	switch c := out.GetBlock().(type) {
	case *llmdv1.AssistantContent_Text:
		c.Text.Text = string(b.text)
	case *llmdv1.AssistantContent_Thinking:
		c.Thinking.Thinking = string(b.text)
	case *llmdv1.AssistantContent_ToolCall:
		c.ToolCall.ArgumentsJson = b.arguments(b.open || c.ToolCall.GetArgumentsError() != "")
	}
	return out
}

// arguments is the text of a tool call's arguments, or what can be read of it.
func (b *block) arguments(closed bool) string {
	switch {
	case !closed && len(b.text) > 0:
		return string(b.text)
	case b.valid <= 0 || b.valid > len(b.text):
		return "{}"
	}
	return string(b.text[:b.valid]) + b.closing
}

func text(c *llmdv1.TextContent) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: cmp.Or(c, &llmdv1.TextContent{})}}
}

func thinking(c *llmdv1.ThinkingContent) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: cmp.Or(c, &llmdv1.ThinkingContent{})}}
}

func toolCall(c *llmdv1.ToolCall) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: cmp.Or(c, &llmdv1.ToolCall{})}}
}
