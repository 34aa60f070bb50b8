package bedrock

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/profile"
)

// FuzzDecode: no pair of messages makes the decoder panic. The framing has checksums
// and a fuzz target of its own, so messages are made up behind it.
func FuzzDecode(f *testing.F) {
	for _, seed := range [][4]string{
		{"messageStart", `{"role":"assistant"}`, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"a"}}`},
		{"contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}`, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{"}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"reasoningContent":{"text":"a","signature":"b","redactedContent":"AA=="}}}`, "contentBlockStop", `{"contentBlockIndex":1}`},
		{"messageStop", `{"stopReason":"end_turn"}`, "metadata", `{"usage":{"inputTokens":1,"outputTokens":2}}`},
		{"throttlingException", `{"message":"slow down"}`, "", `{"output":{"message":{"content":[{"text":"a"}]}}}`},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, event1, data1, event2, data2 string) {
		d := New().NewDecoder(adaptertest.NewCall(&profile.Model{ID: "anthropic.claude-x"}))
		var s adapters.Sink
		for i, e := range [][2]string{{event1, data1}, {event2, data2}} {
			_ = d.Decode(frame.Frame{Event: e[0], Data: []byte(e[1]), Index: i}, &s) // an error is an answer
		}
		if err := d.Finish(&s); err == nil && len(s.Parts) == 0 {
			t.Fatal("it ended in silence")
		}
	})
}
