package mistral

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/profile"
)

// FuzzDecode: no body makes the decoder panic, or end in silence.
func FuzzDecode(f *testing.F) {
	adaptertest.Seeds(f, "mistral")
	f.Add("data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		adaptertest.NeverSilent(t, New(), adaptertest.NewCall(&profile.Model{ID: "m"}), body)
	})
}
