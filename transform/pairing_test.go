package transform_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

func pairingExamples() []example {
	ask, next := says("go"), says("on")
	none := func(id string) *llmdv1.Message { return failure(id, rText("No result provided")) }
	unnamed := returns("a", "1")
	unnamed.GetToolResult().ToolName = ""
	return []example{
		{
			name: "T13 missing results before a user, before an answer and at the end", to: claude,
			in: conversation(ask, answer(gpt, calls("a|1"), calls("b")), next, answer(claude, calls("c")), answer(claude, calls("d"))),
			want: conversation(ask, answer(gpt, calls("a_1"), calls("b")), none("a_1"), none("b"), next,
				answer(claude, calls("c")), none("c"), answer(claude, calls("d")), none("d")),
			changes: changes(change(1, 0, rewritten, "tool_call.id_normalized"),
				whole(2, inserted, "tool_result.synthesized"), whole(2, inserted, "tool_result.synthesized"),
				whole(4, inserted, "tool_result.synthesized"), whole(5, inserted, "tool_result.synthesized")),
		},
		{
			name: "T14 a batch that is answered in part", to: claude,
			in:      conversation(ask, answer(claude, calls("a"), calls("b"), calls("c")), returns("b", "2"), next),
			want:    conversation(ask, answer(claude, calls("a"), calls("b"), calls("c")), returns("b", "2"), none("a"), none("c"), next),
			changes: changes(whole(3, inserted, "tool_result.synthesized"), whole(3, inserted, "tool_result.synthesized")),
		},
		{
			name: "T17 a result that comes late", to: claude,
			in:      conversation(ask, answer(claude, calls("a")), next, returns("a", "1")),
			want:    conversation(ask, answer(claude, calls("a")), none("a"), next),
			changes: changes(whole(2, inserted, "tool_result.synthesized"), whole(3, dropped, "tool_result.orphan")),
		},
		{
			name: "T18 two calls with one id", to: claude,
			in:      conversation(ask, answer(claude, calls("a"), calls("a")), returns("a", "1"), returns("a", "2"), returns("a", "3")),
			want:    conversation(ask, answer(claude, calls("a"), calls("a_lwjcb1yo")), returns("a", "1"), returns("a_lwjcb1yo", "2")),
			changes: changes(change(1, 1, rewritten, "tool_call.id_normalized"), whole(4, dropped, "tool_result.duplicate")),
		},
		{
			name: "a result without its call", to: chat,
			in:      conversation(returns("gone", "0"), ask, answer(chat, calls("a")), returns("x", "?"), returns("a", "1")),
			want:    conversation(ask, answer(chat, calls("a")), returns("a", "1")),
			changes: changes(whole(0, dropped, "tool_result.orphan"), whole(3, dropped, "tool_result.orphan")),
		},
		{
			name: "results keep the order in which they came and learn their tool's name", to: chat,
			in:   conversation(ask, answer(chat, calls("b"), calls("a")), unnamed, returns("b", "2")),
			want: conversation(ask, answer(chat, calls("b"), calls("a")), returns("a", "1"), returns("b", "2")),
		},
		{
			name: "broken groups are dropped by policy", to: chat, policy: dropGroups,
			in:   conversation(ask, answer(chat, text("x"), calls("a"), calls("b")), returns("a", "1"), returns("z", "?"), next),
			want: conversation(ask, next),
			changes: changes(whole(1, dropped, "tool_group.broken"), whole(2, dropped, "tool_group.broken"),
				whole(3, dropped, "tool_group.broken")),
		},
		{
			name: "an error is said in words where there is no flag", to: gpt,
			in: conversation(ask, answer(gpt, calls("a"), calls("b"), calls("c")), failure("a", rImage(png("p")), rText("boom"), rText("!")),
				failure("b", rText("")), failure("c")),
			want: conversation(ask, answer(gpt, calls("a"), calls("b"), calls("c")), result("a", rImage(png("p")), rText("[tool error] boom"), rText("!")),
				returns("b", "[tool error]"), returns("c", "[tool error]")),
			changes: changes(whole(2, rewritten, "tool_result.error_text"), whole(3, rewritten, "tool_result.error_text"),
				whole(4, rewritten, "tool_result.error_text")),
		},
		{
			name: "also of a result that was never given", to: gpt,
			in:      conversation(ask, answer(gpt, calls("a"))),
			want:    conversation(ask, answer(gpt, calls("a")), returns("a", "[tool error] No result provided")),
			changes: changes(whole(2, inserted, "tool_result.synthesized")),
		},
	}
}

// The vectors of ../shared/reference/host-behaviour.md, section 2, for the
// messages that there are here: u = user, a[ids] = an answer with those calls,
// t:id = a result.
func TestDropGroupsVectors(t *testing.T) {
	for _, v := range []struct{ in, want string }{
		{"u a[a] t:a u", "u a[a] t:a u"},
		{"a[a,b] t:b t:a", "a[a,b] t:b t:a"},
		{"u a[a,b] t:a u", "u u"},
		{"a[a] t:a t:a", ""},
		{"a[a] t:z t:a", "a[a] t:a"},
		{"a[a] t:a t:z u", "a[a] t:a u"},
		{"a[a] t: t:a", "a[a] t:a"},
		{"a[a,a] t:a", ""},
		{"a[a,a] t:a t:a", ""},
		{"a[''] t:", ""},
		{"a[a] u t:a", "u"},
		{"u a[a]", "u"},
		{"t:a u", "u"},
		{"a[] t:a", "a[]"},
		{"a[a] a[b] t:a t:b", "a[b] t:b"},
	} {
		t.Run(v.in, func(t *testing.T) {
			in := transform.Input{
				Context: parse(v.in), Model: chat.target(), Policy: dropGroups,
				Constraints: adapters.Constraints{Prefill: true, ToolErrorFlag: true},
			}
			r, err := transform.Apply(in)
			if v.want == "" {
				if _, ok := errors.AsType[*adapters.FieldError](err); !ok {
					t.Fatalf("got %v, %v; want a FieldError, for nothing is left", r, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sameContext(t, parse(v.want), r.Context)
			// Each message that has gone is named.
			if want := len(in.Context.GetMessages()) - len(r.Context.GetMessages()); len(r.Changes) != want {
				t.Errorf("%d changes, want %d: %v", len(r.Changes), want, r.Changes)
			}
			for _, c := range r.Changes {
				if c.GetAction() != dropped {
					t.Errorf("%v is not a drop", c)
				}
			}
		})
	}
}

// The vector "a[a] t:a a[a] t:a": an id that is used again breaks no group. In the
// request it is told apart all the same, by the rule for ids.
func TestDropGroupsReusedID(t *testing.T) {
	r := apply(t, transform.Input{
		Context: parse("a[a] t:a a[a] t:a"), Model: chat.target(), Policy: dropGroups,
		Constraints: adapters.Constraints{Prefill: true, ToolErrorFlag: true},
	})
	sameContext(t, parse("a[a] t:a a[a_lwjcb1yo] t:a_lwjcb1yo"), r.Context)
	sameChanges(t, changes(change(2, 1, rewritten, "tool_call.id_normalized")), r.Changes)
}

func parse(s string) *llmdv1.Context {
	c := &llmdv1.Context{}
	for word := range strings.FieldsSeq(s) {
		var m *llmdv1.Message
		if id, ok := strings.CutPrefix(word, "t:"); ok {
			m = returns(id, "r")
		} else if ids, ok := strings.CutPrefix(word, "a["); ok {
			blocks := []*llmdv1.AssistantContent{text("x")}
			for id := range strings.SplitSeq(strings.TrimSuffix(ids, "]"), ",") {
				if id != "" {
					blocks = append(blocks, calls(strings.Trim(id, "'")))
				}
			}
			m = answer(chat, blocks...)
		} else {
			m = says("u")
		}
		c.Messages = append(c.Messages, m)
	}
	return c
}
