package crosscheck

import (
	"strings"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// talk is a conversation while it is made up.
type talk struct {
	target *target
	model  *profile.Model
	*llmdv1.Generation
}

// conversation is one that is sent to every target.
type conversation struct {
	name string
	make func(*talk)
}

const (
	schema = `{"type":"object","properties":{"path":{"type":"string","description":"Where."},"mode":{"enum":["a","b"]},` +
		`"opts":{"type":"object","properties":{"deep":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}}},"required":["deep"]}},"required":["path"]}`
	unwell = "a\u0000b \u202e \U0001f468\u200d\U0001f469\u200d\U0001f467 e\u0301 \u2028 日本語 שלום \"quoted\" \\ </script>"
)

func longID() string { return "call_" + strings.Repeat("x", 80) }

func conversations() []conversation {
	return []conversation{
		{"plain", func(c *talk) { c.user(words("Hi")) }},
		{"system", func(c *talk) {
			c.Context.SystemPrompt = "Be brief."
			c.user(words("Hi"))
		}},
		{"tools", func(c *talk) {
			c.Context.Tools = append(c.Context.Tools,
				&llmdv1.Tool{Name: "look", Description: "Looks.", ParametersJsonSchema: schema},
				&llmdv1.Tool{Name: "no-args", Description: "Does.", ParametersJsonSchema: `{"type":"object","properties":{}}`})
			c.user(words("Hi"))
		}},
		{"several turns", func(c *talk) {
			c.user(words("Hi"))
			c.answers(text("Hello."))
			c.user(words("One"), words("two"))
			c.answers(text("a"), text("b"))
			c.user(words("And?"))
		}},
		{"own thinking", func(c *talk) {
			c.user(words("What is 6 times 7?"))
			c.answers(c.thought("Six sevens."), c.signedText("42."))
			c.user(words("Sure?"))
		}},
		{"own thinking in a tool loop", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answers(c.thought("I look."), c.call("call_1", `{"path":"x"}`))
			c.result("call_1", false, output("found"))
		}},
		{"own thinking, unsigned", func(c *talk) {
			c.user(words("What is 6 times 7?"))
			c.answers(thinks("Six sevens.", nil), text("42."))
			c.user(words("Sure?"))
		}},
		{"redacted thinking", func(c *talk) {
			c.user(words("What is 6 times 7?"))
			if own := c.target.own.redacted; own != nil {
				c.answers(redacted(c.target.issued(c.model, own)), c.thought("Six sevens."), text("42."))
			} else {
				c.answersOf("anthropic-messages", "elsewhere", "another", redacted(foreignSign("anthropic.redacted_thinking", "cmVkYWN0ZWQ=")), text("42."))
			}
			c.user(words("Sure?"))
		}},
		{"thinking alone", func(c *talk) {
			c.user(words("What is 6 times 7?"))
			c.answers(c.thought("Six sevens."))
			c.user(words("Well?"))
		}},
		{"parallel calls", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answers(text("Looking."), plainCall("call_1", `{"path":"x"}`), plainCall("call_2", `{"path":"y"}`))
			c.result("call_1", false, output("one"))
			c.result("call_2", false, output("two"), output("three"))
		}},
		{"results in another order", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answers(plainCall("call_1", `{"path":"x"}`), plainCall("call_2", `{"path":"y"}`))
			c.result("call_2", false, output("two"))
			c.result("call_1", false, output("one"))
			c.user(words("And?"))
		}},
		{"failed tool", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answers(plainCall("call_1", `{"path":"x"}`))
			c.result("call_1", true, output("no such file"))
		}},
		{"image of the user", func(c *talk) { c.user(words("What is it?"), image()) }},
		{"image in a result", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answers(plainCall("call_1", `{"path":"x"}`), plainCall("call_2", `{"path":"y"}`))
			c.result("call_1", false, output("here"), picture())
			c.result("call_2", false, picture())
		}},
		{"image in a failed result", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answers(plainCall("call_1", `{"path":"x"}`))
			c.result("call_1", true, output("half of it:"), picture())
			c.user(words("And?"))
		}},
		{"unanswered call", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answers(plainCall("call_1", `{"path":"x"}`), plainCall("call_2", `{"path":"y"}`))
			c.result("call_2", false, output("two"))
			c.user(words("Never mind."))
		}},
		{"aborted turn", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answers(text("Loo"), plainCall("call_1", `{"path":"x"}`))
			c.last().StopReason = llmdv1.StopReason_STOP_REASON_ABORTED
			c.result("call_1", false, output("found"))
			c.user(words("Again."))
		}},
		{"failed turn at the end", func(c *talk) {
			c.user(words("Hi"))
			c.answers(text("Hel"))
			c.last().StopReason = llmdv1.StopReason_STOP_REASON_ERROR
			c.user(words("Again."))
		}},
		{"from Claude", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answersOf("anthropic-messages", "elsewhere", "claude-opus-4-6",
				thinks("I look.", foreignSign("anthropic.thinking", "c2ln")), text("Looking."), plainCall("toolu_01ABC", `{"path":"x"}`))
			c.result("toolu_01ABC", false, output("found"))
			c.answersOf("anthropic-messages", "elsewhere", "claude-opus-4-6", text("Found."))
			c.user(words("Thanks."))
		}},
		{"from Gemini", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			call := plainCall("look_0", `{"path":"x"}`)
			call.GetToolCall().Signature = foreignSign("google.thought", "c2ln")
			c.answersOf("google-generative-ai", "elsewhere", "gemini-3-pro", call)
			c.result("look_0", false, output("found"))
			c.user(words("Thanks."))
		}},
		{"long and odd ids of another", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answersOf("openai-completions", "elsewhere", "kimi", plainCall(longID(), `{"path":"x"}`), plainCall("functions.look:0", `{"path":"y"}`))
			c.result(longID(), false, output("one"))
			c.result("functions.look:0", false, output("two"))
		}},
		{"odd ids of its own", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answers(plainCall("functions.look:0", `{"path":"x"}`))
			c.result("functions.look:0", false, output("one"))
		}},
		{"one id in two turns", func(c *talk) {
			c.tool()
			for _, path := range []string{"x", "y"} {
				c.user(words("Look."))
				c.answersOf("openai-completions", "elsewhere", "kimi", plainCall("call_0", `{"path":"`+path+`"}`))
				c.result("call_0", false, output(path))
			}
		}},
		{"empty texts", func(c *talk) {
			c.tool()
			c.user(words(""), words("Look."), words(" "))
			c.answers(text(""), text("\n"), plainCall("call_1", `{"path":"x"}`))
			c.result("call_1", false, output(""))
			c.answers(text(""))
			c.user(words("And?"))
		}},
		{"unicode", func(c *talk) {
			c.Context.SystemPrompt = unwell
			c.tool()
			c.user(words(unwell))
			c.answers(text(unwell), plainCall("call_1", `{"path":"日本 \"x\""}`))
			c.result("call_1", false, output(unwell))
		}},
		{"odd spelling of arguments", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answers(plainCall("call_1", `{ "path": "x", "n": 1.0, "big": 12345678901234567890, "b": 1, "a": 2 }`))
			c.result("call_1", false, output("one"))
		}},
		{"consecutive users", func(c *talk) {
			c.user(words("One."))
			c.user(words("Two."), image())
			c.answers(text("a"))
			c.answers(text("b"))
			c.user(words("Three."))
		}},
		{"the assistant begins", func(c *talk) {
			c.answers(text("Welcome."))
			c.user(words("Hi"))
		}},
		{"a result without its call", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.result("call_9", false, output("found"))
			c.user(words("And?"))
		}},
		{"words after results", func(c *talk) {
			c.tool()
			c.user(words("Look."))
			c.answers(plainCall("call_1", `{"path":"x"}`))
			c.result("call_1", false, output("found"))
			c.user(words("Stop."))
		}},
		{"tools gone", func(c *talk) {
			c.user(words("Look."))
			c.answers(plainCall("call_1", `{"path":"x"}`))
			c.result("call_1", false, output("found"))
			c.user(words("And?"))
		}},
		{"cached", func(c *talk) {
			c.Cache = nil
			c.Context.SystemPrompt = "Be brief."
			c.tool()
			c.user(words("Hi"))
			c.answers(text("Hello."))
			c.user(words("And?"))
		}},
		{"thinking hard", func(c *talk) {
			c.Reasoning = &llmdv1.ReasoningConfig{Effort: llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH}
			c.user(words("What is 6 times 7?"))
		}},
		{"warm", func(c *talk) {
			warm := 0.5
			c.Config.Temperature = &warm
			c.user(words("Hi"))
		}},
	}
}

func (c *talk) tool() {
	c.Context.Tools = []*llmdv1.Tool{{Name: "look", Description: "Looks.", ParametersJsonSchema: `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`}}
}

func (c *talk) add(m *llmdv1.Message) { c.Context.Messages = append(c.Context.Messages, m) }

func (c *talk) user(blocks ...*llmdv1.UserContent) {
	c.add(&llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: blocks}}})
}

func (c *talk) answers(blocks ...*llmdv1.AssistantContent) {
	c.answersOf(c.model.API, c.model.Provider, c.model.ID, blocks...)
}

func (c *talk) answersOf(api, provider, model string, blocks ...*llmdv1.AssistantContent) {
	stop := llmdv1.StopReason_STOP_REASON_STOP
	for _, b := range blocks {
		if b.GetToolCall() != nil {
			stop = llmdv1.StopReason_STOP_REASON_TOOL_USE
		}
	}
	c.add(&llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{
		Api: api, Provider: provider, Model: model, StopReason: stop, Content: blocks,
	}}})
}

func (c *talk) last() *llmdv1.AssistantMessage {
	return c.Context.Messages[len(c.Context.Messages)-1].GetAssistant()
}

func (c *talk) result(id string, failed bool, blocks ...*llmdv1.ToolResultContent) {
	c.add(&llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{
		ToolCallId: id, ToolName: "look", IsError: failed, Content: blocks,
	}}})
}

// thought is the target's own thinking, signed where it signs.
func (c *talk) thought(s string) *llmdv1.AssistantContent {
	return thinks(s, c.target.issued(c.model, c.target.own.thinking))
}

// redacted is thinking that only its issuer can read.
func redacted(s *llmdv1.Signature) *llmdv1.AssistantContent {
	b := thinks("", s)
	b.GetThinking().Redacted = true
	return b
}

func (c *talk) signedText(s string) *llmdv1.AssistantContent {
	b := text(s)
	b.GetText().Signature = c.target.issued(c.model, c.target.own.text)
	return b
}

// call is the target's own call, signed where it signs.
func (c *talk) call(id, arguments string) *llmdv1.AssistantContent {
	b := plainCall(id, arguments)
	b.GetToolCall().Signature = c.target.issued(c.model, c.target.own.call)
	return b
}

func foreignSign(format, data string) *llmdv1.Signature {
	return &llmdv1.Signature{Format: format, Data: []byte(data), Api: "anthropic-messages", Provider: "elsewhere", Model: "another"}
}

func words(s string) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func pixel() *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte("\x89PNG\r\n\x1a\n")}, MimeType: "image/png"}
}

func image() *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: pixel()}}
}

func picture() *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: pixel()}}
}

func output(s string) *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func text(s string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func thinks(s string, signature *llmdv1.Signature) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{Thinking: s, Signature: signature}}}
}

func plainCall(id, arguments string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{Id: id, Name: "look", ArgumentsJson: arguments}}}
}
