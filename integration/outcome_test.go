package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// outcome is all that a client saw of one stream.
type outcome struct {
	events  []*llmdv1.StreamResponse
	started *llmdv1.StartedEvent
	fold    []*folded // by content index
	message *llmdv1.AssistantMessage
	err     *llmdv1.Error // of an error event
	aborted *llmdv1.AbortedEvent
	status  *status.Status
	trailer metadata.MD
	faults  []string // against the grammar
	took    time.Duration
}

// folded is a block as a client folds it from events alone.
type folded struct {
	kind    string
	raw     strings.Builder // the deltas
	content *llmdv1.AssistantContent
	ended   bool
	id      string
	name    string
	valid   int32
}

func (o *outcome) fault(format string, args ...any) {
	o.faults = append(o.faults, fmt.Sprintf("event %d: ", len(o.events)-1)+fmt.Sprintf(format, args...))
}

// stream calls Stream, reads to the end and checks the grammar. each is called with
// every event; it may be nil.
func (l *llmd) stream(ctx context.Context, req *llmdv1.StreamRequest, each func(*outcome, *llmdv1.StreamResponse)) *outcome {
	o := &outcome{}
	begin := time.Now()
	defer func() { o.took = time.Since(begin) }()
	s, err := l.Stream(ctx, req)
	if err != nil {
		o.status = status.Convert(err)
		return o
	}
	for {
		e, err := s.Recv()
		if err != nil {
			o.trailer = s.Trailer()
			if !errors.Is(err, io.EOF) {
				o.status = status.Convert(err)
			}
			o.ends()
			return o
		}
		o.events = append(o.events, e)
		o.take(e)
		if each != nil {
			each(o, e)
		}
	}
}

func (o *outcome) take(e *llmdv1.StreamResponse) {
	if want := int32(len(o.events) - 1); e.GetSequenceNumber() != want {
		o.fault("sequence number %d, want %d", e.GetSequenceNumber(), want)
	}
	if o.message != nil {
		o.fault("an event after the terminal one")
	}
	if (e.GetStarted() != nil) != (len(o.events) == 1) {
		o.fault("started must be the first event and no other")
	}
	if n := proto.Size(e); n > 3_670_016 {
		o.fault("%d bytes", n)
	}
	switch t := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_Started:
		o.started = t.Started
	case *llmdv1.StreamResponse_TextStart:
		o.open(t.TextStart.GetContentIndex(), "text")
	case *llmdv1.StreamResponse_TextDelta:
		o.grow(t.TextDelta.GetContentIndex(), "text", t.TextDelta.GetDelta())
	case *llmdv1.StreamResponse_TextEnd:
		o.close(t.TextEnd.GetContentIndex(), "text", &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: t.TextEnd.GetContent()}})
	case *llmdv1.StreamResponse_ThinkingStart:
		o.open(t.ThinkingStart.GetContentIndex(), "thinking")
	case *llmdv1.StreamResponse_ThinkingDelta:
		o.grow(t.ThinkingDelta.GetContentIndex(), "thinking", t.ThinkingDelta.GetDelta())
	case *llmdv1.StreamResponse_ThinkingEnd:
		o.close(t.ThinkingEnd.GetContentIndex(), "thinking", &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: t.ThinkingEnd.GetContent()}})
	case *llmdv1.StreamResponse_ToolCallStart:
		b := o.open(t.ToolCallStart.GetContentIndex(), "tool_call")
		b.id, b.name = t.ToolCallStart.GetId(), t.ToolCallStart.GetName()
		if b.id == "" {
			o.fault("a tool call without id")
		}
	case *llmdv1.StreamResponse_ToolCallDelta:
		o.arguments(t.ToolCallDelta)
	case *llmdv1.StreamResponse_ToolCallEnd:
		o.close(t.ToolCallEnd.GetContentIndex(), "tool_call", &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: t.ToolCallEnd.GetToolCall()}})
	case *llmdv1.StreamResponse_ProviderContent:
		o.open(t.ProviderContent.GetContentIndex(), "provider_content")
		o.close(t.ProviderContent.GetContentIndex(), "provider_content", &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: t.ProviderContent.GetContent()}})
	case *llmdv1.StreamResponse_SignatureUpdate:
		o.sign(t.SignatureUpdate)
	case *llmdv1.StreamResponse_Done:
		o.message = t.Done.GetMessage()
	case *llmdv1.StreamResponse_Error:
		o.message, o.err = t.Error.GetMessage(), t.Error.GetError()
	case *llmdv1.StreamResponse_Aborted:
		o.message, o.aborted = t.Aborted.GetMessage(), t.Aborted
	case *llmdv1.StreamResponse_Snapshot:
		o.replace(t.Snapshot.GetMessage())
	}
}

// replace is what a snapshot does to a fold.
func (o *outcome) replace(m *llmdv1.AssistantMessage) {
	o.fold = nil
	for _, c := range m.GetContent() {
		b := &folded{kind: kindOf(c), content: c}
		b.raw.WriteString(textOf(c))
		switch x := c.GetBlock().(type) {
		case *llmdv1.AssistantContent_Text:
			b.ended = !x.Text.GetIncomplete()
		case *llmdv1.AssistantContent_Thinking:
			b.ended = !x.Thinking.GetIncomplete()
		case *llmdv1.AssistantContent_ToolCall:
			b.ended, b.id, b.name = !x.ToolCall.GetIncomplete(), x.ToolCall.GetId(), x.ToolCall.GetName()
		default:
			b.ended = true
		}
		o.fold = append(o.fold, b)
	}
}

func (o *outcome) open(i int32, kind string) *folded {
	if int(i) != len(o.fold) {
		o.fault("content index %d opens, want %d", i, len(o.fold))
	}
	b := &folded{kind: kind}
	o.fold = append(o.fold, b)
	return b
}

func (o *outcome) at(i int32, kind string) *folded {
	if int(i) >= len(o.fold) || o.fold[i].kind != kind {
		o.fault("content index %d is not an open %s", i, kind)
		return &folded{}
	}
	if o.fold[i].ended {
		o.fault("content index %d had ended", i)
	}
	return o.fold[i]
}

func (o *outcome) grow(i int32, kind, delta string) {
	b := o.at(i, kind)
	if delta == "" {
		o.fault("an empty delta")
	}
	b.raw.WriteString(delta)
}

func (o *outcome) arguments(d *llmdv1.ToolCallDeltaEvent) {
	o.grow(d.GetContentIndex(), "tool_call", d.GetDelta())
	b := o.fold[d.GetContentIndex()]
	if d.GetValidPrefixBytes() < b.valid {
		o.fault("the valid prefix shrinks")
	}
	b.valid = d.GetValidPrefixBytes()
	if b.raw.Len() > 4096 { // parsing at each delta is quadratic; the scanner has tests of its own
		return
	}
	text := b.raw.String()[:b.valid] + d.GetClosing()
	var v map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &v); err != nil || v == nil {
		o.fault("prefix and closing are no object: %q", text)
	}
}

func (o *outcome) close(i int32, kind string, c *llmdv1.AssistantContent) {
	b := o.at(i, kind)
	b.ended, b.content = true, c
}

func (o *outcome) sign(u *llmdv1.SignatureUpdateEvent) {
	i := int(u.GetContentIndex())
	if i >= len(o.fold) || !o.fold[i].ended {
		o.fault("a signature update for a block that has not ended")
		return
	}
	c := proto.CloneOf(o.fold[i].content)
	switch x := c.GetBlock().(type) {
	case *llmdv1.AssistantContent_Text:
		x.Text.Signature = u.GetSignature()
	case *llmdv1.AssistantContent_Thinking:
		x.Thinking.Signature = u.GetSignature()
	case *llmdv1.AssistantContent_ToolCall:
		x.ToolCall.Signature = u.GetSignature()
	}
	o.fold[i].content = c
}

// ends checks what only the whole stream shows.
func (o *outcome) ends() {
	code := o.status.Code()
	ok := o.message != nil && (o.aborted.GetCause() == llmdv1.AbortCause_ABORT_CAUSE_REQUESTED || o.err == nil && o.aborted == nil)
	if (code == codes.OK) != ok {
		o.fault("status %v, terminal message %v", code, o.message.GetStopReason())
	}
	if code != codes.OK && code != codes.Canceled && code != codes.DeadlineExceeded && o.info() == nil {
		o.fault("status %v without ErrorInfo", code)
	}
	if o.message == nil {
		return
	}
	if len(o.message.GetContent()) != len(o.fold) {
		o.fault("the terminal message has %d blocks, the events %d", len(o.message.GetContent()), len(o.fold))
		return
	}
	for i, c := range o.message.GetContent() {
		b := o.fold[i]
		switch {
		case b.ended && !proto.Equal(b.content, c):
			o.fault("block %d of the terminal message is not what its end said", i)
		case !b.ended && !incomplete(c):
			o.fault("block %d had no end and is not marked incomplete", i)
		case !b.ended && b.kind != "tool_call" && b.raw.String() != textOf(c):
			o.fault("block %d of the terminal message is not what its deltas said", i)
		}
	}
	if u := o.message.GetUsage(); u != nil && u.GetTotalTokens() != u.GetInputTokens()+u.GetCacheReadTokens()+u.GetCacheWriteTokens()+u.GetOutputTokens() {
		o.fault("the usage does not add up")
	}
}

func (o *outcome) info() *errdetails.ErrorInfo {
	for _, d := range o.status.Details() {
		if i, ok := d.(*errdetails.ErrorInfo); ok && i.GetDomain() == "llmd.dev" {
			return i
		}
	}
	return nil
}

func (o *outcome) retryInfo() *time.Duration {
	for _, d := range o.status.Details() {
		if i, ok := d.(*errdetails.RetryInfo); ok {
			r := i.GetRetryDelay().AsDuration()
			return &r
		}
	}
	return nil
}

// stop is the stop reason without its prefix; ERROR for a status alone.
func (o *outcome) stop() string {
	if o.message == nil {
		return "ERROR"
	}
	return strings.TrimPrefix(o.message.GetStopReason().String(), "STOP_REASON_")
}

// reason is the reason of the error, wherever it stands.
func (o *outcome) reason() string {
	if o.err != nil {
		return o.err.GetReason()
	}
	return o.info().GetReason()
}

// words are all that the error says.
func (o *outcome) words() string {
	return o.err.GetMessage() + " " + o.err.GetProviderErrorType() + " " + o.status.Message() + " " + fmt.Sprint(o.info().GetMetadata())
}

func kindOf(c *llmdv1.AssistantContent) string {
	switch c.GetBlock().(type) {
	case *llmdv1.AssistantContent_Text:
		return "text"
	case *llmdv1.AssistantContent_Thinking:
		return "thinking"
	case *llmdv1.AssistantContent_ToolCall:
		return "tool_call"
	}
	return "provider_content"
}

func textOf(c *llmdv1.AssistantContent) string {
	return c.GetText().GetText() + c.GetThinking().GetThinking() + c.GetToolCall().GetArgumentsJson()
}

func incomplete(c *llmdv1.AssistantContent) bool {
	return c.GetText().GetIncomplete() || c.GetThinking().GetIncomplete() || c.GetToolCall().GetIncomplete()
}
