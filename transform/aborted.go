package transform

import llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"

// dropAborted takes out answers that ended as ERROR or ABORTED, or by policy
// their incomplete blocks, and the results of the calls that go with them: a
// result without its call is refused by every provider.
func (h *handoff) dropAborted() {
	keep := h.Policy.GetAbortedTurns() == llmdv1.AbortedTurns_ABORTED_TURNS_KEEP_COMPLETE_BLOCKS
	out := h.turns[:0]
	var gone map[string]bool // ids of calls that the assistant's last turn lost
	for _, t := range h.turns {
		if r := t.result(); r != nil {
			if gone[r.GetToolCallId()] {
				h.report(t.at, dropped, ruleResultOfAborted, "its call is in an answer that ended in an error or was aborted")
				continue
			}
			out = append(out, t)
			continue
		}
		gone = nil
		if aborted(t.assistant()) {
			if keep {
				gone = h.dropUnfinished(t)
			} else {
				gone = h.skip(t)
			}
			if !keep || len(t.assistant().GetContent()) == 0 {
				continue
			}
		}
		out = append(out, t)
	}
	h.turns = out
}

func aborted(m *llmdv1.AssistantMessage) bool {
	r := m.GetStopReason()
	return r == llmdv1.StopReason_STOP_REASON_ERROR || r == llmdv1.StopReason_STOP_REASON_ABORTED
}

// skip reports a whole turn as dropped and returns the ids of its calls.
func (h *handoff) skip(t *turn) map[string]bool {
	content := t.assistant().GetContent()
	if len(content) == 0 {
		h.report(t.at, rewritten, ruleTurnEmpty, "an answer without content")
		return nil
	}
	h.report(t.at, dropped, ruleTurnAborted, "the answer ended in an error or was aborted")
	gone := make(map[string]bool)
	for _, b := range content {
		if c := b.GetToolCall(); c != nil {
			gone[c.GetId()] = true
		}
	}
	return gone
}

// dropUnfinished drops the blocks of an aborted turn that were not finished and
// returns the ids of calls that have gone.
func (h *handoff) dropUnfinished(t *turn) map[string]bool {
	gone := make(map[string]bool)
	filter(t, t.assistant().GetContent(), t.setAssistant, func(k int, b *llmdv1.AssistantContent) bool {
		if h.finished(b) {
			return true
		}
		h.reportBlock(t, k, dropped, ruleBlockIncomplete, "not finished when the answer ended")
		if c := b.GetToolCall(); c != nil {
			gone[c.GetId()] = true
		}
		return false
	})
	// An id may be on a finished call as well; the result is then that call's.
	for _, b := range t.assistant().GetContent() {
		delete(gone, b.GetToolCall().GetId())
	}
	if len(t.assistant().GetContent()) == 0 {
		h.report(t.at, rewritten, ruleTurnEmpty, "nothing is left of the answer")
	}
	return gone
}

// finished says whether a block of an aborted turn can be taken as it is. The
// signature is the last that a provider sends of its thinking, so thinking
// without one, or with one of nobody's, may have been cut.
func (h *handoff) finished(b *llmdv1.AssistantContent) bool {
	if incomplete(b) {
		return false
	}
	if th := b.GetThinking(); th != nil {
		v := h.judge(th.GetSignature())
		return v == usable || v == foreign
	}
	return b.GetToolCall().GetArgumentsError() == ""
}

// incomplete says whether the provider never ended a block.
func incomplete(b *llmdv1.AssistantContent) bool {
	return b.GetText().GetIncomplete() || b.GetThinking().GetIncomplete() || b.GetToolCall().GetIncomplete()
}
