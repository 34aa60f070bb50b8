package mistral_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/mistral"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// TestHistory: what comes after the user's "hi", and its messages.
func TestHistory(t *testing.T) {
	const chunkJSON = `{ "type":"thinking","thinking":[{"type":"reference","reference_ids":[1]}] }`
	bridge := `{"role":"assistant","content":[{"type":"text","text":"I have processed the tool results."}],"prefix":false}`
	call := `{"role":"assistant","content":"","tool_calls":[{"id":"aaaaaaaaa","type":"function","function":{"name":"f","arguments":"{}"},"index":0}],"prefix":false}`
	for name, c := range map[string]struct {
		in   []*llmdv1.Message
		want string
	}{
		"user's texts and images": {
			[]*llmdv1.Message{userMessage(userText("a"), userText(""), userImage(png()), userText("b\xed\xa0\xbd"), userImage(link("data:image/gif;base64,R0lGODlh")))},
			`,{"role":"user","content":[{"type":"text","text":"a"},` + pngJSON + `,{"type":"text","text":"b` + "\uFFFD" + `"},{"type":"image_url","image_url":"data:image/gif;base64,R0lGODlh"}]}`,
		},
		"an answer in its order": {
			[]*llmdv1.Message{assistantMessage(
				assistantThinking("h", ""), assistantText("t"), assistantText(" \n"), assistantThinking(" ", ""),
				assistantThinking("shown", chunkJSON), assistantThinking("no chunk", "SIG"), assistantOwn(`{ "type":"reference", "reference_ids":[3.0] }`),
			), userMessage(userText("go on"))},
			`,{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]},{"type":"text","text":"t"},` + chunkJSON +
				`,{"type":"thinking","thinking":[{"type":"text","text":"no chunk"}]},{ "type":"reference", "reference_ids":[3.0] }],"prefix":false},{"role":"user","content":"go on"}`,
		},
		"calls and results": {
			[]*llmdv1.Message{
				assistantMessage(assistantText("x"), assistantCall("aaaaaaaaa", "f", `{ "a" : 1.0 }`), assistantText("y"), assistantCall("bbbbbbbbb", "g", "")),
				result("aaaaaaaaa", "f", resultText(" one"), resultText("two\n")),
				result("bbbbbbbbb", "", resultImage(png())),
			},
			`,{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}],"tool_calls":[` +
				`{"id":"aaaaaaaaa","type":"function","function":{"name":"f","arguments":"{ \"a\" : 1.0 }"},"index":0},` +
				`{"id":"bbbbbbbbb","type":"function","function":{"name":"g","arguments":"{}"},"index":0}],"prefix":false},` +
				`{"role":"tool","tool_call_id":"aaaaaaaaa","name":"f","content":[{"type":"text","text":" one\ntwo\n"}]},` +
				`{"role":"tool","tool_call_id":"bbbbbbbbb","content":[{"type":"text","text":"(see attached image)"},` + pngJSON + `]}`,
		},
		"images of a result between its texts": {
			[]*llmdv1.Message{
				assistantMessage(assistantCall("aaaaaaaaa", "f", "{}"), assistantCall("bbbbbbbbb", "f", "{}")),
				result("aaaaaaaaa", "f", resultText("before"), resultText("it:"), resultImage(png()), resultText("after:"), resultImage(png()), resultText("done")),
				result("bbbbbbbbb", "f", resultImage(png()), resultText(" ")),
			},
			`,{"role":"assistant","content":"","tool_calls":[` +
				`{"id":"aaaaaaaaa","type":"function","function":{"name":"f","arguments":"{}"},"index":0},` +
				`{"id":"bbbbbbbbb","type":"function","function":{"name":"f","arguments":"{}"},"index":0}],"prefix":false},` +
				`{"role":"tool","tool_call_id":"aaaaaaaaa","name":"f","content":[{"type":"text","text":"before\nit:"},` + pngJSON + `,{"type":"text","text":"after:"},` + pngJSON + `,{"type":"text","text":"done"}]},` +
				`{"role":"tool","tool_call_id":"bbbbbbbbb","name":"f","content":[{"type":"text","text":"(see attached image)"},` + pngJSON + `]}`,
		},
		"a user after results": {
			[]*llmdv1.Message{
				assistantMessage(assistantCall("aaaaaaaaa", "f", "{}")), result("aaaaaaaaa", "f", resultText(" ")),
				userMessage(userText("")), userMessage(userText("stop")), userMessage(userText("now")),
			},
			`,` + call + `,{"role":"tool","tool_call_id":"aaaaaaaaa","name":"f","content":[{"type":"text","text":"(no tool output)"}]},` +
				bridge + `,{"role":"user","content":"stop"},{"role":"user","content":"now"}`,
		},
		"a failed result says so already": {
			[]*llmdv1.Message{assistantMessage(assistantCall("aaaaaaaaa", "f", "{}")), result("aaaaaaaaa", "f", resultText("[tool error] no"))},
			`,` + call + `,{"role":"tool","tool_call_id":"aaaaaaaaa","name":"f","content":[{"type":"text","text":"[tool error] no"}]}`,
		},
		"a beginning to be continued": {
			[]*llmdv1.Message{assistantMessage(assistantText("Once ")), assistantMessage(assistantText("upon "))},
			`,{"role":"assistant","content":[{"type":"text","text":"Once "}],"prefix":false},{"role":"assistant","content":[{"type":"text","text":"upon "}],"prefix":true}`,
		},
		"empty answers are left out": {[]*llmdv1.Message{assistantMessage(assistantText(" ")), userMessage(userText("b"))}, `,{"role":"user","content":"b"}`},
	} {
		r, err := request(t, model(), ask(c.in...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(`[{"role":"user","content":"hi"}`+c.want+`]`, member(t, r.Body, "messages")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestBridgeIsReported: at the index that the caller's message has before the
// hand-off took turns out and put others in.
func TestBridgeIsReported(t *testing.T) {
	calls := assistantMessage(assistantCall("aaaaaaaaa", "f", "{}"))
	g := ask(assistantMessage(), calls, result("aaaaaaaaa", "f"), result("aaaaaaaaa", "f"), userMessage(userText("stop")), assistantMessage(assistantText("ok")), userMessage(userText("go")))
	history := &llmdv1.Context{Messages: []*llmdv1.Message{
		userMessage(userText("(conversation continues)")), g.Context.Messages[0], calls, g.Context.Messages[3],
		g.Context.Messages[5], g.Context.Messages[6], g.Context.Messages[7],
	}}
	m := model()
	o, err := adapters.Negotiate(g, history, m)
	if err != nil {
		t.Fatal(err)
	}
	var origins []adapters.Origin
	for _, at := range []int{0, 0, 2, 3, 5, 6, 7} {
		origins = append(origins, adapters.Origin{Message: at})
	}
	r, err := mistral.New().Encode(&adapters.Call{Generation: g, Context: history, Origins: origins, Model: m, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	want := []*llmdv1.HandoffChange{{
		MessageIndex: 3, Action: llmdv1.HandoffAction_HANDOFF_ACTION_REWRITTEN, Rule: "text.placeholder",
		Detail: `the API wants some text: sent with "(no tool output)"`,
	}, {
		MessageIndex: 5, Action: llmdv1.HandoffAction_HANDOFF_ACTION_INSERTED, Rule: "turn.assistant_inserted",
		Detail: "the API wants a word of the assistant between the result of a tool and the user",
	}}
	if d := cmp.Diff(want, r.Changes, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

func TestConstraints(t *testing.T) {
	m := model()
	want := adapters.Constraints{
		ToolCallIDs: adapters.IDRule{ExactLen: 9, Alphanumeric: true}, ToolNames: adapters.NameRule{MaxLen: 64}, Images: true, ErrorResultImages: true, UserFirst: true, Prefill: true,
		ImageTypes:       []string{"image/jpeg", "image/png", "image/gif", "image/webp"},
		SignatureFormats: []string{"mistral.thinking"}, UnsignedThinking: true, ProviderContent: true,
	}
	got := mistral.New().Constraints(m)
	for data, ok := range map[string]bool{`{"type":"thinking"}`: true, `[]`: false, `{`: false} {
		if got.Carries(&llmdv1.Signature{Data: []byte(data), Format: "mistral.thinking"}) != ok {
			t.Errorf("%s is carried: %v", data, !ok)
		}
	}
	got.Carries = nil
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	m.Input = nil
	if mistral.New().Constraints(m).Images {
		t.Error("a model without images takes them")
	}
}
