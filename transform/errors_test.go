package transform_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

func TestTrailingAnswerNeedsPrefill(t *testing.T) {
	in := example{to: gemini, in: conversation(says("a"), answer(gemini, text("b")), answer(gemini, text("c")), user(uText("")))}
	_, err := transform.Apply(in.input())
	refused, ok := errors.AsType[*adapters.CapabilityError](err)
	if !ok {
		t.Fatalf("got %v, want a CapabilityError", err)
	}
	// The answers are joined; the place is that of the last of them.
	if want := "generation.context.messages[2]"; refused.Field != want {
		t.Errorf("field %q, want %q", refused.Field, want)
	}
}

func TestNothingToSend(t *testing.T) {
	for name, c := range map[string]struct {
		in    *llmdv1.Context
		rules string
	}{
		"no context":  {nil, ""},
		"no messages": {&llmdv1.Context{}, ""},
		"all dropped": {conversation(returns("gone", "x"), ended(chat, aborted, text("y"))), "; rules of the hand-off: tool_result.orphan, turn.aborted"},
		"all empty":   {conversation(user(), answer(chat), user(uText(""))), "; rules of the hand-off: turn.empty"},
	} {
		in := example{to: chat, in: c.in}
		_, err := transform.Apply(in.input())
		empty, ok := errors.AsType[*adapters.FieldError](err)
		if !ok || empty.Field != "generation.context.messages" || empty.Detail != "no message with content is left to send"+c.rules {
			t.Errorf("%s: got %v, want a FieldError of the messages with %q", name, err, c.rules)
		}
	}
}

func TestLossError(t *testing.T) {
	strict := &llmdv1.HandoffPolicy{Strict: true}
	in := example{to: claude, policy: strict, in: conversation(
		answer(gpt, thinking("a", gpt.sign("openai.reasoning_item", "x")), calls("a|b")), returns("a|b", "1"), returns("z", "2"))}
	_, err := transform.Apply(in.input())
	loss, ok := errors.AsType[*transform.LossError](err)
	if !ok {
		t.Fatalf("got %v, want a LossError", err)
	}
	sameChanges(t, changes(change(0, 0, downgraded, "thinking.foreign"), whole(2, dropped, "tool_result.orphan")), loss.Changes)
	if want := "transform: the hand-off would lose content in 2 places"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}

	// What loses nothing is not refused: ids, joined turns, turns without content.
	in = example{to: claude, policy: strict, in: conversation(answer(gpt, calls("a|b")), answer(claude), says("a"), says("b"))}
	apply(t, in.input())
}

// What is not changed is shared, system prompt, tools and unknown fields kept.
func TestSharing(t *testing.T) {
	image := uImage(png("large"))
	odd := answer(gpt, signedText("a", gpt.sign("openai.message", "x")), calls("c"))
	odd.GetAssistant().ProtoReflect().SetUnknown([]byte{0xa0, 0x06, 0x01})
	odd.GetAssistant().ResponseId = "resp_1"
	c := conversation(user(image), odd, returns("c", "1"), says("b"), says("c"))
	c.SystemPrompt = "be brief"
	c.Tools = []*llmdv1.Tool{{Name: "look"}}
	in := example{to: claude, in: c}
	r := apply(t, in.input())
	m := r.Context.GetMessages()
	if m[0] != c.Messages[0] || m[2] != c.Messages[2] || m[1].GetAssistant().GetContent()[1] != odd.GetAssistant().GetContent()[1] {
		t.Error("what did not change was copied")
	}
	want := proto.CloneOf(c)
	want.Messages[1].GetAssistant().GetContent()[0].GetText().Signature = nil
	want.Messages[3] = user(uText("b"), uText("c"))
	want.Messages = want.Messages[:4]
	sameContext(t, want, r.Context)
}

// Joined answers count as the target's if one is, and as aborted if both are.
func TestMergedAnswer(t *testing.T) {
	in := example{to: gemini, policy: keepComplete, in: conversation(says("a"),
		ended(gpt, aborted, text("b")), ended(gemini, stop, thinking("c", nil), text("d")), ended(gpt, failed, text("e")), says("f"))}
	r := apply(t, in.input())
	m := r.Context.GetMessages()[1].GetAssistant()
	if m.GetModel() != gemini.model || m.GetProvider() != gemini.provider || m.GetApi() != gemini.api || m.GetStopReason() != stop {
		t.Errorf("got %v", m)
	}
	if got, want := outline(r.Context), "u:text a:text,thinking,text,text u:text"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
