package harness

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

// Outcome is all that a client saw of one stream.
type Outcome struct {
	Events  []*llmdv1.StreamResponse
	Started *llmdv1.StartedEvent
	Fold    []*Folded // by content index
	Message *llmdv1.AssistantMessage
	Err     *llmdv1.Error // of an error event
	Aborted *llmdv1.AbortedEvent
	Status  *status.Status
	Trailer metadata.MD
	Faults  []string // against the grammar
	// Omitted: the terminal event came without content, for its size or on request.
	Omitted bool
	Took    time.Duration
}

// Folded is a block as a client folds it from events alone.
type Folded struct {
	Kind     string
	Raw      strings.Builder // the deltas
	Content  *llmdv1.AssistantContent
	Ended    bool
	ID, Name string

	valid  int32
	joined bool // the beginning of the call was not seen
}

func (o *Outcome) fault(format string, args ...any) {
	o.Faults = append(o.Faults, fmt.Sprintf("event %d: ", len(o.Events)-1)+fmt.Sprintf(format, args...))
}

// Run calls Stream, reads to the end and checks the grammar. each is called with
// every event; it may be nil.
func Run(ctx context.Context, c llmdv1.InferenceServiceClient, req *llmdv1.StreamRequest, each func(*Outcome, *llmdv1.StreamResponse)) *Outcome {
	o := &Outcome{}
	begin := time.Now()
	defer func() { o.Took = time.Since(begin) }()
	s, err := c.Stream(ctx, req)
	if err != nil {
		o.Status = status.Convert(err)
		return o
	}
	for {
		e, err := s.Recv()
		if err != nil {
			o.Trailer = s.Trailer()
			if !errors.Is(err, io.EOF) {
				o.Status = status.Convert(err)
			}
			o.ends()
			return o
		}
		o.Events = append(o.Events, e)
		o.take(e)
		if each != nil {
			each(o, e)
		}
	}
}

func (o *Outcome) take(e *llmdv1.StreamResponse) {
	if want := int32(len(o.Events) - 1); e.GetSequenceNumber() != want {
		o.fault("sequence number %d, want %d", e.GetSequenceNumber(), want)
	}
	if o.Message != nil {
		o.fault("an event after the terminal one")
	}
	if (e.GetStarted() != nil) != (len(o.Events) == 1) {
		o.fault("started must be the first event and no other")
	}
	if n := proto.Size(e); n > 3_670_016 {
		o.fault("%d bytes", n)
	}
	switch t := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_Started:
		o.Started = t.Started
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
		b.ID, b.Name = t.ToolCallStart.GetId(), t.ToolCallStart.GetName()
		if b.ID == "" {
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
		o.Message, o.Omitted = t.Done.GetMessage(), t.Done.GetContentOmitted()
	case *llmdv1.StreamResponse_Error:
		o.Message, o.Err, o.Omitted = t.Error.GetMessage(), t.Error.GetError(), t.Error.GetContentOmitted()
	case *llmdv1.StreamResponse_Aborted:
		o.Message, o.Aborted, o.Omitted = t.Aborted.GetMessage(), t.Aborted, t.Aborted.GetContentOmitted()
	case *llmdv1.StreamResponse_Snapshot:
		o.replace(t.Snapshot.GetMessage())
	}
}

// replace is what a snapshot does to a fold. It shows the arguments of a running
// call closed: who saw the call begin keeps its own text, who joined later gets no
// more of it until its end.
func (o *Outcome) replace(m *llmdv1.AssistantMessage) {
	old := o.Fold
	o.Fold = nil
	for i, c := range m.GetContent() {
		if c.GetToolCall().GetIncomplete() {
			b := &Folded{Kind: "tool_call", ID: c.GetToolCall().GetId(), Name: c.GetToolCall().GetName(), joined: true}
			if i < len(old) && !old[i].Ended {
				b = old[i]
			}
			o.Fold = append(o.Fold, b)
			continue
		}
		b := &Folded{Kind: KindOf(c), Content: c}
		b.Raw.WriteString(TextOf(c))
		switch x := c.GetBlock().(type) {
		case *llmdv1.AssistantContent_Text:
			b.Ended = !x.Text.GetIncomplete()
		case *llmdv1.AssistantContent_Thinking:
			b.Ended = !x.Thinking.GetIncomplete()
		case *llmdv1.AssistantContent_ToolCall:
			b.Ended, b.ID, b.Name = !x.ToolCall.GetIncomplete(), x.ToolCall.GetId(), x.ToolCall.GetName()
		default:
			b.Ended = true
		}
		o.Fold = append(o.Fold, b)
	}
}

func (o *Outcome) open(i int32, kind string) *Folded {
	if int(i) != len(o.Fold) {
		o.fault("content index %d opens, want %d", i, len(o.Fold))
	}
	b := &Folded{Kind: kind}
	o.Fold = append(o.Fold, b)
	return b
}

func (o *Outcome) at(i int32, kind string) *Folded {
	if int(i) >= len(o.Fold) || o.Fold[i].Kind != kind {
		o.fault("content index %d is not an open %s", i, kind)
		return &Folded{}
	}
	if o.Fold[i].Ended {
		o.fault("content index %d had ended", i)
	}
	return o.Fold[i]
}

func (o *Outcome) grow(i int32, kind, delta string) {
	b := o.at(i, kind)
	if delta == "" {
		o.fault("an empty delta")
	}
	b.Raw.WriteString(delta)
}

func (o *Outcome) arguments(d *llmdv1.ToolCallDeltaEvent) {
	o.grow(d.GetContentIndex(), "tool_call", d.GetDelta())
	b := o.Fold[d.GetContentIndex()]
	if d.GetValidPrefixBytes() < b.valid {
		o.fault("the valid prefix shrinks")
	}
	b.valid = d.GetValidPrefixBytes()
	if b.joined {
		return
	}
	if b.Raw.Len() > 4096 { // parsing at each delta is quadratic; the scanner has tests of its own
		return
	}
	text := b.Raw.String()[:b.valid] + d.GetClosing()
	var v map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &v); err != nil || v == nil {
		o.fault("prefix and closing are no object: %q", text)
	}
}

func (o *Outcome) close(i int32, kind string, c *llmdv1.AssistantContent) {
	b := o.at(i, kind)
	b.Ended, b.Content = true, c
}

func (o *Outcome) sign(u *llmdv1.SignatureUpdateEvent) {
	i := int(u.GetContentIndex())
	if i >= len(o.Fold) || !o.Fold[i].Ended {
		o.fault("a signature update for a block that has not ended")
		return
	}
	c := proto.CloneOf(o.Fold[i].Content)
	switch x := c.GetBlock().(type) {
	case *llmdv1.AssistantContent_Text:
		x.Text.Signature = u.GetSignature()
	case *llmdv1.AssistantContent_Thinking:
		x.Thinking.Signature = u.GetSignature()
	case *llmdv1.AssistantContent_ToolCall:
		x.ToolCall.Signature = u.GetSignature()
	}
	o.Fold[i].Content = c
}

// ends checks what only the whole stream shows.
func (o *Outcome) ends() {
	code := o.Status.Code()
	ok := o.Message != nil && (o.Aborted.GetCause() == llmdv1.AbortCause_ABORT_CAUSE_REQUESTED || o.Err == nil && o.Aborted == nil)
	if (code == codes.OK) != ok {
		o.fault("status %v, terminal message %v", code, o.Message.GetStopReason())
	}
	if code != codes.OK && code != codes.Canceled && code != codes.DeadlineExceeded && o.Info() == nil {
		o.fault("status %v without ErrorInfo", code)
	}
	if o.Message == nil || o.Omitted {
		return
	}
	if len(o.Message.GetContent()) != len(o.Fold) {
		o.fault("the terminal message has %d blocks, the events %d", len(o.Message.GetContent()), len(o.Fold))
		return
	}
	for i, c := range o.Message.GetContent() {
		b := o.Fold[i]
		switch {
		case b.Ended && TextOf(b.Content) == "" && b.Raw.Len() > 1<<20:
			// The end left its text out for size.
			if TextOf(c) != b.Raw.String() {
				o.fault("block %d of the terminal message is not what its deltas said", i)
			}
		case b.Ended && !proto.Equal(b.Content, c):
			o.fault("block %d of the terminal message is not what its end said", i)
		case !b.Ended && !Incomplete(c):
			o.fault("block %d had no end and is not marked incomplete", i)
		case !b.Ended && b.Kind != "tool_call" && b.Raw.String() != TextOf(c):
			o.fault("block %d of the terminal message is not what its deltas said", i)
		}
	}
	if u := o.Message.GetUsage(); u != nil && u.GetTotalTokens() != u.GetInputTokens()+u.GetCacheReadTokens()+u.GetCacheWriteTokens()+u.GetOutputTokens() {
		o.fault("the usage does not add up")
	}
}

// Info is the status' ErrorInfo, nil if it has none.
func (o *Outcome) Info() *errdetails.ErrorInfo {
	for _, d := range o.Status.Details() {
		if i, ok := d.(*errdetails.ErrorInfo); ok && i.GetDomain() == "llmd.dev" {
			return i
		}
	}
	return nil
}

// RetryInfo is the delay that the status names, nil if it names none.
func (o *Outcome) RetryInfo() *time.Duration {
	for _, d := range o.Status.Details() {
		if i, ok := d.(*errdetails.RetryInfo); ok {
			r := i.GetRetryDelay().AsDuration()
			return &r
		}
	}
	return nil
}

// Stop is the stop reason without its prefix; ERROR for a status alone.
func (o *Outcome) Stop() string {
	if o.Message == nil {
		return "ERROR"
	}
	return strings.TrimPrefix(o.Message.GetStopReason().String(), "STOP_REASON_")
}

// Reason is the reason of the error, wherever it stands.
func (o *Outcome) Reason() string {
	if o.Err != nil {
		return o.Err.GetReason()
	}
	return o.Info().GetReason()
}

// Words are all that the error says.
func (o *Outcome) Words() string {
	return o.Err.GetMessage() + " " + o.Err.GetProviderErrorType() + " " + o.Status.Message() + " " + fmt.Sprint(o.Info().GetMetadata())
}
