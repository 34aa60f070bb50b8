package adapters

import (
	"encoding/json"
	"slices"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Thoughts are the words of a thinking block. Hosts of Chat Completions that send the
// typed items of OpenRouter and no text beside them, such as Snowflake, leave the words
// in those items alone, which are the block's signature.
// https://openrouter.ai/docs/use-cases/reasoning-tokens#reasoning_details-array-structure
func Thoughts(t *llmdv1.ThinkingContent) string {
	if strings.TrimSpace(t.GetThinking()) != "" || t.GetSignature().GetFormat() != "chat.reasoning_details" {
		return t.GetThinking()
	}
	var items []struct{ Text, Summary string }
	if !Readable(json.Unmarshal(t.GetSignature().GetData(), &items)) {
		return t.GetThinking()
	}
	var words []string
	for _, i := range items {
		if said := i.Text + i.Summary; strings.TrimSpace(said) != "" {
			words = append(words, said)
		}
	}
	return strings.Join(words, "\n\n")
}

// HistoryThinks says whether a history, as it is sent, holds signed thinking.
func HistoryThinks(history *llmdv1.Context) bool {
	return slices.ContainsFunc(history.GetMessages(), func(m *llmdv1.Message) bool {
		return slices.ContainsFunc(m.GetAssistant().GetContent(), func(b *llmdv1.AssistantContent) bool {
			return b.GetThinking().GetSignature() != nil
		})
	})
}
