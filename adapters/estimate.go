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
func EstimateTokens(c *llmdv1.Context) int64 { return estimate(c, utf8.RuneCountInString) }

// estimate guesses with the length of texts as chars has it.
func estimate(c *llmdv1.Context, chars func(string) int) int64 {
	total := tokensOf(chars(c.GetSystemPrompt()))
	for _, t := range c.GetTools() {
		total += tokensOf(len(t.GetName()) + chars(t.GetDescription()) + len(t.GetParametersJsonSchema()))
	}
	for _, m := range c.GetMessages() {
		total += tokensOf(messageChars(m, chars))
	}
	return total
}

func tokensOf(chars int) int64 {
	return (int64(chars)*10 + charsPerTenTokens - 1) / charsPerTenTokens
}

func messageChars(m *llmdv1.Message, chars func(string) int) int {
	n := 0
	for _, b := range m.GetUser().GetContent() {
		n += chars(b.GetText().GetText())
		if b.GetImage() != nil {
			n += imageChars
		}
	}
	for _, b := range m.GetAssistant().GetContent() {
		n += chars(b.GetText().GetText()) + chars(b.GetThinking().GetThinking())
		n += len(b.GetToolCall().GetName()) + len(b.GetToolCall().GetArgumentsJson()) + len(b.GetProviderContent().GetRawJson())
	}
	for _, b := range m.GetToolResult().GetContent() {
		n += chars(b.GetText().GetText())
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
	// There are at least as many bytes as characters, and nobody has to count them:
	// most often they leave room enough.
	if limit <= room(window, estimate(c, func(s string) int { return len(s) })) {
		return m.MaxOutput
	}
	return int32(min(limit, max(1, room(window, EstimateTokens(c)))))
}

// room is how much output a window has beside so much input. More input never makes it
// larger.
func room(window, input int64) int64 {
	margin := max(marginTokens, (input*15+99)/100)
	if left := window - input - margin; left >= roomTokens {
		return left
	}
	return min(roomTokens, window-input-marginTokens)
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
