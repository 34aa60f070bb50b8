package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/media"
	"github.com/llmd-dev/llmd/adapters/turns"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Words that stand where the API leaves no other way. They are part of prompt prefixes,
// so they never change.
const (
	emptyTurn = "(empty)"
	noOutput  = "(no tool output)"
	seeImage  = "(see attached image)"
)

// imageTypes: https://docs.anthropic.com/en/docs/build-with-claude/vision
func imageTypes() []string { return []string{"image/jpeg", "image/png", "image/gif", "image/webp"} }

// rules are what the API wants of turns. Citations go back inside the text before them.
func (r *request) rules() *turns.Rules {
	return &turns.Rules{
		Empty:     emptyTurn,
		Images:    media.Takes{Types: imageTypes()},
		Thinking:  r.thought,
		Input:     input,
		Replays:   func(_, _ int, _ *llmdv1.ProviderContent) bool { return true },
		Citations: citations,
		Settle:    settle,
	}
}

// decideTurns turns the conversation into turns that alternate.
func (r *request) decideTurns() error {
	var err error
	var changes []*llmdv1.HandoffChange
	if r.turns, changes, err = turns.Build(r.call, r.rules()); err != nil {
		return err
	}
	r.changes = append(r.changes, changes...)
	return r.decidePrefill()
}

// thought decides how thinking goes back: with its signature, by the text alone where
// the host allows that, else as text that anyone may write.
func (r *request) thought(t *llmdv1.ThinkingContent) (turns.Block, bool) {
	signature := string(t.GetSignature().GetData())
	switch format := t.GetSignature().GetFormat(); {
	case format == redactedFormat && signature != "":
		return turns.Block{Kind: turns.Redacted, Signature: signature}, true
	case format == thinkingFormat && signature != "":
		return turns.Block{Kind: turns.Thinking, Text: t.GetThinking(), Signature: signature}, true
	case turns.Blank(t.GetThinking()):
		return turns.Block{}, false
	case r.call.Model.Compat.AllowEmptySignature:
		return turns.Block{Kind: turns.Thinking, Text: t.GetThinking()}, true
	}
	return turns.Block{Kind: turns.Text, Text: t.GetThinking()}, true
}

// input is a call's input as the model wrote it.
func input(_, _ int, call *llmdv1.ToolCall) []byte {
	if text := call.GetArgumentsJson(); !turns.Blank(text) {
		return []byte(text)
	}
	return []byte("{}")
}

// citations are those that follow a text block.
func citations(p *llmdv1.ProviderContent) (list []byte, ok bool) {
	if p.GetType() != citationsKind {
		return nil, false
	}
	if !json.Valid(p.GetRawJson()) {
		return nil, true
	}
	members, _ := jsonwire.Members(p.GetRawJson()) // none if it is no object
	for _, m := range members {
		if m.Key == "citations" && m.Value[0] == '[' {
			return m.Value, true
		}
	}
	return nil, true
}

// settle makes a result of texts one text, and gives every result some text: the API
// refuses a failed result without any.
func settle(b *turns.Block) (placeholder string) {
	var texts []string
	for _, p := range b.Parts {
		if p.Kind == turns.Text {
			texts = append(texts, p.Text)
		}
	}
	switch {
	case len(b.Parts) == 0:
		b.Text = noOutput
		return noOutput
	case len(texts) == len(b.Parts):
		b.Text, b.Parts = strings.Join(texts, "\n"), nil
	case len(texts) == 0:
		b.Parts = append([]turns.Block{{Kind: turns.Text, Text: seeImage}}, b.Parts...)
		return seeImage
	}
	return ""
}

// decidePrefill looks at an assistant turn at the end. One that holds blocks of
// the provider's own is a paused turn, which every model goes on with; another is
// a beginning that the caller wrote for the model.
// https://docs.anthropic.com/en/docs/build-with-claude/prompt-engineering/prefill-claudes-response.
func (r *request) decidePrefill() error {
	t := turns.Prefill(r.turns)
	if t == nil {
		return nil
	}
	paused := false
	for _, b := range t.Blocks {
		paused = paused || b.Kind == turns.Opaque
	}
	why := ""
	switch {
	case paused:
	case r.thinking.on():
		why = "beside thinking the API does not continue an assistant turn"
	case t.Thinks():
		why = "the API does not continue an assistant turn that holds thinking"
	case r.call.Model.Compat.ForceAdaptiveThinking:
		// The models with adaptive thinking alone, Claude 4.6 and later, are those.
		why = fmt.Sprintf("model %q does not continue an assistant turn", r.call.Model.ID)
	case r.call.Generation.GetConfig().GetOutputJsonSchema() != "":
		why = "beside an output schema the API does not continue an assistant turn"
	}
	if why != "" {
		return adapters.Unsupported("prefill", fmt.Sprintf("context.messages[%d]", turns.LastMessage(r.call)), why)
	}
	if change := t.Trim(r.call); change != nil {
		r.changes = append(r.changes, change)
	}
	return nil
}
