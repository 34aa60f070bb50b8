package generation

import (
	"iter"
	"unicode/utf8"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// pieces cuts text into deltas of at most maxDeltaBytes at code points; empty text
// has none.
func pieces(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(s) > maxDeltaBytes {
			cut := maxDeltaBytes
			for cut > 0 && !utf8.RuneStart(s[cut]) {
				cut--
			}
			if !yield(s[:cut]) {
				return
			}
			s = s[cut:]
		}
		if s != "" {
			yield(s)
		}
	}
}

// event is an event that has no number yet. Deltas are most of what is sent, and they
// may be merged before they are: they become a message only when it is their turn.
type event struct {
	// response is any event but a delta, bytes its size once it is queued.
	response *llmdv1.StreamResponse
	bytes    int
	// number is the event's own number plus one; 0 = its reader gives it one.
	number int32

	// kind is that of a delta's block; 0 = it is none.
	kind  blockKind
	index int32
	text  string
	// Of deltas of a tool call.
	valid            int32
	closing, partial string
}

// numbered is the message to send. Events are shared between readers, so the number
// goes on a copy of the outermost message.
func (e *event) numbered(sequence int32) *llmdv1.StreamResponse {
	switch e.kind {
	case textBlock:
		return textDelta(sequence, e)
	case thinkingBlock:
		return thinkingDelta(sequence, e)
	case toolCallBlock:
		return toolCallDelta(sequence, e)
	case providerBlock: // comes whole
	}
	return &llmdv1.StreamResponse{SequenceNumber: sequence, Event: e.response.GetEvent()}
}

// A delta is three messages deep; here the three share one allocation.

func textDelta(sequence int32, e *event) *llmdv1.StreamResponse {
	m := &struct {
		response llmdv1.StreamResponse
		event    llmdv1.StreamResponse_TextDelta
		delta    llmdv1.TextDeltaEvent
	}{}
	m.delta.ContentIndex, m.delta.Delta = e.index, e.text
	m.event.TextDelta = &m.delta
	m.response.SequenceNumber, m.response.Event = sequence, &m.event
	return &m.response
}

func thinkingDelta(sequence int32, e *event) *llmdv1.StreamResponse {
	m := &struct {
		response llmdv1.StreamResponse
		event    llmdv1.StreamResponse_ThinkingDelta
		delta    llmdv1.ThinkingDeltaEvent
	}{}
	m.delta.ContentIndex, m.delta.Delta = e.index, e.text
	m.event.ThinkingDelta = &m.delta
	m.response.SequenceNumber, m.response.Event = sequence, &m.event
	return &m.response
}

func toolCallDelta(sequence int32, e *event) *llmdv1.StreamResponse {
	m := &struct {
		response llmdv1.StreamResponse
		event    llmdv1.StreamResponse_ToolCallDelta
		delta    llmdv1.ToolCallDeltaEvent
	}{}
	m.delta.ContentIndex, m.delta.Delta = e.index, e.text
	m.delta.ValidPrefixBytes, m.delta.Closing, m.delta.PartialArgumentsJson = e.valid, e.closing, e.partial
	m.event.ToolCallDelta = &m.delta
	m.response.SequenceNumber, m.response.Event = sequence, &m.event
	return &m.response
}
