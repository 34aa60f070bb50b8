package openaichat

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/frame"
)

func TestHeld(t *testing.T) {
	piece := func(delta string) frame.Frame { return frame.Frame{Data: []byte(deltaOf(delta))} }
	stop := []frame.Frame{{Data: []byte(end("stop"))}}
	adaptertest.CountsHeld(t, New(), map[string]adaptertest.Keeps{
		"details":     {Piece: piece(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"%[1]s"}]}`), End: stop},
		"a detail":    {Piece: piece(`{"reasoning_details":[{"type":"reasoning.text","text":"%[1]s"}]}`), End: stop},
		"blocks":      {Piece: piece(`{"thinking_blocks":[{"type":"redacted_thinking","data":"%[1]s"}]}`), End: stop},
		"a block":     {Piece: piece(`{"thinking_blocks":[{"type":"thinking","thinking":"%[1]s","signature":""}]}`), End: stop},
		"annotations": {Piece: piece(`{"annotations":[{"type":"url_citation","url":"%[1]s"}]}`), End: stop},
		"audio":       {Piece: piece(`{"audio":{"data":"%[1]s"}}`), End: stop},
		"in quotes": {
			Begin: []frame.Frame{piece(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"\"{"}}]}`)},
			Piece: piece(`{"tool_calls":[{"index":0,"function":{"arguments":"%[1]s"}}]}`),
		},
		"ids": {Piece: piece(`{"tool_calls":[{"index":0,"id":"%[1]s%[2]d","function":{"name":"f"}}]}`)},
		"repetitions": {
			Piece: piece(`{"tool_calls":[{"index":%[2]d,"id":"a%[2]d","function":{"name":"f","arguments":"{\"a\":"}},` +
				`{"index":%[2]d,"function":{"arguments":"{\"a\":%[1]s"}}]}`),
			End: nil,
		},
	})
}

// TestHeldDetails: what streams token by token, with the same members each time, counts by
// its text.
func TestHeldDetails(t *testing.T) {
	var frames []frame.Frame
	for range 1000 {
		frames = append(frames, frame.Frame{Data: []byte(deltaOf(`{"reasoning":"word ","reasoning_details":[{"type":"reasoning.text","text":"word ","format":"unknown","index":0}]}`))})
	}
	if n := adaptertest.Held(t, New(), frames...); n < 5000 || n > 6000 {
		t.Errorf("5000 bytes count as %d", n)
	}
}
