package bedrock_test

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/bedrock"
	"github.com/llmd-dev/llmd/adapters/frame"
)

func TestHeld(t *testing.T) {
	event := func(name, data string) frame.Frame { return frame.Frame{Event: name, Data: []byte(data)} }
	delta := func(delta string) frame.Frame {
		return event("contentBlockDelta", `{"contentBlockIndex":0,"delta":`+delta+`}`)
	}
	end := []frame.Frame{event("contentBlockStop", `{"contentBlockIndex":0}`)}
	stop := []frame.Frame{event("messageStop", `{"stopReason":"end_turn"}`)}
	adaptertest.CountsHeld(t, bedrock.New(), map[string]adaptertest.Keeps{
		"signature": {Piece: delta(`{"reasoningContent":{"signature":"%[1]s"}}`), End: end},
		"redacted":  {Piece: delta(`{"reasoningContent":{"redactedContent":"%[1]s"}}`), End: end},
		"citations": {Piece: delta(`{"citation":{"title":"%[1]s"}}`), End: end},
		"a list":    {Piece: delta(`{"toolResult":[{"json":{"x":"%[1]s"}}]}`), End: end},
		"a string":  {Piece: delta(`{"image":{"source":{"bytes":"%[1]s"}}}`), End: end},
		"members":   {Piece: delta(`{"poem":{"%[2]d":"%[1]s"}}`), End: end},
		"blocks":    {Piece: event("contentBlockStart", `{"contentBlockIndex":%[2]d,"start":{"poem":{"verse":"%[1]s"}}}`), End: stop},
	})
}

// TestHeldSmall: what is small counts by what it takes.
func TestHeldSmall(t *testing.T) {
	var sum int
	for _, delta := range []string{`{"toolResult":[1,1,1,1,1,1,1,1,1,1]}`, `{"poem":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}}`, `{"reasoningContent":{"reasoningText":{}}}`} {
		n := adaptertest.Held(t, bedrock.New(), frame.Frame{
			Event: "contentBlockDelta", Data: []byte(`{"contentBlockIndex":0,"delta":` + delta + `}`),
		})
		if n < 100 {
			t.Errorf("%s counts as %d", delta, n)
		}
		sum += n
	}
	if sum < 2500 {
		t.Errorf("20 values count as %d", sum)
	}
}
