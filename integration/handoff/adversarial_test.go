package handoff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// odd is a history that nobody should make and somebody does.
type odd struct {
	name string
	make func(o *oddity)
}

// oddity is an odd history while it is made, for one model.
type oddity struct {
	source
	*llmdv1.Context
	model *profile.Model
	own   []*llmdv1.AssistantContent // what the model itself has said, thought and called
}

// oddities are histories of the kinds that break clients of providers.
func oddities() []odd {
	const zalgo = "Z\u0351\u036b\u0343\u036a\u0302A\u0334\u0335\u031c\u0330\u0354L\u0347"
	names := []string{"functions.read_file:0", "日本", "", strings.Repeat("n", 300), "1st", "-x", "$ref", "a b\n\x00", "multi_tool_use.parallel", "💥"}
	ids := []string{"", " ", "a\x00b\n", "🙂", strings.Repeat("i", 512), "../../etc", `"quoted\"`, "call_1", "CALL_1", "toolu_01", "0"}
	arguments := []string{
		`{"w":"\ud83d"}`, `{"\ud83d":1}`, `{"w":"\ud83d\ude00\u0000"}`, "{\"w\":\"\x01\"}", `{"":{"":[{"":1}]}}`, `{"a":1,"a":2}`, `{"n":1e999,"m":-0.0}`,
		`{}{}`, "\ufeff{}", `[{}]`, "null", " ", "{", `{"a":` + strings.Repeat(`[`, 150) + strings.Repeat(`]`, 150) + `}`, "  { }  ", `{"__proto__":{"x":1}}`,
	}
	return []odd{
		{"ids that were used before, in odd spellings", func(o *oddity) {
			for _, id := range append(ids, ids...) {
				o.ask()
				o.calls(id, "read_file", `{}`)
				o.returns(id, "read_file", false, o.words())
			}
		}},
		{"odd ids in one answer", func(o *oddity) {
			o.ask()
			a := o.answer()
			for _, id := range append(ids, "a.b", "a_b", "a:b", "a.b") {
				a.Content = append(a.Content, oddCall(id, "read_file", `{"path":"`+o.word()+`"}`))
			}
			for _, id := range append(ids, "a.b", "a_b", "a:b", "a.b") {
				o.returns(id, "", false, o.words())
			}
		}},
		{"results before their calls", func(o *oddity) {
			o.ask()
			o.returns("call_1", "read_file", false, o.words())
			o.calls("call_1", "read_file", `{}`)
			o.ask()
			o.returns("call_1", "read_file", false, o.words())
		}},
		{"results only", func(o *oddity) {
			for range 3 {
				o.returns("call_1", "read_file", true, o.words())
			}
			o.ask()
		}},
		{"results of images only", func(o *oddity) {
			o.ask()
			o.answer(oddCall("a", "edit", "{}"), oddCall("b", "edit", "{}"), oddCall("c", "edit", "{}"))
			o.returns("c", "edit", true, o.picture(), o.picture())
			o.returns("a", "edit", false, o.picture())
			o.returns("b", "edit", false, o.picture(), o.blank(), o.picture())
			o.ask()
		}},
		{"results of nothing", func(o *oddity) {
			o.ask()
			o.answer(oddCall("a", "edit", ""), oddCall("b", "edit", "{}"), oddCall("c", "edit", "{}"))
			o.returns("a", "", false)
			o.returns("b", "", true)
			o.returns("c", "", true, o.blank(), o.blank())
		}},
		{"a result twice, and one for an answer long ago", func(o *oddity) {
			o.ask()
			o.calls("a", "edit", "{}")
			o.returns("a", "edit", false, o.words())
			o.returns("a", "edit", true, o.words())
			o.ask()
			o.answer(oddText(o.word()))
			o.returns("a", "edit", false, o.words())
			o.ask()
		}},
		{"answers of nothing", func(o *oddity) {
			o.ask()
			o.answer()
			o.answer(oddText(""))
			o.answer(oddText(" \n"), oddText("\u00a0"))
			o.ask()
		}},
		{"answers of nothing alone", func(o *oddity) {
			o.answer()
			o.answer(oddText(""))
		}},
		{"thinking of another alone", func(o *oddity) {
			o.ask()
			o.answer(oddThought(o.word(), nil))
			o.ask()
			o.answer(oddThought("", nil), oddThought(" ", nil))
			o.ask()
		}},
		{"its own thinking alone", func(o *oddity) {
			o.ask()
			o.mine(func(c *llmdv1.AssistantContent) bool { return c.GetThinking() != nil && !c.GetThinking().GetRedacted() })
			o.ask()
		}},
		{"its own redacted thinking alone", func(o *oddity) {
			o.ask()
			o.mine(func(c *llmdv1.AssistantContent) bool { return c.GetThinking().GetRedacted() })
			o.ask()
		}},
		{"redacted thinking of another alone", func(o *oddity) {
			o.ask()
			redacted := oddThought("", o.foreign("anthropic.redacted_thinking"))
			redacted.GetThinking().Redacted = true
			o.answer(redacted)
			o.ask()
		}},
		{"its own calls without the rest, unanswered", func(o *oddity) {
			o.ask()
			o.mine(func(c *llmdv1.AssistantContent) bool { return c.GetToolCall() != nil })
			o.ask()
		}},
		{"its own answer twice", func(o *oddity) {
			for range 2 {
				o.ask()
				o.mine(func(c *llmdv1.AssistantContent) bool { return c.GetText() != nil })
			}
			o.ask()
		}},
		{"its own signatures, spelled otherwise", func(o *oddity) {
			o.ask()
			o.mine(func(*llmdv1.AssistantContent) bool { return true })
			spoil(o.Messages[len(o.Messages)-1].GetAssistant().GetContent())
			o.ask()
		}},
		{"users in a row, some of nothing", func(o *oddity) {
			o.ask()
			o.add(&llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{oddWords(""), oddWords(" ")}}}})
			o.ask()
			o.add(&llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{oddWords("\t")}}}})
			o.ask()
		}},
		{"white space as the last word", func(o *oddity) {
			o.ask()
			o.answer(oddText(o.word()))
			o.add(&llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{oddWords(" \n ")}}}})
		}},
		{"answers in a row", func(o *oddity) {
			o.answer(oddText(o.word()))
			o.answer(oddCall("a", "edit", "{}"))
			o.answer(oddText(o.word()), oddCall("a", "edit", "{}"))
			o.returns("a", "edit", false, o.words())
			o.answer(oddText(o.word()))
			o.ask()
		}},
		{"words between and behind calls", func(o *oddity) {
			o.ask()
			o.answer(oddText(o.word()), oddCall("a", "edit", "{}"), oddText(o.word()), oddThought(o.word(), nil), oddCall("b", "edit", "{}"), oddText(o.word()))
			o.returns("b", "edit", false, o.words())
			o.returns("a", "edit", false, o.words())
		}},
		{"names of tools that nobody exposes", func(o *oddity) {
			for i, name := range names {
				o.ask()
				o.calls(fmt.Sprint(i), name, "{}")
				o.returns(fmt.Sprint(i), name, i%2 == 0, o.words())
			}
		}},
		{"names of tools, and no tools", func(o *oddity) {
			o.Tools = nil
			o.ask()
			a := o.answer()
			for i, name := range names {
				a.Content = append(a.Content, oddCall(fmt.Sprint(i), name, "{}"))
			}
			o.ask()
		}},
		{"arguments of all kinds", func(o *oddity) {
			for i, text := range arguments {
				o.ask()
				o.calls(fmt.Sprint(i), "edit", text)
				o.returns(fmt.Sprint(i), "edit", false, o.words())
			}
		}},
		{"texts of all kinds", func(o *oddity) {
			o.SystemPrompt = "\x00\x1b[31m" + zalgo
			for _, s := range []string{"\x00", "\x7f\x1b]0;x\x07", "\ufffe\uffff", "\U000e0041\U000e0042", "\u2028", "\ufeff", strings.Repeat(zalgo, 300), strings.Repeat("👨‍👩‍👧‍👦", 500), `\ud83d`, "</s><|im_end|>"} {
				o.add(&llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{oddWords(o.word() + s), oddWords(s)}}}})
				o.answer(oddText(o.word()+s), oddCall("a", "edit", "{}"))
				o.returns("a", "edit", true, o.words(), &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: s}}})
			}
			o.ask()
		}},
		{"signatures of nobody, of others, and of nothing", func(o *oddity) {
			o.ask()
			for _, s := range []*llmdv1.Signature{
				{},
				{Data: []byte("x")},
				{Format: "anthropic.thinking", Api: o.model.API, Provider: o.model.Provider, Model: o.model.ID, Endpoint: o.model.Endpoint},
				{Data: []byte("x"), Format: "unheard.of", Api: o.model.API, Provider: o.model.Provider, Model: o.model.ID, Endpoint: o.model.Endpoint},
				{Data: []byte("x"), Format: "google.thought", Api: o.model.API, Provider: o.model.Provider, Model: o.model.ID, Endpoint: "another"},
				o.foreign("openai.reasoning_item"), o.foreign("chat.reasoning_details"),
			} {
				text, call := oddText(o.word()), oddCall("a", "edit", "{}")
				text.GetText().Signature, call.GetToolCall().Signature = s, s
				o.answer(oddThought(o.word(), s), text, call)
				o.returns("a", "edit", false, o.words())
			}
			o.ask()
		}},
		{"blocks of providers that are not known", func(o *oddity) {
			o.ask()
			o.answer(
				&llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: &llmdv1.ProviderContent{
					Api: "x", Provider: "y", Model: "z", Type: "\x00", RawJson: []byte(`{"q":"` + o.word() + `\ud83d"}`),
				}}}, &llmdv1.AssistantContent{}, oddText(o.word()))
			o.ask()
		}},
		{"images of all kinds", func(o *oddity) {
			u := &llmdv1.UserMessage{}
			for _, i := range []*llmdv1.ImageContent{
				{},
				{MimeType: "image/png"},
				{Source: &llmdv1.ImageContent_Uri{Uri: "data:image/png;base64,"}},
				{Source: &llmdv1.ImageContent_Uri{Uri: "data:text/html;base64,PGh0bWw+"}},
				{Source: &llmdv1.ImageContent_Data{Data: []byte("<svg/>")}, MimeType: "image/svg+xml"},
				{Source: &llmdv1.ImageContent_Uri{Uri: "javascript:alert(1)"}},
				{Source: &llmdv1.ImageContent_Data{Data: o.source.picture("image/gif")}, MimeType: "image/png"},
				{Source: &llmdv1.ImageContent_Data{Data: []byte("BM" + o.word())}, MimeType: "image/jpeg"},
				{Source: &llmdv1.ImageContent_Data{Data: o.source.picture("image/png")}},
			} {
				u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: i}})
			}
			o.add(&llmdv1.Message{Message: &llmdv1.Message_User{User: u}})
			o.ask()
		}},
		{"turns that were cut, with results", func(o *oddity) {
			for _, stop := range []llmdv1.StopReason{aborted, failed, llmdv1.StopReason_STOP_REASON_LENGTH, llmdv1.StopReason_STOP_REASON_PENDING} {
				o.ask()
				call, text := oddCall("a", "edit", `{"text":"`), oddText(o.word())
				call.GetToolCall().Incomplete, call.GetToolCall().ArgumentsError = true, "cut"
				a := o.answer(oddThought(o.word(), nil), text, oddCall("b", "edit", "{}"), call)
				a.StopReason = stop
				o.returns("a", "edit", false, o.words())
				o.returns("b", "edit", false, o.words())
			}
			o.ask()
		}},
		{"nothing but a turn that was cut", func(o *oddity) { o.answer(oddText(o.word())).StopReason = aborted }},
		{"the answer has the last word", func(o *oddity) {
			o.ask()
			o.answer(oddThought(o.word(), nil), oddText(o.word()+" \n"))
		}},
		{"a call has the last word", func(o *oddity) {
			o.ask()
			o.answer(oddText(o.word()), oddCall("a", "edit", "{}"))
		}},
	}
}

const (
	aborted = llmdv1.StopReason_STOP_REASON_ABORTED
	failed  = llmdv1.StopReason_STOP_REASON_ERROR
)

func oddWords(s string) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func oddText(s string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func oddThought(s string, by *llmdv1.Signature) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{Thinking: s, Signature: by}}}
}

func oddCall(id, name, arguments string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{Id: id, Name: name, ArgumentsJson: arguments}}}
}

func (o *oddity) add(m *llmdv1.Message) { o.Messages = append(o.Messages, m) }

func (o *oddity) ask() { o.add(o.says()) }

// answer adds one of a model elsewhere.
func (o *oddity) answer(blocks ...*llmdv1.AssistantContent) *llmdv1.AssistantMessage {
	a := &llmdv1.AssistantMessage{Api: "openai-completions", Provider: "elsewhere", Model: "m", StopReason: llmdv1.StopReason_STOP_REASON_STOP, Content: blocks}
	o.add(&llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: a}})
	return a
}

func (o *oddity) calls(id, name, arguments string) { o.answer(oddCall(id, name, arguments)) }

// mine adds those blocks of the model's own that are wanted.
func (o *oddity) mine(want func(*llmdv1.AssistantContent) bool) {
	a := &llmdv1.AssistantMessage{Api: o.model.API, Provider: o.model.Provider, Model: o.model.ID, StopReason: llmdv1.StopReason_STOP_REASON_STOP}
	for _, c := range o.own {
		if want(c) {
			a.Content = append(a.Content, proto.CloneOf(c))
		}
		if c.GetThinking() != nil {
			a.Usage = &llmdv1.Usage{ReasoningTokens: proto.Int32(64)}
		}
	}
	o.add(&llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: a}})
}

func (o *oddity) returns(id, name string, isError bool, blocks ...*llmdv1.ToolResultContent) {
	o.add(&llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{ToolCallId: id, ToolName: name, IsError: isError, Content: blocks}}})
}

func (o *oddity) words() *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: o.word()}}}
}

func (o *oddity) blank() *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: " "}}}
}

func (o *oddity) picture() *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: &llmdv1.ImageContent{
		Source: &llmdv1.ImageContent_Data{Data: o.source.picture("image/png")}, MimeType: "image/png",
	}}}
}

func (o *oddity) foreign(format string) *llmdv1.Signature {
	return &llmdv1.Signature{Data: []byte(o.word()), Format: format, Api: "anthropic-messages", Provider: "elsewhere", Model: "m"}
}

// ownBlocks lets a model answer until it has thought, spoken and called, and gives the
// answer with most of that.
func ownBlocks(t *testing.T, w *World, m *profile.Model) []*llmdv1.AssistantContent {
	t.Helper()
	var best []*llmdv1.AssistantContent
	score := func(all []*llmdv1.AssistantContent) int {
		kinds := map[string]bool{}
		for _, c := range all {
			kinds[fmt.Sprintf("%T %v", c.GetBlock(), c.GetThinking().GetRedacted())] = true
		}
		return len(kinds)
	}
	for seed := range uint64(30) {
		k := NewWalk(w, seed)
		k.last = m
		k.Context.Messages = []*llmdv1.Message{k.s.says()}
		g := k.generation()
		g.Handoff = nil
		p, err := w.Prepare(Turn{m, g})
		if err != nil {
			t.Fatal(err)
		}
		a, err := w.Answer(p, -1)
		if err != nil {
			t.Fatal(err)
		}
		if score(a.GetContent()) > score(best) {
			best = a.GetContent()
		}
	}
	return best
}

// turnOf makes an odd history for a model.
func (o odd) turnOf(m *profile.Model, own []*llmdv1.AssistantContent) Turn {
	x := &oddity{source: NewWalk(&World{Models: []*profile.Model{m}}, 7).s, Context: &llmdv1.Context{Tools: tools()}, model: m, own: own}
	o.make(x)
	return Turn{m, &llmdv1.Generation{Model: m.Name(), Context: x.Context}}
}

// All laws hold of histories that are as odd as they get, for every model and policy.
func TestOddHistories(t *testing.T) {
	w := newWorld(t)
	for i, m := range w.Models {
		if testing.Short() && i%12 != 0 {
			continue
		}
		own := ownBlocks(t, w, m)
		for _, o := range oddities() {
			for _, policy := range []*llmdv1.HandoffPolicy{nil, {
				ForeignThinking:  llmdv1.ForeignThinking_FOREIGN_THINKING_DROP,
				BrokenToolGroups: llmdv1.BrokenToolGroups_BROKEN_TOOL_GROUPS_DROP_GROUPS,
				AbortedTurns:     llmdv1.AbortedTurns_ABORTED_TURNS_KEEP_COMPLETE_BLOCKS,
			}} {
				turn := o.turnOf(m, own)
				turn.Generation.Handoff = policy
				if _, b := judge(w, turn); b != nil {
					t.Errorf("%s, to %s, policy {%v}: %v", o.name, m.Name(), policy, b)
				}
			}
		}
	}
}

// The same through a real server: what it does not take it refuses as the caller's
// mistake, and what it takes no provider refuses.
func TestOddHistoriesThroughSockets(t *testing.T) {
	u := newUpstream(t)
	l := harness.Start(t, Config(u.URL))
	w := newWorld(t)
	sent := 0
	for _, name := range []string{
		"claude/claude-sonnet-4-5", "oai-chat/gpt-4.1", "plain/gpt-oss-text-only", "oai/gpt-5", "gem/gemini-2.5-flash", "vert/gemini-3-flash-preview",
		"rock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "mist/magistral-medium-latest",
	} {
		m := w.Model(name)
		own := ownBlocks(t, w, m)
		for _, o := range oddities() {
			turn := o.turnOf(m, own)
			out := harness.Run(t.Context(), l, &llmdv1.StreamRequest{Generation: turn.Generation}, nil)
			for _, f := range out.Faults {
				t.Errorf("%s, to %s: against the grammar: %s", o.name, name, f)
			}
			code := out.Status.Code()
			if code == codes.Unavailable && out.Started != nil {
				code = codes.OK // the simulator's answer ends in an error, as some do
			}
			if refused := slices.Contains([]codes.Code{codes.InvalidArgument, codes.FailedPrecondition, codes.Unimplemented}, code); code != codes.OK && !refused {
				t.Errorf("%s, to %s: %v", o.name, name, out.Status)
			}
			if code == codes.OK {
				sent++
			}
		}
	}
	if broken := u.sim.Broken(); len(broken) > 0 {
		t.Errorf("%d rejections, the first: %v", len(broken), broken[0])
	}
	if sent < 100 {
		t.Errorf("only %d histories were sent", sent)
	}
	t.Logf("%d histories were sent", sent)
}
