package anthropic_test

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/anthropic"
	"github.com/llmd-dev/llmd/adapters/frame"
)

func TestHeld(t *testing.T) {
	event := func(data string) frame.Frame { return frame.Frame{Data: []byte(data)} }
	begin := func(block string) []frame.Frame {
		return []frame.Frame{event(`{"type":"content_block_start","index":0,"content_block":` + block + `}`)}
	}
	delta := func(delta string) frame.Frame {
		return event(`{"type":"content_block_delta","index":0,"delta":` + delta + `}`)
	}
	end := []frame.Frame{event(`{"type":"content_block_stop","index":0}`)}
	stop := []frame.Frame{event(`{"type":"message_stop"}`)}
	adaptertest.CountsHeld(t, anthropic.New(), map[string]adaptertest.Keeps{
		"signature": {Begin: begin(`{"type":"thinking"}`), Piece: delta(`{"type":"signature_delta","signature":"%[1]s"}`), End: end},
		"citations": {Begin: begin(`{"type":"text"}`), Piece: delta(`{"type":"citations_delta","citation":{"type":"%[1]s"}}`), End: end},
		"input": {
			Begin: begin(`{"type":"server_tool_use"}`), Piece: delta(`{"type":"input_json_delta","partial_json":"%[1]s"}`), End: end,
		},
		"a delta of the future": {Begin: begin(`{"type":"poem"}`), Piece: delta(`{"type":"poem_delta","verse":"%[1]s"}`), End: end},
		"blocks": {
			Piece: event(`{"type":"content_block_start","index":%[2]d,"content_block":{"type":"poem","verse":"%[1]s"}}`), End: stop,
		},
		"calls that began whole": {
			Piece: event(`{"type":"content_block_start","index":%[2]d,"content_block":{"type":"tool_use","id":"t","name":"f","input":{"x":"%[1]s"}}}`), End: stop,
		},
		"thinking that began whole": {
			Piece: event(`{"type":"content_block_start","index":%[2]d,"content_block":{"type":"thinking","thinking":"x","signature":"%[1]s"}}`), End: stop,
		},
	})
}
