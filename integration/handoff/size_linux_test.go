package handoff

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// shapes are histories that grow in one way each, so that a step which looks at
// everything for every part is felt.
func shapes() map[string]func(m *profile.Model, n int) *llmdv1.Generation {
	return map[string]func(m *profile.Model, n int) *llmdv1.Generation{
		"calls of one turn": func(m *profile.Model, n int) *llmdv1.Generation {
			return history(m, exchange(nil, n, func(i int) string { return fmt.Sprintf("call.%d", i) })...)
		},
		"calls with one id": func(m *profile.Model, n int) *llmdv1.Generation {
			return history(m, exchange(nil, n, func(int) string { return "call" })...)
		},
		"turns of another model": func(m *profile.Model, n int) *llmdv1.Generation {
			var all []*llmdv1.Message
			for i := range n / 4 {
				all = append(append(all, asked("go")), exchange(nil, 1, func(int) string { return fmt.Sprintf("c.%d", i) })...)
			}
			return history(m, all...)
		},
		"turns of its own": func(m *profile.Model, n int) *llmdv1.Generation {
			var all []*llmdv1.Message
			for i := range n / 4 {
				all = append(append(all, asked("go")), exchange(m, 1, func(int) string { return fmt.Sprintf("c.%d", i) })...)
			}
			return history(m, all...)
		},
		"broken groups": func(m *profile.Model, n int) *llmdv1.Generation {
			var all []*llmdv1.Message
			for range n / 4 {
				all = append(append(all, asked("go")), exchange(nil, 1, func(int) string { return "c" })[0])
			}
			g := history(m, all...)
			g.Handoff = &llmdv1.HandoffPolicy{BrokenToolGroups: llmdv1.BrokenToolGroups_BROKEN_TOOL_GROUPS_DROP_GROUPS}
			return g
		},
		"turns of the user": func(m *profile.Model, n int) *llmdv1.Generation {
			var all []*llmdv1.Message
			for range n {
				all = append(all, asked("go"), asked(" "))
			}
			return history(m, all...)
		},
		"blocks of the user": func(m *profile.Model, n int) *llmdv1.Generation {
			u := &llmdv1.UserMessage{}
			for i := range n {
				u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: smallImage(i)}})
			}
			return history(m, &llmdv1.Message{Message: &llmdv1.Message_User{User: u}})
		},
		"tools that are gone": func(m *profile.Model, n int) *llmdv1.Generation {
			all := exchange(nil, n, func(i int) string { return fmt.Sprint(i) })
			for i, c := range all[0].GetAssistant().GetContent() {
				if c.GetToolCall() != nil {
					c.GetToolCall().Name = fmt.Sprintf("tool%d", i)
				}
			}
			g := history(m, all...)
			g.Context.Tools = nil
			return g
		},
		"deep arguments": func(m *profile.Model, n int) *llmdv1.Generation {
			all := exchange(nil, 1, func(int) string { return "c" })
			depth := n / 8
			for _, c := range all[0].GetAssistant().GetContent() {
				if c.GetToolCall() != nil {
					c.GetToolCall().ArgumentsJson = strings.Repeat(`{"":1,"a":`, depth) + "1" + strings.Repeat("}", depth)
				}
			}
			return history(m, all...)
		},
	}
}

func history(m *profile.Model, messages ...*llmdv1.Message) *llmdv1.Generation {
	c := &llmdv1.Context{Tools: tools(), Messages: append(append([]*llmdv1.Message{asked("begin")}, messages...), asked("end"))}
	return &llmdv1.Generation{Model: m.Name(), Context: c}
}

func asked(s string) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{
		{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s}}},
	}}}}
}

func smallImage(i int) *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: fmt.Appendf(nil, "\x89PNG\r\n\x1a\n%d", i)}, MimeType: "image/png"}
}

// exchange is an answer with n calls, by a model or by nobody here, and their results
// with an image each, in the wrong order.
func exchange(by *profile.Model, n int, id func(int) string) []*llmdv1.Message {
	a := &llmdv1.AssistantMessage{Api: "x", Provider: "y", Model: "z", StopReason: llmdv1.StopReason_STOP_REASON_TOOL_USE}
	var s *llmdv1.Signature
	if by != nil {
		a.Api, a.Provider, a.Model = by.API, by.Provider, by.ID
		s = &llmdv1.Signature{
			Api: by.API, Provider: by.Provider, Model: by.ID, Endpoint: by.Endpoint, Format: "openai.reasoning_item",
			Data: fmt.Appendf(nil, `{"type":"reasoning","id":"rs_%s","summary":[]}`, id(0)),
		}
	}
	a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{Thinking: "Hm.", Signature: s}}})
	var results []*llmdv1.Message
	for i := range n {
		a.Content = append(a.Content, &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{
			Id: id(i), Name: "edit", ArgumentsJson: `{"text":"x"}`,
		}}})
		results = append(results, &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{
			ToolCallId: id(n - 1 - i), IsError: i%2 == 0,
			Content: []*llmdv1.ToolResultContent{{Block: &llmdv1.ToolResultContent_Image{Image: smallImage(i)}}},
		}}})
	}
	return append([]*llmdv1.Message{{Message: &llmdv1.Message_Assistant{Assistant: a}}}, results...)
}

// What a hand-off costs grows with the history and no faster: four times the history
// is four times the work, where sixteen would be quadratic. Work is the processor's
// time of this thread alone, the least of several runs.
func TestWorkGrowsWithTheHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	w := newWorld(t)
	const small, large, limit = 1500, 6000, 6.5
	for name, shape := range shapes() {
		for _, model := range []string{ // one for each code
			"claude/claude-sonnet-4-5", "oai-chat/gpt-4.1", "plain/gpt-oss-text-only", "oai/gpt-5", "gem/gemini-2.5-flash", "gem/gemini-3-pro-preview",
			"rock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "rock/us.amazon.nova-2-lite-v1:0", "mist/magistral-medium-latest",
		} {
			m := w.Model(model)
			a, b := shape(m, small), shape(m, large)
			var ratio float64
			for range 4 { // the first one warms up
				ratio = float64(work(t, w, m, b)) / float64(work(t, w, m, a))
				if ratio < limit {
					break
				}
			}
			if ratio >= limit {
				t.Errorf("%s, to %s: %.1f times the work for four times the history", name, m.Name(), ratio)
			}
			runtime.GC()
		}
	}
}

// work is the least time of three runs.
func work(t *testing.T, w *World, m *profile.Model, g *llmdv1.Generation) time.Duration {
	t.Helper()
	least := time.Hour
	for range 3 {
		begun := threadTime(t)
		if _, err := w.Prepare(Turn{m, g}); err != nil && !Refused(err) {
			t.Fatal(err)
		}
		least = min(least, threadTime(t)-begun)
	}
	return least
}

func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
