package options

import (
	"encoding/base64"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// base is a conversation that a wish is added to.
type base string

const (
	plain     base = "plain"      // one question
	tools     base = "tools"      // with two tools
	one       base = "one tool"   // with one tool, whose schema leaves a property out
	turn      base = "tool turn"  // a result is being handed in, its call was made without thinking
	past      base = "past tools" // as turn, but the tools are gone
	thinks    base = "thinks"     // plain, with effort HIGH
	thinksAll base = "thinks with tools"
	forced    base = "forced" // tools, of which one must be called
	warm      base = "warm"   // plain, with a temperature of 0.5
)

// Schemas of tools and answers.
const (
	// loose has an optional property, as most schemas do.
	loose = `{"type":"object","properties":{"place":{"type":"string"},"far":{"type":"boolean"}},"required":["place"]}`
	// exact is in strict form.
	exact = `{"type":"object","properties":{"place":{"type":"string"}},"required":["place"],"additionalProperties":false}`
	// awkward has no strict form anywhere.
	awkward = `{"type":"object","properties":{"place":{"oneOf":[{"type":"string"},{"type":"integer"}]}},"required":["place"],"additionalProperties":false}`
	// open allows properties that it does not name.
	open = `{"type":"object","properties":{},"additionalProperties":true}`
)

// request makes the conversation, for a model.
func (b base) request(t target) *llmdv1.Generation {
	g := &llmdv1.Generation{Model: t.name, Context: &llmdv1.Context{
		SystemPrompt: "Be brief.", Messages: []*llmdv1.Message{harness.User("What is there?")},
	}}
	switch b {
	case tools, thinksAll, forced, turn:
		g.Context.Tools = []*llmdv1.Tool{
			{Name: "act", Description: "Acts.", ParametersJsonSchema: exact},
			{Name: "look", Description: "Looks.", ParametersJsonSchema: exact},
		}
	case one:
		g.Context.Tools = []*llmdv1.Tool{{Name: "look", Description: "Looks.", ParametersJsonSchema: loose}}
	}
	switch b {
	case turn, past:
		g.Context.Messages = append(g.Context.Messages, call("c1"), result("c1", text("A tree.")))
	case thinks, thinksAll:
		setEffort(g, llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH)
	case forced:
		g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_REQUIRED}}
	case warm:
		config(g).Temperature = new(0.5)
	}
	return g
}

func config(g *llmdv1.Generation) *llmdv1.GenerationConfig {
	if g.Config == nil {
		g.Config = &llmdv1.GenerationConfig{}
	}
	return g.Config
}

func reasoning(g *llmdv1.Generation) *llmdv1.ReasoningConfig {
	if g.Reasoning == nil {
		g.Reasoning = &llmdv1.ReasoningConfig{}
	}
	return g.Reasoning
}

func setEffort(g *llmdv1.Generation, e llmdv1.ReasoningEffort) { reasoning(g).Effort = e }

func cache(g *llmdv1.Generation) *llmdv1.CacheConfig {
	if g.Cache == nil {
		g.Cache = &llmdv1.CacheConfig{}
	}
	return g.Cache
}

// call is a turn of another model, which has not thought.
func call(id string) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{
		StopReason: llmdv1.StopReason_STOP_REASON_TOOL_USE, Api: "openai-completions", Provider: "other", Model: "other",
		Content: []*llmdv1.AssistantContent{{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{
			Id: id, Name: "look", ArgumentsJson: `{"place":"here"}`,
		}}}},
	}}}
}

// beginning is an answer that is to go on.
func beginning() *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{
		StopReason: llmdv1.StopReason_STOP_REASON_LENGTH, Api: "openai-completions", Provider: "other", Model: "other",
		Content: []*llmdv1.AssistantContent{{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: "There is"}}}},
	}}}
}

func result(id string, content ...*llmdv1.ToolResultContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{
		ToolCallId: id, ToolName: "look", Content: content,
	}}}
}

func text(s string) *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

// pixel is a PNG image of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func image() *llmdv1.ImageContent {
	data, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		panic(err) // a constant of this file
	}
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: data}, MimeType: "image/png"}
}

// show adds an image to the user's question.
func show(g *llmdv1.Generation, i *llmdv1.ImageContent) {
	u := g.GetContext().GetMessages()[0].GetUser()
	u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: i}})
}
