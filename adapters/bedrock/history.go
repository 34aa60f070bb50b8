package bedrock

import (
	"encoding/json"
	"fmt"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/media"
	"github.com/llmd-dev/llmd/adapters/turns"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// emptyText stands where the API demands a text and there is none. It is part of prompt
// prefixes, so it never changes.
const emptyText = "<empty>"

// imageTypes: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html.
func imageTypes() []string { return []string{"image/jpeg", "image/png", "image/gif", "image/webp"} }

// rules are what the API and the model want of turns.
func (r *request) rules() *turns.Rules {
	return &turns.Rules{
		Empty:       emptyText,
		Images:      media.Takes{Types: imageTypes()},
		ImagesApart: !r.traits.takesResultImages(),
		ToolsAlone:  r.traits.toolsAlone(),
		Thinking:    r.thought,
		Input:       r.input,
		Replays:     r.replays,
		Citations:   citations,
		Settle:      settle,
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

// thought decides how thinking goes back. Claude wants its signature, else it gets
// text that anyone may write; other makers take it without.
func (r *request) thought(t *llmdv1.ThinkingContent) (turns.Block, bool) {
	signature := string(t.GetSignature().GetData())
	switch format := t.GetSignature().GetFormat(); {
	case format == redactedFormat && signature != "":
		return turns.Block{Kind: turns.Redacted, Signature: signature}, true
	case format == reasoningFormat && signature != "":
		return turns.Block{Kind: turns.Thinking, Text: t.GetThinking(), Signature: signature}, true
	case turns.Blank(t.GetThinking()):
		return turns.Block{}, false
	case r.traits.family != claude:
		return turns.Block{Kind: turns.Thinking, Text: t.GetThinking()}, true
	}
	return turns.Block{Kind: turns.Text, Text: t.GetThinking()}, true
}

// replays: blocks of the provider's own go back as they came, but an image does not go
// back at all: only users may send some.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html.
func (r *request) replays(i, j int, p *llmdv1.ProviderContent) bool {
	if p.GetType() == imageKind {
		r.changes = append(r.changes, r.call.ChangeBlock(i, j, adapters.Dropped, adapters.RuleProviderImage, "the API takes no images in assistant turns"))
		return false
	}
	return true
}

// citations are those of provider content that follows a text.
func citations(p *llmdv1.ProviderContent) (list []byte, ok bool) {
	if p.GetType() != citationsKind {
		return nil, false
	}
	if json.Valid(p.GetRawJson()) {
		list = member(member(p.GetRawJson(), citationsKind), "citations")
	}
	if len(list) == 0 || list[0] != '[' {
		return nil, true
	}
	return list, true
}

// member is the value of an object's member; nil if there is none.
func member(object []byte, key string) []byte {
	members, _ := jsonwire.Members(object) // none if it is no object
	for _, m := range members {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// settle gives a result without anything some text, which it needs.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html.
func settle(b *turns.Block) (placeholder string) {
	if len(b.Parts) > 0 {
		return ""
	}
	b.Parts = []turns.Block{{Kind: turns.Text, Text: emptyText}}
	return emptyText
}

// decidePrefill looks at an assistant turn at the end, which only some models go on
// with; see traits.prefills for those that never do.
// https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html.
func (r *request) decidePrefill() error {
	t := turns.Prefill(r.turns)
	if t == nil {
		return nil
	}
	why := ""
	switch {
	case !r.traits.prefills(), r.adaptive():
		why = fmt.Sprintf("model %q does not continue an assistant turn", r.call.Model.ID)
	case r.thinking.claudes():
		why = "beside thinking Claude does not continue an assistant turn"
	case r.traits.family == claude && t.Thinks():
		why = "Claude does not continue an assistant turn that holds thinking"
	case r.call.Generation.GetConfig().GetOutputJsonSchema() != "":
		why = "beside an output schema an assistant turn is not continued"
	}
	if why != "" {
		return adapters.Unsupported("prefill", fmt.Sprintf("context.messages[%d]", turns.LastMessage(r.call)), why)
	}
	if change := t.Trim(r.call); change != nil {
		r.changes = append(r.changes, change)
	}
	return nil
}
