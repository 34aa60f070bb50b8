package responses

import (
	"context"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Log is numbered events that do not change any more, as bytes: each event with its
// length before it.
type Log struct {
	first, next int32
	bytes       []byte
}

// NewLog encodes events of successive numbers.
func NewLog(events []*llmdv1.StreamResponse) *Log {
	l := &Log{}
	if len(events) == 0 {
		return l
	}
	l.first = events[0].GetSequenceNumber()
	l.next = l.first + int32(len(events))
	l.bytes = AppendEvents(make([]byte, 0, 64*len(events)), events)
	return l
}

// AppendEvents encodes events behind what is in b, each with its length before it.
func AppendEvents(b []byte, events []*llmdv1.StreamResponse) []byte {
	for _, e := range events {
		b = protowire.AppendVarint(b, uint64(proto.Size(e)))
		// Marshalling fails for invalid UTF-8 alone, which the assembler has mended.
		b, _ = proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, e)
	}
	return b
}

// ReadEvents decodes what AppendEvents encoded, but those up to a number.
func ReadEvents(b []byte, after int32) ([]*llmdv1.StreamResponse, error) {
	var out []*llmdv1.StreamResponse
	for len(b) > 0 {
		text, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		e := &llmdv1.StreamResponse{}
		if err := proto.Unmarshal(text, e); err != nil {
			return nil, err
		}
		if e.GetSequenceNumber() > after {
			out = append(out, e)
		}
	}
	return out, nil
}

// size is nil-safe.
func (l *Log) size() int {
	if l == nil {
		return 0
	}
	return len(l.bytes)
}

// Terminal says whether an event ends a stream.
func Terminal(e *llmdv1.StreamResponse) bool {
	switch e.GetEvent().(type) {
	case *llmdv1.StreamResponse_Done, *llmdv1.StreamResponse_Error, *llmdv1.StreamResponse_Aborted:
		return true
	}
	return false
}

// Final is the message of a terminal event. omitted: its content was left out.
func Final(e *llmdv1.StreamResponse) (m *llmdv1.AssistantMessage, omitted bool) {
	switch t := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_Done:
		return t.Done.GetMessage(), t.Done.GetContentOmitted()
	case *llmdv1.StreamResponse_Error:
		return t.Error.GetMessage(), t.Error.GetContentOmitted()
	case *llmdv1.StreamResponse_Aborted:
		return t.Aborted.GetMessage(), t.Aborted.GetContentOmitted()
	}
	return nil, false
}

// StatusOf is what the status of a stream says that ends with a terminal event:
// contract 2.10. A caller that went away is told of its answer without one.
func StatusOf(e *llmdv1.StreamResponse) error {
	switch t := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_Error:
		return &StatusError{Status: t.Error.GetError()}
	case *llmdv1.StreamResponse_Aborted:
		if t.Aborted.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_REQUESTED {
			return &StatusError{Status: t.Aborted.GetMessage().GetError()}
		}
	}
	return nil
}

// Pending is a message as it was before its end, for a snapshot.
func Pending(m *llmdv1.AssistantMessage) *llmdv1.AssistantMessage {
	p := proto.CloneOf(m)
	p.StopReason, p.Error = llmdv1.StopReason_STOP_REASON_PENDING, nil
	return p
}

// Snapshot is a snapshot event under the number of the last event it stands for.
func Snapshot(m *llmdv1.AssistantMessage, number int32) *llmdv1.StreamResponse {
	return &llmdv1.StreamResponse{SequenceNumber: number, Event: &llmdv1.StreamResponse_Snapshot{
		Snapshot: &llmdv1.SnapshotEvent{Message: m},
	}}
}

// Trail reads a record of numbered events: those behind a number, or what stands for them.
func (r *Record) Trail(after int32) (Trail, error) {
	last := r.Terminal.GetSequenceNumber()
	if after > last {
		return nil, &BeyondEndError{Last: last}
	}
	if after+1 >= last {
		return &heldTrail{events: []*llmdv1.StreamResponse{r.Terminal}}, nil
	}
	if r.Log != nil && after+1 >= r.Log.first {
		events, err := ReadEvents(r.Log.bytes, after)
		return &heldTrail{events: events}, err
	}
	if _, omitted := Final(r.Terminal); omitted {
		return nil, ErrGone
	}
	return &heldTrail{events: []*llmdv1.StreamResponse{r.Started, Snapshot(Pending(r.Message), last-1), r.Terminal}}, nil
}

// heldTrail has all of its events.
type heldTrail struct{ events []*llmdv1.StreamResponse }

func (t *heldTrail) Next(context.Context) ([]*llmdv1.StreamResponse, error) {
	events := t.events
	if t.events = nil; len(events) == 0 {
		return nil, io.EOF
	}
	return events, nil
}

func (*heldTrail) Close() {}
