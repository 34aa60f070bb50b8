package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/transform"
)

// idsOf hands calls with the given ids off, one turn each, and returns the ids that
// are sent. It fails unless the results follow.
func idsOf(t *testing.T, rule adapters.IDRule, turns ...[]string) [][]string {
	t.Helper()
	c := conversation(says("go"))
	for _, ids := range turns {
		m := answer(claude)
		c.Messages = append(c.Messages, m)
		for _, id := range ids {
			m.GetAssistant().Content = append(m.GetAssistant().Content, calls(id))
			c.Messages = append(c.Messages, returns(id, "r"))
		}
	}
	r := apply(t, transform.Input{Context: c, Model: chat.target(), Constraints: adapters.Constraints{ToolCallIDs: rule}})
	var out [][]string
	for i, m := range r.Context.GetMessages() {
		if m.GetAssistant() == nil {
			continue
		}
		var ids []string
		for k, b := range m.GetAssistant().GetContent() {
			id := b.GetToolCall().GetId()
			ids = append(ids, id)
			if got := r.Context.GetMessages()[i+1+k].GetToolResult().GetToolCallId(); got != id {
				t.Errorf("call %q has a result for %q", id, got)
			}
		}
		out = append(out, ids)
	}
	return out
}

// The rows of wire-behaviour.md, section 3.12, that the rules of llmd can give.
func TestIDTable(t *testing.T) {
	open := adapters.IDRule{WordChars: true}
	openai := adapters.IDRule{MaxLen: 40, WordChars: true}
	responses := adapters.IDRule{MaxLen: 64, WordChars: true}
	nine := adapters.IDRule{ExactLen: 9, Alphanumeric: true}
	for _, c := range []struct {
		rule     adapters.IDRule
		id, want string
	}{
		{openai, "call_1|fc_2", "call_1_fc_2"},
		{openai, strings.Repeat("c", 50), strings.Repeat("c", 40)},
		{adapters.IDRule{}, strings.Repeat("c", 50), strings.Repeat("c", 50)},
		{open, "a+b/c=|d e", "a_b_c__d_e"},
		{open, "call|", "call"},
		{open, "call_", "call_"}, // valid as it is
		{responses, "toolu_01ABC", "toolu_01ABC"},
		{responses, "functions.f:0", "functions_f_0"},
		{adapters.IDRule{MaxLen: 64, WordChars: true, Points: true}, "functions.f:0|1", "functions.f:0_1"},
		{responses, "call_1|fc_2", "call_1_fc_2"},
		{adapters.IDRule{MaxLen: 64}, "call_" + strings.Repeat("x", 80), "call_" + strings.Repeat("x", 59)},
		{adapters.IDRule{MaxLen: 5}, "aääb", "aää"[:5]},
		{adapters.IDRule{MaxLen: 4}, "aääb", "aä"},
		{nine, "abcDEF123", "abcDEF123"},
		{nine, "abc-DEF_123", "abcDEF123"},
		{nine, "call_1", "2vxvz1r2p"},
		{nine, "toolcall0", "toolcall0"},
		{open, "", "call_"},
		{open, "日本", "call_"},
		{adapters.IDRule{}, "", "call_"},
		{adapters.IDRule{MaxLen: 64, Alphanumeric: true}, "_-_", "call"},
	} {
		got := idsOf(t, c.rule, []string{c.id})[0][0]
		if got == c.want {
			continue
		}
		// Ids without anything to keep get a hash after a word.
		if (c.want == "call_" || c.want == "call") && len(got) == len(c.want)+8 && strings.HasPrefix(got, c.want) {
			continue
		}
		t.Errorf("%q under %+v: %q, want %q", c.id, c.rule, got, c.want)
	}
}

func TestIDCollisions(t *testing.T) {
	word := adapters.IDRule{MaxLen: 64, WordChars: true}
	// Within a turn an id that is fine as it is keeps it; across turns the first does.
	got := idsOf(t, word, []string{"functions.look:0", "functions_look_0"}, []string{"a.b"}, []string{"a_b"})
	if got[0][1] != "functions_look_0" || got[0][0] == got[0][1] || !strings.HasPrefix(got[0][0], "functions_look_0_") {
		t.Errorf("in one turn: %q", got[0])
	}
	if got[1][0] != "a_b" || got[2][0] == "a_b" || !strings.HasPrefix(got[2][0], "a_b_") {
		t.Errorf("in two turns: %q %q", got[1], got[2])
	}

	// Two that differ only behind the cut.
	long := strings.Repeat("x", 64)
	got = idsOf(t, word, []string{long + "1", long + "2"})
	if got[0][0] != long || len(got[0][1]) != 64 || !strings.HasPrefix(got[0][1], long[:55]+"_") {
		t.Errorf("cut: %q", got[0])
	}

	// The same id in each of many turns, under the tightest rules.
	for _, rule := range []adapters.IDRule{word, {}, {ExactLen: 9, Alphanumeric: true}, {MaxLen: 6, WordChars: true}} {
		turns := make([][]string, 2000)
		for i := range turns {
			turns[i] = []string{"call_0", ""}
		}
		seen := map[string]bool{}
		for _, ids := range idsOf(t, rule, turns...) {
			for _, id := range ids {
				if seen[id] {
					t.Fatalf("%+v: %q twice", rule, id)
				}
				seen[id] = true
			}
		}
	}
}

// An id depends on what came before it and not on what comes after.
func TestIDsStayWhenTurnsAreAdded(t *testing.T) {
	rule := adapters.IDRule{MaxLen: 12, WordChars: true}
	var turns [][]string
	for i := range 40 {
		turns = append(turns, []string{fmt.Sprintf("call.%d", i%7), fmt.Sprintf("call_%d", i%5), strings.Repeat("z", 10+i)})
	}
	all := fmt.Sprint(idsOf(t, rule, turns...))
	for n := range turns {
		if part := strings.TrimSuffix(fmt.Sprint(idsOf(t, rule, turns[:n]...)), "]"); !strings.HasPrefix(all, part) {
			t.Fatalf("the first %d turns: %s\nof all: %s", n, part, all)
		}
	}
}

func TestIDDetailIsShort(t *testing.T) {
	in := example{to: claude, in: conversation(says("go"), answer(claude, calls(strings.Repeat("é|", 250))))}
	for _, c := range apply(t, in.input()).Changes {
		if len(c.GetDetail()) > 200 {
			t.Errorf("%d bytes of detail", len(c.GetDetail()))
		}
	}
}
