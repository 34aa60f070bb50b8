package openairesponses

import (
	"fmt"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// noOutput stands for the output of a tool that said nothing: the API wants some.
const noOutput = "(no tool output)"

// input writes the conversation.
// https://platform.openai.com/docs/api-reference/responses/create#responses-create-input
func (e *encoder) input() error {
	w := &e.w
	w.Key("input")
	w.BeginArray()
	if system := e.call.Context.GetSystemPrompt(); system != "" {
		role := "system"
		if e.call.Model.Reasoning && e.compat.SupportsDeveloperRole {
			role = "developer"
		}
		w.BeginObject()
		w.Member("role", role)
		w.Member("content", system)
		w.EndObject()
	}
	for i, m := range e.call.Context.GetMessages() {
		var err error
		switch m := m.GetMessage().(type) {
		case *llmdv1.Message_User:
			err = e.user(i, m.User)
		case *llmdv1.Message_Assistant:
			err = e.assistant(i, m.Assistant)
		case *llmdv1.Message_ToolResult:
			err = e.result(i, m.ToolResult)
		}
		if err != nil {
			return err
		}
	}
	w.EndArray()
	return nil
}

func (e *encoder) user(n int, m *llmdv1.UserMessage) error {
	w := &e.w
	began := false
	for k, b := range m.GetContent() {
		if b.GetBlock() == nil {
			continue
		}
		if !began {
			w.BeginObject()
			w.Member("role", "user")
			w.Key("content")
			w.BeginArray()
			began = true
		}
		if img := b.GetImage(); img != nil {
			if err := e.image(img, e.blockField(n, "user", k)); err != nil {
				return err
			}
			continue
		}
		e.inputText(b.GetText().GetText())
	}
	if began {
		w.EndArray()
		w.EndObject()
	}
	return nil
}

// result writes the output of a call: a text, or a list of parts if there are
// images among it.
// https://platform.openai.com/docs/guides/function-calling#formatting-results
func (e *encoder) result(n int, m *llmdv1.ToolResultMessage) error {
	var texts []string
	images := false
	for _, b := range m.GetContent() {
		if t := b.GetText(); t != nil {
			texts = append(texts, t.GetText())
		}
		images = images || b.GetImage() != nil
	}
	text := strings.Join(texts, "\n")
	blank := strings.TrimSpace(text) == ""
	w := &e.w
	w.BeginObject()
	w.Member("type", "function_call_output")
	w.Member("call_id", m.GetToolCallId())
	w.Key("output")
	switch {
	case images:
		w.BeginArray()
		if !blank {
			e.inputText(text)
		}
		for k, b := range m.GetContent() {
			if img := b.GetImage(); img != nil {
				if err := e.image(img, e.blockField(n, "tool_result", k)); err != nil {
					return err
				}
			}
		}
		w.EndArray()
	case blank:
		w.String(noOutput)
	default:
		w.String(text)
	}
	w.EndObject()
	return nil
}

func (e *encoder) inputText(text string) {
	w := &e.w
	w.BeginObject()
	w.Member("type", "input_text")
	w.Member("text", text)
	w.EndObject()
}

// blockField names a content block of the request.
func (e *encoder) blockField(message int, kind string, block int) string {
	return fmt.Sprintf("generation.context.messages[%d].%s.content[%d]", e.origin(message), kind, block)
}

// origin is the place of a message in the caller's history, which may hold messages
// that the hand-off left out.
func (e *encoder) origin(message int) int {
	m := e.call.Context.GetMessages()[message]
	for i, theirs := range e.call.Generation.GetContext().GetMessages() {
		if theirs == m {
			return i
		}
	}
	return message
}
