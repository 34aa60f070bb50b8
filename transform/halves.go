package transform

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// side is which half of a pair a block is.
type side uint8

const (
	neither side = iota
	theCall
	theResult
)

// dropHalves takes out the calls of tools that run at the provider which have no result,
// and the results without their call: an answer that was cut, paused or left out leaves
// such halves, and APIs refuse them.
func (h *handoff) dropHalves() {
	if len(h.Constraints.Pairs) == 0 {
		return
	}
	answered := make(map[string]bool)
	for i := range slices.Backward(h.turns) {
		h.dropCalls(i, answered)
	}
	called := make(map[string]bool)
	for _, t := range h.turns {
		h.dropResults(t, called)
	}
}

// dropCalls takes the calls out of a turn that no result follows. answered are the ids of
// the results behind it.
func (h *handoff) dropCalls(i int, answered map[string]bool) {
	t := h.turns[i]
	content := t.assistant().GetContent()
	lost := make(map[int]bool)
	result := false // one without an id, to which the call before it belongs
	for k := len(content) - 1; k >= 0; k-- {
		switch half, id := h.half(content[k].GetProviderContent()); {
		case half == theResult && id != "":
			answered[id] = true
		case half == theResult:
			result = true
		case half == theCall && id != "":
			lost[k] = !answered[id]
		case half == theCall:
			lost[k], result = !result, false
		}
	}
	if h.waits(i) {
		return
	}
	filter(t, content, t.setAssistant, func(k int, _ *llmdv1.AssistantContent) bool {
		if lost[k] {
			h.reportBlock(t, k, dropped, ruleProviderUnpaired, "a call of the provider's own tool without its result")
		}
		return !lost[k]
	})
}

// waits says whether the calls of a turn may still get their results: the last turn is to
// go on, unless it was cut, and results of the caller's tools come first.
func (h *handoff) waits(i int) bool {
	if i+1 == len(h.turns) {
		return !aborted(h.turns[i].assistant())
	}
	return h.turns[i+1].result() != nil
}

// dropResults takes the results out of a turn that no call stands before. called are the
// ids of the calls before it.
func (h *handoff) dropResults(t *turn, called map[string]bool) {
	call := false // one without an id
	filter(t, t.assistant().GetContent(), t.setAssistant, func(k int, b *llmdv1.AssistantContent) bool {
		half, id := h.half(b.GetProviderContent())
		if half == theCall && id != "" {
			called[id] = true
		}
		call = call || half == theCall
		if half != theResult || called[id] || id == "" && call {
			return true
		}
		h.reportBlock(t, k, dropped, ruleProviderUnpaired, "a result of the provider's own tool without its call")
		return false
	})
}

// half says which half of a pair a block is, and its id.
func (h *handoff) half(p *llmdv1.ProviderContent) (half side, id string) {
	for _, pair := range h.Constraints.Pairs {
		switch {
		case isKind(p.GetType(), pair.Call):
			return theCall, member(p, pair.CallID)
		case isKind(p.GetType(), pair.Result):
			return theResult, member(p, pair.ResultID)
		}
	}
	return neither, ""
}

func isKind(kind, pattern string) bool {
	if end, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(kind, end)
	}
	return kind == pattern
}

// member is a text in a block, or in the object that is named like its kind; see
// [github.com/llmd-dev/llmd/adapters.Pair].
func member(p *llmdv1.ProviderContent, key string) string {
	members, _ := jsonwire.Members(p.GetRawJson()) // none if it is no object
	for _, m := range members {
		if m.Key == p.GetType() {
			members, _ = jsonwire.Members(m.Value)
			break
		}
	}
	var text string
	for _, m := range members {
		if m.Key == key && json.Unmarshal(m.Value, &text) == nil {
			return text
		}
	}
	return ""
}
