package transform_test

import (
	"fmt"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

// session is a long session of an agent: each exchange is a question, thinking,
// a call, its result and an answer.
func session(by issuer, messages int) *llmdv1.Context {
	c := &llmdv1.Context{SystemPrompt: "s"}
	for i := 0; len(c.Messages) < messages; i++ {
		id := fmt.Sprintf("functions.look:%d", i)
		c.Messages = append(c.Messages,
			says("go on"),
			answer(by, thinking("Look first.", by.sign(by.format(), "c2lnbmF0dXJl")), text("Looking."), calls(id)),
			returns(id, "found"),
			answer(by, text("Done.")))
	}
	c.Messages = append(c.Messages[:messages], says("and now?"))
	return c
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		for _, by := range []issuer{claude, gpt} {
			name := "same"
			if by != claude {
				name = "foreign"
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				in := transform.Input{Context: session(by, n), Model: claude.target(), Constraints: limits(claude)}
				if by == claude {
					in.Constraints.ToolCallIDs = adapters.IDRule{}
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := transform.Apply(in); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/message")
			})
		}
	}
}
