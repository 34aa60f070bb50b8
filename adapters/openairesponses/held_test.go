package openairesponses

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/frame"
)

func TestHeld(t *testing.T) {
	event := func(data string) frame.Frame { return frame.Frame{Data: []byte(data)} }
	adaptertest.CountsHeld(t, New(), map[string]adaptertest.Keeps{
		"items": {
			Piece: event(`{"type":"response.output_item.added","output_index":%[2]d,"item":{"type":"poem","id":"%[1]s%[2]d"}}`),
		},
		"arguments": {
			Piece: event(`{"type":"response.output_item.added","output_index":%[2]d,"item":{"type":"function_call","id":"a%[2]d","name":"f","arguments":"{\"a\":\"%[1]s\"}"}}`),
		},
		"last words": {
			Piece: event(`{"type":"response.output_text.done","output_index":%[2]d,"content_index":0,"text":"%[1]s"}`),
		},
		"citations": {
			Begin: []frame.Frame{event(`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}}`)},
			Piece: event(`{"type":"response.output_text.annotation.added","output_index":0,"annotation":{"type":"url_citation","url":"%[1]s%[2]d"}}`),
		},
		"ids": {
			Piece: event(`{"type":"response.output_item.done","output_index":%[2]d,"item":{"type":"message","id":"%[1]s%[2]d","content":[]}}`),
		},
	})
}
