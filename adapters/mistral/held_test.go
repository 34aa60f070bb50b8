package mistral_test

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/mistral"
)

func TestHeld(t *testing.T) {
	piece := func(delta string) frame.Frame {
		return frame.Frame{Data: []byte(`{"choices":[{"index":0,"delta":` + delta + `}]}`)}
	}
	stop := []frame.Frame{{Data: []byte(`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}`)}}
	adaptertest.CountsHeld(t, mistral.New(), map[string]adaptertest.Keeps{
		"parts of thinking": {
			Piece: piece(`{"content":[{"type":"thinking","thinking":[{"type":"reference","reference_ids":["%[1]s"]}]}]}`), End: stop,
		},
		"members of thinking": {
			Piece: piece(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"x"}],"m%[2]d":"%[1]s"}]}`), End: stop,
		},
		"in quotes": {
			Begin: []frame.Frame{piece(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"\"{"}}]}`)},
			Piece: piece(`{"tool_calls":[{"index":0,"function":{"arguments":"%[1]s"}}]}`), End: stop,
		},
		"ids": {Piece: piece(`{"tool_calls":[{"index":0,"id":"%[1]s%[2]d","function":{"name":"f","arguments":"1"}}]}`)},
	})
}
