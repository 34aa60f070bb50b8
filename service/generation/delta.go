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

// Delta events are most of what is sent. Each is three messages deep; here the
// three share one allocation.

func textDeltaEvent(index int32, text string) *llmdv1.StreamResponse {
	e := &struct {
		response llmdv1.StreamResponse
		event    llmdv1.StreamResponse_TextDelta
		delta    llmdv1.TextDeltaEvent
	}{}
	e.delta.ContentIndex, e.delta.Delta = index, text
	e.event.TextDelta = &e.delta
	e.response.Event = &e.event
	return &e.response
}

func thinkingDeltaEvent(index int32, text string) *llmdv1.StreamResponse {
	e := &struct {
		response llmdv1.StreamResponse
		event    llmdv1.StreamResponse_ThinkingDelta
		delta    llmdv1.ThinkingDeltaEvent
	}{}
	e.delta.ContentIndex, e.delta.Delta = index, text
	e.event.ThinkingDelta = &e.delta
	e.response.Event = &e.event
	return &e.response
}

func toolCallDeltaEvent(index int32, text string, valid int32, closing, partial string) *llmdv1.StreamResponse {
	e := &struct {
		response llmdv1.StreamResponse
		event    llmdv1.StreamResponse_ToolCallDelta
		delta    llmdv1.ToolCallDeltaEvent
	}{}
	e.delta.ContentIndex, e.delta.Delta = index, text
	e.delta.ValidPrefixBytes, e.delta.Closing, e.delta.PartialArgumentsJson = valid, closing, partial
	e.event.ToolCallDelta = &e.delta
	e.response.Event = &e.event
	return &e.response
}
