package anthropic

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/profile"
)

// FuzzDecode: no body makes the decoder panic, or end in silence.
func FuzzDecode(f *testing.F) {
	adaptertest.Seeds(f, "anthropic-messages")
	f.Add("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		adaptertest.NeverSilent(t, New(), adaptertest.NewCall(&profile.Model{ID: "m"}), body)
	})
}
