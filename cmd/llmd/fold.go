package main

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/accumulate"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// fold puts a stream together with the accumulator that every Go client can use,
// and is strict where that is lenient: a broken order, and a block whose end is not
// what its deltas gave, are errors. It asks for no snapshots and does not expect any.
type fold struct {
	accumulate.Accumulator
	next     int32
	started  *llmdv1.StartedEvent
	terminal *llmdv1.StreamResponse
	// streamed are the blocks as the events gave them, without the terminal one.
	streamed []*llmdv1.AssistantContent
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
	var err error
	switch v := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_Started:
		f.started = v.Started
	case *llmdv1.StreamResponse_TextEnd:
		err = f.whole(v.TextEnd.GetContentIndex(), v.TextEnd.GetContent().GetText())
	case *llmdv1.StreamResponse_ThinkingEnd:
		err = f.whole(v.ThinkingEnd.GetContentIndex(), v.ThinkingEnd.GetContent().GetThinking())
	case *llmdv1.StreamResponse_ToolCallEnd:
		err = f.whole(v.ToolCallEnd.GetContentIndex(), v.ToolCallEnd.GetToolCall().GetArgumentsJson())
	case *llmdv1.StreamResponse_Done, *llmdv1.StreamResponse_Error, *llmdv1.StreamResponse_Aborted:
		f.terminal, f.streamed = e, f.Message().GetContent()
	}
	f.Add(e)
	return err
}

// whole says whether the deltas of a block have given all of its text.
func (f *fold) whole(index int32, text string) error {
	if f.text(int(index)) != text {
		return fmt.Errorf("block %d ends with other text than its deltas gave", index)
	}
	return nil
}

// text is what there is of a block so far.
func (f *fold) text(index int) string {
	if content := f.Message().GetContent(); index < len(content) {
		return textOf(content[index])
	}
	return ""
}

// check says whether a final message is what the events added up to.
func (f *fold) check(m *llmdv1.AssistantMessage) error {
	if len(m.GetContent()) != len(f.streamed) {
		return fmt.Errorf("the message has %d blocks, the events had %d", len(m.GetContent()), len(f.streamed))
	}
	for i, c := range m.GetContent() {
		if !proto.Equal(f.streamed[i], c) {
			return fmt.Errorf("block %d of the message is not what its events gave", i)
		}
	}
	return nil
}

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
