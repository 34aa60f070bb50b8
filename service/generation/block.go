package generation

import (
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

type blockKind uint8

const (
	textBlock blockKind = iota + 1
	thinkingBlock
	toolCallBlock
	providerBlock
)

// block is one content block while it is being assembled.
type block struct {
	kind blockKind
	// index is the content index; valid once started.
	index int32
	// started: its _start event was sent. Blocks start late where their first part
	// says nothing yet, so that empty ones leave no trace.
	started, ended bool

	joiner   jsonwire.Joiner
	text     []byte // of text and thinking blocks
	redacted bool
	final    *string // arguments or text that the provider sent anew and that contradict the deltas; text that has ended

	id, name, namespace string
	scanner             *jsonstream.Scanner // of tool calls: it is large
	result              *jsonstream.Result
	valid               int32 // the prefix as last sent, and what closes it
	closers             string

	signature *llmdv1.Signature
	provider  *llmdv1.ProviderContent
}

// waits: the block has neither started nor ended.
func (b *block) waits() bool { return !b.started && !b.ended }

// saysNothing: the block may vanish without losing anything.
func (b *block) saysNothing() bool {
	return !b.started && b.kind != toolCallBlock && !b.redacted && b.signature == nil && len(b.text) == 0 && b.final == nil
}

// content is the block as it stands in a message. complete: it had its end.
func (b *block) content(complete bool) *llmdv1.AssistantContent {
	switch b.kind {
	case textBlock:
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: b.textContent(complete)}}
	case thinkingBlock:
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: b.thinkingContent(complete)}}
	case toolCallBlock:
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: b.toolCall(complete)}}
	default:
		return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: b.provider}}
	}
}

func (b *block) wholeText() string {
	if b.final != nil {
		return *b.final
	}
	return string(b.text)
}

// seal is for a text that ends: the _end event and the message share one copy of it, and
// none is kept to go on.
func (b *block) seal() {
	text := b.wholeText()
	b.final, b.text = &text, nil
}

func (b *block) textContent(complete bool) *llmdv1.TextContent {
	c := &llmdv1.TextContent{Text: b.wholeText(), Incomplete: !complete}
	if complete {
		c.Signature = b.signature
	}
	return c
}

func (b *block) thinkingContent(complete bool) *llmdv1.ThinkingContent {
	c := &llmdv1.ThinkingContent{Thinking: b.wholeText(), Redacted: b.redacted, Incomplete: !complete}
	if complete {
		c.Signature = b.signature
	}
	return c
}

func (b *block) toolCall(complete bool) *llmdv1.ToolCall {
	c := &llmdv1.ToolCall{Id: b.id, Name: b.name, ToolNamespace: b.namespace, Incomplete: !complete}
	r := b.result
	if r == nil { // still running: the best so far
		c.ArgumentsJson = b.scanner.PartialJSON()
		return c
	}
	c.ArgumentsJson, c.ArgumentsRepaired, c.ArgumentsError = r.JSON, r.Repaired, r.Error
	if complete {
		c.Signature = b.signature
		if b.name == "" && c.ArgumentsError == "" {
			c.ArgumentsError = "the provider named no tool"
		}
	}
	return c
}

func (b *block) closing() string {
	if b.closers == "" {
		return "{}"
	}
	return b.closers
}

// executable: a complete client tool call, which makes STOP a TOOL_USE.
func (b *block) executable() bool { return b.kind == toolCallBlock && b.ended }
