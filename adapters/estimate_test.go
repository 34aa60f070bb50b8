package adapters

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// TestDefaultMaxOutputByCharacters: a limit found by bytes is the one that characters
// give.
func TestDefaultMaxOutputByCharacters(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		c := &llmdv1.Context{SystemPrompt: strings.Repeat([]string{"words ", "où ", "文字"}[rnd.IntN(3)], rnd.IntN(60000))}
		m := &profile.Model{ContextWindow: int32(1 + rnd.IntN(200_000)), MaxOutput: int32(1 + rnd.IntN(100_000))}
		want := int32(min(int64(m.MaxOutput), max(1, room(int64(m.ContextWindow), EstimateTokens(c)))))
		if got := DefaultMaxOutput(c, m); got != want {
			t.Fatalf("%d characters, window %d, limit %d: %d, want %d", len([]rune(c.GetSystemPrompt())), m.ContextWindow, m.MaxOutput, got, want)
		}
	}
	for window := range int64(300_000) {
		if room(window, window/2) < room(window, window/2+1) {
			t.Fatalf("in a window of %d tokens one more of input leaves more room", window)
		}
	}
}
