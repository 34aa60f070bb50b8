package openairesponses

import (
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/media"
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
			if err := e.image(img, e.call.BlockField(n, "user", k)); err != nil {
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

// result writes the output of a call: a text, or a list of parts in their order if there
// are images among it.
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
	if e.customs[m.GetToolCallId()] {
		w.Member("type", "custom_tool_call_output")
	} else {
		w.Member("type", "function_call_output")
	}
	w.Member("call_id", m.GetToolCallId())
	w.Key("output")
	switch {
	case images:
		if err := e.parts(n, m.GetContent(), blank); err != nil {
			return err
		}
	case blank:
		e.changes = append(e.changes, e.call.Change(n, adapters.Rewritten, adapters.RuleTextPlaceholder, fmt.Sprintf("the API wants some text: sent with %q", noOutput)))
		w.String(noOutput)
	default:
		w.String(text)
	}
	w.EndObject()
	return nil
}

// parts writes texts and images. Texts that follow each other are one; blank: they say
// nothing.
func (e *encoder) parts(n int, content []*llmdv1.ToolResultContent, blank bool) error {
	e.w.BeginArray()
	var texts []string
	flush := func() {
		if text := strings.Join(texts, "\n"); text != "" && !blank {
			e.inputText(text)
		}
		texts = nil
	}
	for k, b := range content {
		img := b.GetImage()
		if img == nil {
			texts = append(texts, b.GetText().GetText())
			continue
		}
		flush()
		if err := e.image(img, e.call.BlockField(n, "tool_result", k)); err != nil {
			return err
		}
	}
	flush()
	e.w.EndArray()
	return nil
}

// image writes an image as a part of a message or of a function's output; field names
// its block. https://platform.openai.com/docs/guides/images-vision
func (e *encoder) image(in *llmdv1.ImageContent, field string) error {
	img, err := e.call.Image(in, field, media.Takes{Unseen: true})
	if err != nil {
		return err
	}
	w := &e.w
	w.BeginObject()
	w.Member("type", "input_image")
	w.Member("detail", "auto")
	w.Key("image_url")
	w.Base64("data:"+img.Type+";base64,", img.Data)
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
