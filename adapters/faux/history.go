package faux

import (
	"cmp"
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/media"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func writeMessages(w *jsonwire.Writer, messages []*llmdv1.Message) error {
	w.Key("messages")
	w.BeginArray()
	for i, m := range messages {
		at := fmt.Sprintf("generation.context.messages[%d]", i)
		switch {
		case m.GetUser() != nil:
			if err := writeUser(w, m.GetUser(), at+".user"); err != nil {
				return err
			}
		case m.GetAssistant() != nil:
			writeAssistant(w, m.GetAssistant())
		case m.GetToolResult() != nil:
			if err := writeToolResult(w, m.GetToolResult(), at+".tool_result"); err != nil {
				return err
			}
		}
	}
	w.EndArray()
	return nil
}

// block is what user content and the content of tool results have in common.
type block interface {
	GetText() *llmdv1.TextContent
	GetImage() *llmdv1.ImageContent
}

func writeUser(w *jsonwire.Writer, u *llmdv1.UserMessage, at string) error {
	w.BeginObject()
	w.Member("role", "user")
	err := writeBlocks(w, u.GetContent(), at)
	w.EndObject()
	return err
}

func writeToolResult(w *jsonwire.Writer, r *llmdv1.ToolResultMessage, at string) error {
	w.BeginObject()
	w.Member("role", "tool")
	w.Member("tool_call_id", r.GetToolCallId())
	if r.GetIsError() {
		w.Key("is_error")
		w.Bool(true)
	}
	err := writeBlocks(w, r.GetContent(), at)
	w.EndObject()
	return err
}

func writeBlocks[B block](w *jsonwire.Writer, blocks []B, at string) error {
	w.Key("content")
	w.BeginArray()
	for i, b := range blocks {
		switch {
		case b.GetText() != nil:
			writeText(w, b.GetText().GetText())
		case b.GetImage() != nil:
			if err := writeImage(w, b.GetImage(), fmt.Sprintf("%s.content[%d].image.uri", at, i)); err != nil {
				return err
			}
		}
	}
	w.EndArray()
	return nil
}

func writeText(w *jsonwire.Writer, text string) {
	w.BeginObject()
	w.Member("type", "text")
	w.Member("text", text)
	w.EndObject()
}

// writeImage writes image data. The service has fetched what had an address; only
// a data: URL may be left.
func writeImage(w *jsonwire.Writer, image *llmdv1.ImageContent, field string) error {
	mime, data := image.GetMimeType(), image.GetData()
	if image.GetUri() != "" {
		kind, bytes, ok := media.ParseDataURL(image.GetUri())
		if !ok {
			return &adapters.FieldError{Field: field, Detail: "neither a data URL nor one that was downloaded"}
		}
		mime, data = cmp.Or(mime, kind), bytes
	}
	w.BeginObject()
	w.Member("type", "image")
	w.Member("mime_type", mime)
	w.Key("data")
	w.Base64("", data)
	w.EndObject()
	return nil
}

// writeAssistant writes a turn; one of which nothing can be sent is left out.
func writeAssistant(w *jsonwire.Writer, a *llmdv1.AssistantMessage) {
	open := false
	begin := func() {
		if !open {
			open = true
			w.BeginObject()
			w.Member("role", "assistant")
			w.Key("content")
			w.BeginArray()
		}
	}
	for _, c := range a.GetContent() {
		switch {
		case c.GetText() != nil:
			begin()
			writeText(w, c.GetText().GetText())
		case isSigned(c.GetThinking()):
			begin()
			writeThinkingBlock(w, c.GetThinking())
		case c.GetToolCall() != nil:
			begin()
			writeToolCall(w, c.GetToolCall())
		}
	}
	if open {
		w.EndArray()
		w.EndObject()
	}
}

// isSigned says whether thinking can go back. The hand-off has made text of what
// cannot, or dropped it.
func isSigned(t *llmdv1.ThinkingContent) bool {
	if t.GetRedacted() {
		return t.GetSignature().GetFormat() == FormatRedacted
	}
	return t.GetSignature().GetFormat() == FormatThinking
}

func writeThinkingBlock(w *jsonwire.Writer, t *llmdv1.ThinkingContent) {
	w.BeginObject()
	if t.GetRedacted() {
		w.Member("type", "redacted")
	} else {
		w.Member("type", "thinking")
		w.Member("thinking", t.GetThinking())
	}
	w.Member("signature", string(t.GetSignature().GetData()))
	w.EndObject()
}

func writeToolCall(w *jsonwire.Writer, c *llmdv1.ToolCall) {
	w.BeginObject()
	w.Member("type", "tool_call")
	w.Member("id", c.GetId())
	w.Member("name", c.GetName())
	w.Key("arguments")
	if c.GetArgumentsJson() == "" {
		w.Raw("{}")
	} else {
		w.Raw(c.GetArgumentsJson())
	}
	w.EndObject()
}
