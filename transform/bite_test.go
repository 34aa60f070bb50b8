package transform_test

import (
	"bytes"
	"slices"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/handoff"
	"github.com/llmd-dev/llmd/transform"
)

// Every part of the hand-off is needed: without it some conversation is refused by a
// simulated provider. Two parts are about what no provider can notice, because the
// request is well formed without them; for these the sense of the request is looked at.
func TestWithoutAnyPartSomethingBreaks(t *testing.T) {
	unnoticed := map[string]func(*handoff.World, handoff.Turn, *handoff.Prepared) string{
		"errors":        failureUnsaid,
		"aborted turns": abortedSent,
	}
	for _, name := range transform.PassNames() {
		t.Run(name, func(t *testing.T) {
			w, err := handoff.NewWorld(transform.ApplyWithout(name))
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(1000) {
				if broken := firstBreach(t, w, seed, unnoticed[name]); broken != "" {
					t.Logf("seed %d: %s", seed, broken)
					return
				}
			}
			t.Error("nothing breaks")
		})
	}
}

// firstBreach walks a conversation until a provider refuses it, or what the other
// function finds; empty if nothing is found.
func firstBreach(t *testing.T, w *handoff.World, seed uint64, other func(*handoff.World, handoff.Turn, *handoff.Prepared) string) string {
	t.Helper()
	k := handoff.NewWalk(w, seed)
	for {
		turn, more := k.Next()
		if !more {
			return ""
		}
		p, err := w.Prepare(turn)
		if err != nil {
			continue // an adapter noticed it first: that is no provider's rule
		}
		if broken := p.Broken(); len(broken) > 0 {
			return broken[0].String()
		}
		if other != nil {
			if broken := other(w, turn, p); broken != "" {
				return broken
			}
		}
		a, err := w.Answer(p, k.Cut())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		k.Take(a)
	}
}

// failureUnsaid: a tool failed, and the request does not say so.
func failureUnsaid(w *handoff.World, turn handoff.Turn, p *handoff.Prepared) string {
	failed := slices.ContainsFunc(p.Context.GetMessages(), func(m *llmdv1.Message) bool { return m.GetToolResult().GetIsError() })
	if failed && !w.Constraints(turn.Model).ToolErrorFlag && !bytes.Contains(p.Body, []byte("[tool error]")) {
		return "a failed tool does not look failed"
	}
	return ""
}

// abortedSent: half an answer is sent as if it were one, which by policy is left out.
func abortedSent(_ *handoff.World, turn handoff.Turn, p *handoff.Prepared) string {
	if turn.Generation.GetHandoff().GetAbortedTurns() == llmdv1.AbortedTurns_ABORTED_TURNS_KEEP_COMPLETE_BLOCKS {
		return ""
	}
	for _, m := range p.Context.GetMessages() {
		if r := m.GetAssistant().GetStopReason(); r == failed || r == aborted {
			return "an aborted turn is sent"
		}
	}
	return ""
}
