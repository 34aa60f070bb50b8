package accumulate

import (
	"cmp"
	"errors"
	"io"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// ErrIncomplete says that a stream ended without a terminal event. Whatever its
// status was, the answer is not whole.
var ErrIncomplete = errors.New("accumulate: the stream ended without a terminal event")

// maxBlocks bounds what a wrong content_index can cost. No provider sends as many.
const maxBlocks = 1 << 16

// Accumulator folds events into the message. The zero value is ready. It is not
// safe for concurrent use.
//
// Its work is linear in the bytes of the events; only [Accumulator.Message] and
// [Accumulator.Arguments] cost what they return.
type Accumulator struct {
	message *llmdv1.AssistantMessage // without content, unless whole
	blocks  []block
	ended   bool // the terminal event came
	whole   bool // and had the content
}

// Add takes the next event. Events of newer kinds are ignored, as the contract
// asks for.
func (a *Accumulator) Add(e *llmdv1.StreamResponse) {
	switch v := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_Started:
		*a = Accumulator{message: begin(v.Started)} // anew, if an earlier connection was lost
	case *llmdv1.StreamResponse_UsageUpdate:
		a.head().Usage = v.UsageUpdate
	case *llmdv1.StreamResponse_SignatureUpdate:
		if b := a.at(v.SignatureUpdate.GetContentIndex()); b != nil {
			b.sign(v.SignatureUpdate.GetSignature())
		}
	case *llmdv1.StreamResponse_Snapshot:
		a.snapshot(v.Snapshot.GetMessage(), v.Snapshot.GetContentOmitted())
	case *llmdv1.StreamResponse_Done:
		a.end(v.Done.GetMessage(), v.Done.GetContentOmitted())
	case *llmdv1.StreamResponse_Error:
		a.end(v.Error.GetMessage(), v.Error.GetContentOmitted())
	case *llmdv1.StreamResponse_Aborted:
		a.end(v.Aborted.GetMessage(), v.Aborted.GetContentOmitted())
	default:
		a.addToBlock(e)
	}
}

// Message is the message so far, stop reason PENDING, and the final one after the
// terminal event. Blocks without an end are marked incomplete; the arguments of
// such a tool call are what can be read of them, one valid JSON object. The
// message is the caller's to read; what it shares with later calls it may not
// change.
func (a *Accumulator) Message() *llmdv1.AssistantMessage {
	if a.whole {
		return a.message
	}
	m := proto.CloneOf(a.head())
	for i := range a.blocks {
		m.Content = append(m.Content, a.blocks[i].whole())
	}
	return m
}

// Arguments is what can be read of the arguments of the tool call at index so
// far: always one valid JSON object. A value in it may be the beginning of one,
// so do nothing with it before tool_call_end. It is nil if no tool call is there.
func (a *Accumulator) Arguments(index int32) []byte {
	b := a.at(index)
	if b == nil || b.content.GetToolCall() == nil {
		return nil
	}
	return []byte(b.whole().GetToolCall().GetArgumentsJson())
}

// Ended says whether the terminal event came.
func (a *Accumulator) Ended() bool { return a.ended }

// Err is nil after the terminal event and [ErrIncomplete] before it. Ask it when
// the stream has ended with status OK.
func (a *Accumulator) Err() error {
	if a.ended {
		return nil
	}
	return ErrIncomplete
}

// Receiver is the receiving side of a stream, such as what
// InferenceServiceClient.Stream returns.
type Receiver interface {
	Recv() (*llmdv1.StreamResponse, error)
}

// Collect reads a stream to its end. each, unless it is nil, is called with every
// event, once it is folded, and with the message so far.
//
// The message is what there was of the answer, and nil if it never started. The
// error is nil for a whole answer and for one that was aborted on request (see
// its stop reason), the gRPC status of any other, and [ErrIncomplete] if the
// stream broke off without saying so.
func Collect(stream Receiver, each func(e *llmdv1.StreamResponse, soFar *Accumulator)) (*llmdv1.AssistantMessage, error) {
	var a Accumulator
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			err = a.Err()
		} else if err == nil {
			a.Add(e)
			if each != nil {
				each(e, &a)
			}
			continue
		}
		if a.message == nil {
			return nil, err
		}
		return a.Message(), err
	}
}

func begin(s *llmdv1.StartedEvent) *llmdv1.AssistantMessage {
	return &llmdv1.AssistantMessage{
		Api: s.GetApi(), Provider: s.GetProvider(), Model: s.GetModel(), ResponseModel: s.GetResponseModel(),
		ResponseId: s.GetResponseId(), ProviderResponseId: s.GetProviderResponseId(), Usage: s.GetUsage(),
		CreateTime: s.GetCreateTime(), StopReason: llmdv1.StopReason_STOP_REASON_PENDING,
	}
}

// head is the message without its content.
func (a *Accumulator) head() *llmdv1.AssistantMessage {
	if a.message == nil {
		a.message = begin(nil)
	}
	return a.message
}

// snapshot replaces everything. One thing it does not have: the text behind the
// arguments of a running tool call, which it shows closed. Whoever saw that call
// begin keeps its own text; whoever joined later sees no more of it until its end.
func (a *Accumulator) snapshot(m *llmdv1.AssistantMessage, omitted bool) {
	a.message = proto.CloneOf(cmp.Or(m, &llmdv1.AssistantMessage{}))
	a.message.Content = nil
	if omitted {
		return
	}
	blocks := make([]block, len(m.GetContent()))
	for i, c := range m.GetContent() {
		blocks[i] = resumed(c)
		if c.GetToolCall().GetIncomplete() && i < len(a.blocks) && a.blocks[i].open {
			blocks[i] = a.blocks[i]
		}
	}
	a.blocks = blocks
}

// end takes the terminal message: it replaces everything, unless its content was
// left out; then the events had it.
func (a *Accumulator) end(m *llmdv1.AssistantMessage, omitted bool) {
	a.message, a.ended, a.whole = cmp.Or(m, &llmdv1.AssistantMessage{}), true, !omitted
}

// at is the block at index, nil if there is none.
func (a *Accumulator) at(index int32) *block {
	if index < 0 || int(index) >= len(a.blocks) {
		return nil
	}
	return &a.blocks[index]
}
