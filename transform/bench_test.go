package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

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

// BenchmarkCalls is one turn of many calls, with ids that the target refuses, and their
// results: time and memory should be in proportion to the calls.
func BenchmarkCalls(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := answer(gpt)
			c := conversation(says("go"), a)
			for i := range n {
				id := fmt.Sprintf("functions.look:%d", i)
				a.GetAssistant().Content = append(a.GetAssistant().Content, calls(id))
				c.Messages = append(c.Messages, returns(id, "found"))
			}
			in := transform.Input{Context: c, Model: gemini.target(), Constraints: limits(gemini)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := transform.Apply(in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/call")
		})
	}
}

// BenchmarkHistory is what one more turn of a long session costs: 500 turns, 2 MB,
// most of it results of tools, handed to another model. It should stay under 5 ms.
func BenchmarkHistory(b *testing.B) {
	const turns, size = 500, 2 << 20
	page := strings.Repeat("A line of some file, as tools return them.\n", 4*size/turns/44)
	c := session(gpt, turns)
	for _, m := range c.GetMessages() {
		for _, content := range m.GetToolResult().GetContent() {
			content.GetText().Text = page
		}
	}
	in := transform.Input{Context: c, Model: claude.target(), Constraints: limits(claude)}
	b.SetBytes(int64(proto.Size(c)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := transform.Apply(in); err != nil {
			b.Fatal(err)
		}
	}
}
