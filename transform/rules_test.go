package transform_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

// example is one history and what becomes of it.
type example struct {
	name    string
	to      issuer
	limit   func(*adapters.Constraints)
	policy  *llmdv1.HandoffPolicy
	in      *llmdv1.Context
	want    *llmdv1.Context // nil = in
	changes []*llmdv1.HandoffChange
}

func (e *example) input() transform.Input {
	c := limits(e.to)
	if e.limit != nil {
		e.limit(&c)
	}
	return transform.Input{Context: e.in, Model: e.to.target(), Constraints: c, Policy: e.policy}
}

func named(rule adapters.NameRule) func(*adapters.Constraints) {
	return func(c *adapters.Constraints) { c.ToolNames = rule }
}

func called(id, name string) *llmdv1.AssistantContent {
	return toolCall(&llmdv1.ToolCall{Id: id, Name: name, ArgumentsJson: "{}"})
}

func returnsOf(id, name string) *llmdv1.Message {
	m := returns(id, "r")
	m.GetToolResult().ToolName = name
	return m
}

func examples() []example {
	return slices.Concat(turnExamples(), thinkingExamples(), blockExamples(), halfExamples(), pairingExamples(), imageExamples())
}

func TestExamples(t *testing.T) {
	for _, e := range examples() {
		t.Run(e.name, func(t *testing.T) {
			got := apply(t, e.input())
			want := e.want
			if want == nil {
				want = e.in
			}
			sameContext(t, want, got.Context)
			sameChanges(t, e.changes, got.Changes)
		})
	}
}

// Each rule must have been seen at work.
func TestExamplesCoverRules(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range examples() {
		for _, c := range e.changes {
			seen[c.GetRule()] = true
		}
	}
	rules := slices.Sorted(slices.Values(transform.Rules()))
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(rules, got) {
		t.Errorf("rules %v\nexamples %v", rules, got)
	}
}

var (
	dropThinking = &llmdv1.HandoffPolicy{ForeignThinking: llmdv1.ForeignThinking_FOREIGN_THINKING_DROP}
	dropGroups   = &llmdv1.HandoffPolicy{BrokenToolGroups: llmdv1.BrokenToolGroups_BROKEN_TOOL_GROUPS_DROP_GROUPS}
	keepComplete = &llmdv1.HandoffPolicy{AbortedTurns: llmdv1.AbortedTurns_ABORTED_TURNS_KEEP_COMPLETE_BLOCKS}
	rejectImages = &llmdv1.HandoffPolicy{UnsupportedImages: llmdv1.UnsupportedImages_UNSUPPORTED_IMAGES_REJECT}
)

func changes(c ...*llmdv1.HandoffChange) []*llmdv1.HandoffChange { return c }

func turnExamples() []example {
	cut := text("Once upo")
	cut.GetText().Incomplete = true
	bad := toolCall(&llmdv1.ToolCall{Id: "c2", Name: "look", ArgumentsJson: "{}", ArgumentsError: "cut"})
	half := toolCall(&llmdv1.ToolCall{Id: "c3", Name: "look", ArgumentsJson: "{}", Incomplete: true})
	signed := thinking("a", claude.sign("anthropic.thinking", "S"))
	return []example{
		{
			name: "T15 T16 error and aborted turns go with their results", to: claude,
			in: conversation(says("go"), ended(claude, failed, calls("a")), returns("a", "x"), says("again"),
				ended(claude, aborted, signed, calls("b"), calls("c")), returns("b", "y"), returns("c", "z"), says("stop")),
			want: conversation(user(uText("go"), uText("again"), uText("stop"))),
			changes: changes(
				whole(1, dropped, "turn.aborted"), whole(2, dropped, "tool_result.of_aborted_turn"), whole(3, rewritten, "turn.merged"),
				whole(4, dropped, "turn.aborted"), whole(5, dropped, "tool_result.of_aborted_turn"),
				whole(6, dropped, "tool_result.of_aborted_turn"), whole(7, rewritten, "turn.merged")),
		},
		{
			name: "an aborted turn between a call and its result does not part them", to: chat,
			in:      conversation(says("go"), answer(chat, calls("a")), ended(chat, aborted, text("x")), returns("a", "1")),
			want:    conversation(says("go"), answer(chat, calls("a")), returns("a", "1")),
			changes: changes(whole(2, dropped, "turn.aborted")),
		},
		{
			name: "an aborted turn without content loses nothing", to: chat,
			in:      conversation(says("go"), ended(chat, failed), says("again")),
			want:    conversation(says("go"), says("again")),
			changes: changes(whole(1, rewritten, "turn.empty")),
		},
		{
			name: "complete blocks of aborted turns by policy", to: claude, policy: keepComplete,
			in: conversation(says("go"),
				ended(claude, aborted, signed, thinking("b", nil), text("x"), calls("c1"), bad, half, cut),
				returns("c2", "?"), returns("c1", "1"), says("on")),
			want: conversation(says("go"), ended(claude, aborted, signed, text("x"), calls("c1")), returns("c1", "1"), says("on")),
			changes: changes(
				change(1, 1, dropped, "block.incomplete"), change(1, 4, dropped, "block.incomplete"),
				change(1, 5, dropped, "block.incomplete"), change(1, 6, dropped, "block.incomplete"),
				whole(2, dropped, "tool_result.of_aborted_turn")),
		},
		{
			name: "a result is the finished call's if an unfinished one has the same id", to: claude, policy: keepComplete,
			in:      conversation(says("go"), ended(claude, aborted, calls("c3"), half), returns("c3", "1"), says("on")),
			want:    conversation(says("go"), ended(claude, aborted, calls("c3")), returns("c3", "1"), says("on")),
			changes: changes(change(1, 1, dropped, "block.incomplete")),
		},
		{
			name: "places are the caller's however often a turn is changed", to: claude,
			in:   conversation(says("go"), answer(claude, half, calls("a|b"), text(" ")), returns("a|b", "1")),
			want: conversation(says("go"), answer(claude, calls("a_b")), returns("a_b", "1")),
			changes: changes(change(1, 0, dropped, "block.incomplete"), change(1, 1, rewritten, "tool_call.id_normalized"),
				change(1, 2, rewritten, "text.empty")),
		},
		{
			name: "nothing complete in an aborted turn", to: chat, policy: keepComplete,
			in:      conversation(says("go"), ended(chat, aborted, cut), says("on")),
			want:    conversation(says("go"), says("on")),
			changes: changes(whole(1, rewritten, "turn.empty"), change(1, 0, dropped, "block.incomplete")),
		},
		{
			name: "T20 pending, deferred and cut by length are kept", to: chat,
			in: conversation(says("go"), ended(chat, llmdv1.StopReason_STOP_REASON_PENDING, text("a")), says("b"),
				ended(chat, llmdv1.StopReason_STOP_REASON_DEFERRED, text("c")), says("d"),
				ended(chat, llmdv1.StopReason_STOP_REASON_LENGTH, text("e")), says("f")),
		},
		{
			name: "an incomplete block of a running answer", to: chat,
			in:      conversation(says("go"), ended(chat, llmdv1.StopReason_STOP_REASON_PENDING, text("a"), half), returns("c3", "?"), says("on")),
			want:    conversation(says("go"), ended(chat, llmdv1.StopReason_STOP_REASON_PENDING, text("a")), says("on")),
			changes: changes(change(1, 1, dropped, "block.incomplete"), whole(2, dropped, "tool_result.orphan")),
		},
		{
			name: "arguments that are not to be run stay in the history", to: chat,
			in: conversation(says("go"), answer(chat, bad), returns("c2", "refused")),
		},
		{
			name: "T1 answers without content are left out", to: chat,
			in:      conversation(says("hi"), answer(claude), says("hello?")),
			want:    conversation(says("hi"), says("hello?")),
			changes: changes(whole(1, rewritten, "turn.empty")),
		},
		{
			name: "texts without characters go silently, white space with a word", to: chat,
			in: conversation(user(uText(""), uText("hi"), uText(" ")), answer(chat, text(""), text(" \n"), text("a")),
				user(uText("")), says("x")),
			want:    conversation(user(uText("hi"), uText(" ")), answer(chat, text("a")), says("x")),
			changes: changes(change(1, 1, rewritten, "text.empty"), whole(2, rewritten, "turn.empty")),
		},
		{
			name: "adjacent turns are joined where they must not be", to: claude,
			in:      conversation(says("a"), says("b"), answer(claude, text("c")), answer(gpt, text("d")), answer(claude, text("e")), says("f")),
			want:    conversation(user(uText("a"), uText("b")), answer(claude, text("c"), text("d"), text("e")), says("f")),
			changes: changes(whole(1, rewritten, "turn.merged"), whole(3, rewritten, "turn.merged"), whole(4, rewritten, "turn.merged")),
		},
		{
			name: "adjacent turns stay where they may", to: gpt,
			in: conversation(says("a"), says("b"), answer(gpt, text("c")), answer(gpt, text("d")), says("f")),
		},
		{
			name: "the user begins", to: claude,
			in:      conversation(returns("gone", "x"), answer(claude, text("a")), says("b")),
			want:    conversation(says("(conversation continues)"), answer(claude, text("a")), says("b")),
			changes: changes(whole(0, dropped, "tool_result.orphan"), whole(1, inserted, "turn.user_inserted")),
		},
		{
			name: "a last turn of the assistant is continued where that can be", to: claude,
			in: conversation(says("a"), answer(claude, text("b"))),
		},
		{
			name: "kinds that are too new", to: claude,
			in: conversation(user(uText("a"), &llmdv1.UserContent{}), &llmdv1.Message{},
				answer(claude, calls("c"), &llmdv1.AssistantContent{}), result("c", &llmdv1.ToolResultContent{}, rText("r"))),
			want: conversation(says("a"), answer(claude, calls("c")), returns("c", "r")),
			changes: changes(change(0, 1, dropped, "block.unknown"), whole(1, dropped, "block.unknown"),
				change(2, 1, dropped, "block.unknown"), change(3, 0, dropped, "block.unknown")),
		},
	}
}

func thinkingExamples() []example {
	sign := func(data string) *llmdv1.Signature { return claude.sign("anthropic.thinking", data) }
	hidden := claude.sign("anthropic.redacted_thinking", "R==")
	anonymous := &llmdv1.Signature{Data: []byte("S"), Format: "anthropic.thinking"}
	item := gpt.sign("openai.reasoning_item", `{"id":"rs_1"}`)
	relocated := claude.sign("anthropic.thinking", "S")
	relocated.Endpoint = "eu"
	ask := says("go")
	next := says("on")
	return []example{
		{
			name: "T6 T8 T21 the issuer gets its thinking back as it was", to: claude,
			in: conversation(ask, answer(claude, thinking(" ", sign("A==")), redacted(hidden), thinking("b\n", sign("B")), text("x")), next),
		},
		{
			name: "another endpoint is another issuer", to: claude,
			in:      conversation(ask, answer(claude, thinking("b", relocated), text("x")), next),
			want:    conversation(ask, answer(claude, text("b"), text("x")), next),
			changes: changes(change(1, 0, downgraded, "thinking.foreign")),
		},
		{
			name: "T9 foreign thinking becomes text in its place", to: claude,
			in:      conversation(ask, answer(gpt, text("x"), thinking(" b\n", item), text("y")), next),
			want:    conversation(ask, answer(gpt, text("x"), text(" b\n"), text("y")), next),
			changes: changes(change(1, 1, downgraded, "thinking.foreign")),
		},
		{
			name: "T21 the same model elsewhere is another", to: bedrock,
			in:      conversation(ask, answer(claude, thinking("b", sign("S")), text("y")), next),
			want:    conversation(ask, answer(claude, text("b"), text("y")), next),
			changes: changes(change(1, 0, downgraded, "thinking.foreign")),
		},
		{
			name: "foreign thinking is dropped by policy", to: claude, policy: dropThinking,
			in:      conversation(ask, answer(gpt, thinking("b", item), thinking("c", nil), text("y")), next),
			want:    conversation(ask, answer(gpt, text("y")), next),
			changes: changes(change(1, 0, dropped, "thinking.foreign"), change(1, 1, dropped, "thinking.foreign")),
		},
		{
			// As Snowflake sends them: see its recording.
			name: "foreign words that stand in the signature alone become text", to: claude,
			in: conversation(ask, answer(chat, thinking("", details(chat, `[{"type":"reasoning.text","text":"15 * 27 = 405","index":0},{"type":"reasoning.encrypted","data":"E"},{"type":"reasoning.summary","summary":"Done."}]`)),
				thinking("", details(chat, `[{"type":"reasoning.encrypted","data":"E"}]`)), text("y")), next),
			want:    conversation(ask, answer(chat, text("15 * 27 = 405\n\nDone."), text("y")), next),
			changes: changes(change(1, 0, downgraded, "thinking.foreign"), change(1, 1, dropped, "thinking.foreign")),
		},
		{
			name: "T7 T8 foreign thinking without words is dropped", to: gpt,
			in:   conversation(ask, answer(claude, redacted(hidden), thinking("", sign("S")), thinking(" ", nil), text("y")), next),
			want: conversation(ask, answer(claude, text("y")), next),
			changes: changes(change(1, 0, dropped, "thinking.redacted_foreign"), change(1, 1, dropped, "thinking.foreign"),
				change(1, 2, rewritten, "thinking.empty")),
		},
		{
			name: "unsigned thinking of the target, refused", to: claude,
			in:      conversation(ask, answer(claude, thinking("b", nil), text("y")), next),
			want:    conversation(ask, answer(claude, text("b"), text("y")), next),
			changes: changes(change(1, 0, downgraded, "thinking.unsigned")),
		},
		{
			name: "or dropped by policy", to: claude, policy: dropThinking,
			in:      conversation(ask, answer(claude, thinking("b", nil), thinking("c", anonymous), text("y")), next),
			want:    conversation(ask, answer(claude, text("y")), next),
			changes: changes(change(1, 0, dropped, "thinking.unsigned"), change(1, 1, dropped, "signature.no_issuer")),
		},
		{
			name: "unsigned thinking of the target, taken", to: chat,
			in: conversation(ask, answer(chat, thinking("b", nil), text("y")), next),
		},
		{
			name: "a signature without issuer is not replayed", to: claude,
			in: conversation(ask, answer(claude, thinking("b", anonymous), redacted(anonymous), signedText("y", anonymous),
				toolCall(&llmdv1.ToolCall{Id: "c", Name: "look", ArgumentsJson: "{}", Signature: anonymous})), returns("c", "1")),
			want: conversation(ask, answer(claude, text("b"), text("y"), calls("c")), returns("c", "1")),
			changes: changes(change(1, 0, downgraded, "signature.no_issuer"), change(1, 1, dropped, "thinking.redacted_foreign"),
				change(1, 2, rewritten, "signature.no_issuer"), change(1, 3, rewritten, "signature.no_issuer")),
		},
		{
			name: "its own signature that is none any more is not replayed", to: gemini,
			in: conversation(ask, answer(gemini, thinking("b", gemini.sign("google.thought", "spoilt")), thinking(" ", gemini.sign("google.thought", "spoilt")),
				signedText("y", gemini.sign("google.thought", "spoilt")), signedText("", gemini.sign("google.thought", "ok")),
				toolCall(&llmdv1.ToolCall{Id: "c", Name: "look", ArgumentsJson: "{}", Signature: gemini.sign("google.thought", "spoilt")})), returns("c", "1")),
			want: conversation(ask, answer(gemini, thinking("b", nil), text("y"), signedText("", gemini.sign("google.thought", "ok")),
				toolCall(&llmdv1.ToolCall{Id: "c", Name: "look", ArgumentsJson: "{}", Signature: limits(gemini).CallSignature})), returns("c", "1")),
			changes: changes(change(1, 0, rewritten, "signature.spoilt"), change(1, 1, dropped, "signature.spoilt"), change(1, 2, rewritten, "signature.spoilt"),
				change(1, 4, rewritten, "signature.spoilt"), change(1, 4, inserted, "tool_call.signature_inserted")),
		},
		{
			name: "nor is its thinking, where that must be signed", to: bedrock,
			in:      conversation(ask, answer(bedrock, thinking("b", bedrock.sign(bedrock.format(), "spoilt")), redacted(bedrock.sign(bedrock.format(), "spoilt")), text("y")), next),
			want:    conversation(ask, answer(bedrock, text("b"), text("y")), next),
			changes: changes(change(1, 0, downgraded, "signature.spoilt"), change(1, 1, dropped, "signature.spoilt")),
		},
		{
			name: "but the thinking may do without", to: chat,
			in:      conversation(ask, answer(chat, thinking("b", anonymous), text("y")), next),
			want:    conversation(ask, answer(chat, thinking("b", nil), text("y")), next),
			changes: changes(change(1, 0, rewritten, "signature.no_issuer")),
		},
		{
			name: "an answer that ends with thinking", to: claude,
			in: conversation(ask, ended(claude, llmdv1.StopReason_STOP_REASON_LENGTH, thinking("a", sign("A")), thinking("b", sign("B")), redacted(hidden)),
				next, answer(claude, thinking(" ", sign("C")), text(" ")), next, answer(claude, thinking("d", sign("D")), text("e")), next),
			want: conversation(ask, ended(claude, llmdv1.StopReason_STOP_REASON_LENGTH, thinking("a", sign("A")), text("b")),
				user(uText("on"), uText("on")), answer(claude, thinking("d", sign("D")), text("e")), next),
			changes: changes(change(1, 1, downgraded, "thinking.last"), change(1, 2, dropped, "thinking.last"),
				whole(3, rewritten, "turn.empty"), change(3, 0, dropped, "thinking.last"), change(3, 1, rewritten, "text.empty"), whole(4, rewritten, "turn.merged")),
		},
		{
			name: "an answer that is nothing but thinking, where that alone is refused", to: chat,
			limit:   func(c *adapters.Constraints) { c.AnswerBesideThinking = true },
			in:      conversation(ask, answer(chat, thinking("a", nil), thinking("b", nil)), next, answer(chat, text("x"), thinking("c", nil)), next),
			want:    conversation(ask, answer(chat, thinking("a", nil), text("b")), next, answer(chat, text("x"), thinking("c", nil)), next),
			changes: changes(change(1, 1, downgraded, "thinking.last")),
		},
		{
			name: "or dropped by policy, with what is left", to: claude, policy: dropThinking,
			in:      conversation(ask, answer(claude, text("x"), thinking("a", sign("A"))), next),
			want:    conversation(ask, answer(claude, text("x")), next),
			changes: changes(change(1, 1, dropped, "thinking.last")),
		},
		{
			name: "a signature outlives a wrong label on the message", to: claude,
			in: conversation(ask, answer(issuer{}, thinking("b", sign("S")), text("y")), next),
		},
	}
}

func blockExamples() []example {
	ask, next := says("go"), says("on")
	args := func(id, json string) *llmdv1.AssistantContent {
		return toolCall(&llmdv1.ToolCall{Id: id, Name: "look", ArgumentsJson: json})
	}
	marked := func(id string, sig *llmdv1.Signature) *llmdv1.AssistantContent {
		return toolCall(&llmdv1.ToolCall{Id: id, Name: "look", ArgumentsJson: "{}", Signature: sig})
	}
	thought := gemini.sign("google.thought", "R0VN")
	item := gpt.sign("openai.item_id", "fc_1")
	bypass := limits(gemini).CallSignature
	search := &llmdv1.ProviderContent{Api: claude.api, Provider: claude.provider, Model: "claude-older", Type: "search", RawJson: []byte(`{"z":1, "a":2}`)}
	return []example{
		{
			name: "T10 T11 signatures of others come off texts and calls", to: claude,
			in:   conversation(ask, answer(gemini, signedText("a", thought), signedText("", thought), marked("c", thought)), returns("c", "1")),
			want: conversation(ask, answer(gemini, text("a"), calls("c")), returns("c", "1")),
			changes: changes(change(1, 0, rewritten, "text.signature_removed"), change(1, 1, rewritten, "text.signature_removed"),
				change(1, 2, rewritten, "tool_call.signature_removed")),
		},
		{
			name: "T11 and stay on the issuer's", to: gemini,
			in: conversation(ask, answer(gemini, signedText("", thought), marked("c", thought), calls("d")), returns("c", "1"), returns("d", "2")),
		},
		{
			name: "an unsigned call to Gemini 3", to: gemini,
			in: conversation(ask, answer(gpt, calls("c"), marked("d", item)), returns("c", "1"), returns("d", "2"), next,
				answer(gemini, calls("e"), calls("f")), returns("e", "3"), returns("f", "4")),
			want: conversation(ask, answer(gpt, marked("c", bypass), calls("d")), returns("c", "1"), returns("d", "2"), next,
				answer(gemini, marked("e", bypass), calls("f")), returns("e", "3"), returns("f", "4")),
			changes: changes(change(1, 0, inserted, "tool_call.signature_inserted"),
				change(1, 1, rewritten, "tool_call.signature_removed"),
				change(5, 0, inserted, "tool_call.signature_inserted")),
		},
		{
			name: "arguments go byte for byte unless they are no object", to: claude,
			in: conversation(ask, answer(claude, args("a", `{ "z":1.0,"a":9007199254740993 }`), args("b", ""), args("c", "  "),
				args("d", `[1]`), args("e", `{"a":`), args("f", `{}{}`)),
				returns("a", "1"), returns("b", "2"), returns("c", "3"), returns("d", "4"), returns("e", "5"), returns("f", "6")),
			want: conversation(ask, answer(claude, args("a", `{ "z":1.0,"a":9007199254740993 }`), calls("b"), calls("c"), calls("d"), calls("e"), calls("f")),
				returns("a", "1"), returns("b", "2"), returns("c", "3"), returns("d", "4"), returns("e", "5"), returns("f", "6")),
			changes: changes(change(1, 2, downgraded, "tool_call.arguments_invalid"), change(1, 3, downgraded, "tool_call.arguments_invalid"),
				change(1, 4, downgraded, "tool_call.arguments_invalid"), change(1, 5, downgraded, "tool_call.arguments_invalid")),
		},
		{
			name: "half of a surrogate pair, where the API refuses it", to: claude,
			in:      conversation(ask, answer(claude, args("a", `{ "s":"\ud83d!", "t":"\ud83d\ude00", "u":"\\ud83d" }`)), returns("a", "1")),
			want:    conversation(ask, answer(claude, args("a", `{ "s":"\ufffd!", "t":"\ud83d\ude00", "u":"\\ud83d" }`)), returns("a", "1")),
			changes: changes(change(1, 0, rewritten, "tool_call.arguments_mended")),
		},
		{
			name: "thinking beside texts that are joined", to: chat, limit: func(c *adapters.Constraints) { c.JoinsTexts = true },
			in:      conversation(ask, answer(claude, thinking("Hm. ", nil), text("a"), text("b"), thinking(" Oh.", nil), thinking("So.", nil), text("c")), next),
			want:    conversation(ask, answer(claude, text("Hm.\n\n"), text("a"), text("b"), text("\n\nOh.\n\n"), text("So.\n\n"), text("c")), next),
			changes: changes(change(1, 0, downgraded, "thinking.foreign"), change(1, 3, downgraded, "thinking.foreign"), change(1, 4, downgraded, "thinking.foreign")),
		},
		{
			name: "a name that the API refuses, and its result", to: chat, limit: named(adapters.NameRule{MaxLen: 8}),
			in: conversation(ask, answer(gpt, called("a", "old.tool:1"), called("b", "fine"), called("c", "")),
				returnsOf("a", "old.tool:1"), returnsOf("b", "own"), returnsOf("c", "")),
			want: conversation(ask, answer(gpt, called("a", "old_tool"), called("b", "fine"), called("c", "unknown")),
				returnsOf("a", "old_tool"), returnsOf("b", "own"), returnsOf("c", "unknown")),
			changes: changes(change(1, 0, rewritten, "tool_call.name_normalized"), change(1, 2, rewritten, "tool_call.name_normalized")),
		},
		{
			name: "and where it does not", to: gpt,
			in: conversation(ask, answer(gpt, args("a", `{"s":"\ud83d!"}`)), returns("a", "1")),
		},
		{
			name: "a provider's own block goes back to it", to: claude,
			in: conversation(ask, answer(claude, own(search), text("a")), next),
		},
		{
			name: "and to nobody else", to: bedrock,
			in:      conversation(ask, answer(claude, own(search), text("a")), next),
			want:    conversation(ask, answer(claude, text("a")), next),
			changes: changes(change(1, 0, dropped, "provider_content.foreign")),
		},
		{
			name: "nor where the API does not take it", to: claude,
			limit:   func(c *adapters.Constraints) { c.ProviderContent = false },
			in:      conversation(ask, answer(claude, own(search), text("a")), next),
			want:    conversation(ask, answer(claude, text("a")), next),
			changes: changes(change(1, 0, dropped, "provider_content.unsupported")),
		},
	}
}

// half is a block of a provider's own, which is a call or a result.
func half(by issuer, kind, raw string) *llmdv1.AssistantContent {
	return own(&llmdv1.ProviderContent{Api: by.api, Provider: by.provider, Model: by.model, Type: kind, RawJson: []byte(raw)})
}

func halfExamples() []example {
	ask, next := says("q"), says("next")
	use := func(id string) *llmdv1.AssistantContent {
		return half(claude, "server_tool_use", `{"type":"server_tool_use","id":"`+id+`","name":"web_search","input":{}}`)
	}
	found := func(id string) *llmdv1.AssistantContent {
		return half(claude, "web_search_tool_result", `{"type":"web_search_tool_result","tool_use_id":"`+id+`","content":[]}`)
	}
	code, out := half(gemini, "executableCode", `{"executableCode":{"code":"1"}}`), half(gemini, "codeExecutionResult", `{"codeExecutionResult":{"output":"1"}}`)
	run, ran := half(gemini, "executableCode", `{"executableCode":{"id":"x","code":"1"}}`), half(gemini, "codeExecutionResult", `{"codeExecutionResult":{"id":"x"}}`)
	unpaired := func(message, block int32) *llmdv1.HandoffChange {
		return change(message, block, dropped, "provider_content.unpaired")
	}
	return []example{
		{
			name: "whole pairs of an aborted turn, and no halves", to: claude, policy: keepComplete,
			in:      conversation(ask, ended(claude, aborted, use("a"), found("a"), text("x"), use("b")), next),
			want:    conversation(ask, ended(claude, aborted, use("a"), found("a"), text("x")), next),
			changes: changes(unpaired(1, 3)),
		},
		{
			name: "nor at its end", to: claude, policy: keepComplete,
			in:      conversation(ask, ended(claude, aborted, text("x"), use("b"))),
			want:    conversation(ask, ended(claude, aborted, text("x"))),
			changes: changes(unpaired(1, 1)),
		},
		{
			name: "a paused turn goes on", to: claude,
			in: conversation(ask, answer(claude, text("x"), use("b"))),
		},
		{
			name: "or does not, if the user speaks", to: claude,
			in:      conversation(ask, answer(claude, text("x"), use("b")), next),
			want:    conversation(ask, answer(claude, text("x")), next),
			changes: changes(unpaired(1, 1)),
		},
		{
			name: "a paused turn that was given on in one more", to: claude,
			in:      conversation(ask, answer(claude, use("b")), answer(claude, found("b"), text("x")), next),
			want:    conversation(ask, answer(claude, use("b"), found("b"), text("x")), next),
			changes: changes(whole(2, rewritten, "turn.merged")),
		},
		{
			name: "a call that waits for the results of the caller's tools", to: claude,
			in: conversation(ask, answer(claude, use("b"), calls("c")), returns("c", "1"), answer(claude, found("b"), text("x")), next),
		},
		{
			name: "a result whose call went with an aborted turn", to: claude,
			in:      conversation(ask, ended(claude, aborted, use("b")), next, answer(claude, found("b"), text("x")), next),
			want:    conversation(user(uText("q"), uText("next")), answer(claude, text("x")), next),
			changes: changes(whole(1, dropped, "turn.aborted"), whole(2, rewritten, "turn.merged"), unpaired(3, 0)),
		},
		{
			name: "a turn that was half a pair alone", to: claude,
			in:      conversation(ask, answer(claude, use("b")), next),
			want:    conversation(user(uText("q"), uText("next"))),
			changes: changes(whole(1, rewritten, "turn.empty"), unpaired(1, 0), whole(2, rewritten, "turn.merged")),
		},
		{
			name: "pairs without ids", to: gemini,
			in:      conversation(ask, answer(gemini, out, code, out, out, text("x"), code, text("y")), next),
			want:    conversation(ask, answer(gemini, code, out, out, text("x"), text("y")), next),
			changes: changes(unpaired(1, 0), unpaired(1, 5)),
		},
		{
			name: "pairs with ids within", to: gemini,
			in:      conversation(ask, answer(gemini, run, ran, half(gemini, "executableCode", `{"executableCode":{"id":"y"}}`)), next),
			want:    conversation(ask, answer(gemini, run, ran), next),
			changes: changes(unpaired(1, 2)),
		},
	}
}
