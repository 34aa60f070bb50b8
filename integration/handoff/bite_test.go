package handoff

import (
	"slices"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// A change that is made and not reported breaks a law, whichever it is: each rule is
// taken out of the reports in its turn.
func TestUnreportedChangesAreFound(t *testing.T) {
	w := newWorld(t)
	for _, rule := range []string{
		"turn.aborted", "turn.user_inserted", "turn.assistant_inserted", "text.placeholder", "thinking.foreign", "thinking.as_text",
		"tool_call.signature_inserted", "tool_call.arguments_invalid", "tool_result.synthesized", "tool_result.orphan",
		"tool_result.error_text", "tool_result.reordered", "provider_content.foreign", "images.placeholder", "images.unsupported_source",
		"images.error_result", "images.moved",
	} {
		t.Run(rule, func(t *testing.T) {
			for seed := range uint64(400) {
				if b := unreported(t, w, seed, rule); b != nil {
					return
				}
			}
			t.Error("nobody notices")
		})
	}
}

// unreported walks a conversation with a rule taken out of its reports.
func unreported(t *testing.T, w *World, seed uint64, rule string) *broken {
	t.Helper()
	k := NewWalk(w, seed)
	for {
		turn, more := k.Next()
		if !more {
			return nil
		}
		p, err := w.Prepare(turn)
		if err != nil {
			continue
		}
		silent := *p
		is := func(c *llmdv1.HandoffChange) bool { return c.GetRule() == rule }
		silent.Own, silent.Adapter = slices.DeleteFunc(slices.Clone(p.Own), is), slices.DeleteFunc(slices.Clone(p.Adapter), is)
		if len(silent.Changes()) < len(p.Changes()) {
			for _, check := range []func(*World, Turn, *Prepared) *broken{noSilentLoss, trueReport, inItsPlace, inOrder, nothingInserted} {
				if b := check(w, turn, &silent); b != nil {
					return b
				}
			}
		}
		a, err := w.Answer(p, k.Cut())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		k.Take(a)
	}
}
