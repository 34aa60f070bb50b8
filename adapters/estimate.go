package adapters

import (
	"unicode/utf8"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// The estimate is rough on purpose: it only keeps an output limit from
// overrunning a context window. Providers count exactly.
const (
	charsPerTenTokens = 35   // 3.5 characters a token
	imageChars        = 4800 // an image, as characters
	marginTokens      = 4096 // the least distance to the window's end
	roomTokens        = 32768
)

// EstimateTokens guesses the prompt tokens of a conversation.
func EstimateTokens(c *llmdv1.Context) int64 {
	total := tokensOf(utf8.RuneCountInString(c.GetSystemPrompt()))
	for _, t := range c.GetTools() {
		total += tokensOf(len(t.GetName()) + utf8.RuneCountInString(t.GetDescription()) + len(t.GetParametersJsonSchema()))
	}
	for _, m := range c.GetMessages() {
		total += tokensOf(messageChars(m))
	}
	return total
}

func tokensOf(chars int) int64 {
	return (int64(chars)*10 + charsPerTenTokens - 1) / charsPerTenTokens
}

func messageChars(m *llmdv1.Message) int {
	n := 0
	for _, b := range m.GetUser().GetContent() {
		n += utf8.RuneCountInString(b.GetText().GetText())
		if b.GetImage() != nil {
			n += imageChars
		}
	}
	for _, b := range m.GetAssistant().GetContent() {
		n += utf8.RuneCountInString(b.GetText().GetText()) + utf8.RuneCountInString(b.GetThinking().GetThinking())
		n += len(b.GetToolCall().GetName()) + len(b.GetToolCall().GetArgumentsJson()) + len(b.GetProviderContent().GetRawJson())
	}
	for _, b := range m.GetToolResult().GetContent() {
		n += utf8.RuneCountInString(b.GetText().GetText())
		if b.GetImage() != nil {
			n += imageChars
		}
	}
	return n
}

// DefaultMaxOutput is the output limit for a caller that named none: the model's
// own, made smaller where the context window leaves less room. 0 = unknown. A window
// that is only guessed makes nothing smaller: the prompt may well fit.
func DefaultMaxOutput(c *llmdv1.Context, m *profile.Model) int32 {
	window, limit := int64(m.ContextWindow), int64(m.MaxOutput)
	if window <= 0 || limit <= 0 || m.WindowGuessed {
		return m.MaxOutput
	}
	input := EstimateTokens(c)
	margin := max(marginTokens, (input*15+99)/100)
	room := window - input - margin
	if room < roomTokens {
		room = min(roomTokens, window-input-marginTokens)
	}
	return int32(min(limit, max(1, room)))
}

const (
	blockBytes   = 64  // of JSON around the text of a block
	requestBytes = 512 // around all of them
)

// TextBytes is about how long the body of a request becomes, its images aside: what a
// writer makes room for beforehand.
func (c *Call) TextBytes() int {
	n := requestBytes + len(c.Context.GetSystemPrompt())
	for _, t := range c.Context.GetTools() {
		n += blockBytes + len(t.GetName()) + len(t.GetDescription()) + len(t.GetParametersJsonSchema())
	}
	for _, m := range c.Context.GetMessages() {
		for _, b := range m.GetUser().GetContent() {
			n += blockBytes + len(b.GetText().GetText())
		}
		for _, b := range m.GetAssistant().GetContent() {
			n += blockBytes + len(b.GetText().GetText()) + len(b.GetThinking().GetThinking())
			n += len(b.GetToolCall().GetArgumentsJson()) + len(b.GetProviderContent().GetRawJson())
		}
		for _, b := range m.GetToolResult().GetContent() {
			n += blockBytes + len(b.GetText().GetText())
		}
	}
	return n + n/16 // what is escaped
}
