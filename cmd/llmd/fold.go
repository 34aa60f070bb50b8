package main

import (
	"fmt"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// fold puts a stream of events together, as docs/events.md tells clients to, and
// is strict about the grammar: whatever breaks it is an error. It asks for no
// snapshots and does not expect any.
type fold struct {
	blocks   []*foldBlock
	next     int32
	usage    *llmdv1.Usage
	started  *llmdv1.StartedEvent
	terminal *llmdv1.StreamResponse
}

// foldBlock is one block: what its deltas gave, and then what its end says.
type foldBlock struct {
	text  strings.Builder
	final *llmdv1.AssistantContent
}

// add takes the next event.
func (f *fold) add(e *llmdv1.StreamResponse) error {
	if e.GetSequenceNumber() != f.next {
		return fmt.Errorf("event %d came where %d was due", e.GetSequenceNumber(), f.next)
	}
	f.next++
	if f.terminal != nil {
		return fmt.Errorf("event %d came after the terminal event", e.GetSequenceNumber())
	}
	if first := e.GetStarted() != nil; first != (f.started == nil) {
		return fmt.Errorf("event %d: started must come first, and once", e.GetSequenceNumber())
	}
	switch v := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_Started:
		f.started = v.Started
	case *llmdv1.StreamResponse_TextStart:
		return f.begin(v.TextStart.GetContentIndex())
	case *llmdv1.StreamResponse_TextDelta:
		return f.append(v.TextDelta.GetContentIndex(), v.TextDelta.GetDelta())
	case *llmdv1.StreamResponse_TextEnd:
		return f.end(v.TextEnd.GetContentIndex(), &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: v.TextEnd.GetContent()}})
	case *llmdv1.StreamResponse_ThinkingStart:
		return f.begin(v.ThinkingStart.GetContentIndex())
	case *llmdv1.StreamResponse_ThinkingDelta:
		return f.append(v.ThinkingDelta.GetContentIndex(), v.ThinkingDelta.GetDelta())
	case *llmdv1.StreamResponse_ThinkingEnd:
		return f.end(v.ThinkingEnd.GetContentIndex(), &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: v.ThinkingEnd.GetContent()}})
	case *llmdv1.StreamResponse_ToolCallStart:
		return f.begin(v.ToolCallStart.GetContentIndex())
	case *llmdv1.StreamResponse_ToolCallDelta:
		return f.append(v.ToolCallDelta.GetContentIndex(), v.ToolCallDelta.GetDelta())
	case *llmdv1.StreamResponse_ToolCallEnd:
		return f.end(v.ToolCallEnd.GetContentIndex(), &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: v.ToolCallEnd.GetToolCall()}})
	case *llmdv1.StreamResponse_ProviderContent:
		if err := f.begin(v.ProviderContent.GetContentIndex()); err != nil {
			return err
		}
		return f.end(v.ProviderContent.GetContentIndex(), &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: v.ProviderContent.GetContent()}})
	case *llmdv1.StreamResponse_SignatureUpdate:
		return f.sign(v.SignatureUpdate.GetContentIndex(), v.SignatureUpdate.GetSignature())
	case *llmdv1.StreamResponse_UsageUpdate:
		f.usage = v.UsageUpdate
	case *llmdv1.StreamResponse_Done, *llmdv1.StreamResponse_Error, *llmdv1.StreamResponse_Aborted:
		f.terminal = e
	default: // a kind that this command does not ask for, or a newer one
	}
	return nil
}

func (f *fold) begin(index int32) error {
	if int(index) != len(f.blocks) {
		return fmt.Errorf("block %d begins where %d was due", index, len(f.blocks))
	}
	f.blocks = append(f.blocks, &foldBlock{})
	return nil
}

// open finds a block that has begun and not ended.
func (f *fold) open(index int32) (*foldBlock, error) {
	if index < 0 || int(index) >= len(f.blocks) || f.blocks[index].final != nil {
		return nil, fmt.Errorf("block %d is not open", index)
	}
	return f.blocks[index], nil
}

func (f *fold) append(index int32, delta string) error {
	b, err := f.open(index)
	if err == nil {
		b.text.WriteString(delta)
	}
	return err
}

func (f *fold) end(index int32, final *llmdv1.AssistantContent) error {
	b, err := f.open(index)
	if err == nil {
		b.final = final
	}
	return err
}

// sign sets the signature of a block that has ended.
func (f *fold) sign(index int32, s *llmdv1.Signature) error {
	if index < 0 || int(index) >= len(f.blocks) || f.blocks[index].final == nil {
		return fmt.Errorf("block %d is signed and has not ended", index)
	}
	switch b := f.blocks[index].final.GetBlock().(type) {
	case *llmdv1.AssistantContent_Text:
		b.Text.Signature = s
	case *llmdv1.AssistantContent_Thinking:
		b.Thinking.Signature = s
	case *llmdv1.AssistantContent_ToolCall:
		b.ToolCall.Signature = s
	}
	return nil
}

// text is what the deltas of a block gave so far.
func (f *fold) text(index int) string { return f.blocks[index].text.String() }

// textOf is the text that deltas carry for a block.
func textOf(c *llmdv1.AssistantContent) string {
	switch b := c.GetBlock().(type) {
	case *llmdv1.AssistantContent_Text:
		return b.Text.GetText()
	case *llmdv1.AssistantContent_Thinking:
		return b.Thinking.GetThinking()
	case *llmdv1.AssistantContent_ToolCall:
		return b.ToolCall.GetArgumentsJson()
	}
	return ""
}
