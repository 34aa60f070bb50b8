package turns_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/media"
	"github.com/llmd-dev/llmd/adapters/turns"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func rules() *turns.Rules {
	return &turns.Rules{
		Empty:  "(empty)",
		Images: media.Takes{Types: []string{"image/png"}},
		Thinking: func(t *llmdv1.ThinkingContent) (turns.Block, bool) {
			return turns.Block{Kind: turns.Thinking, Text: t.GetThinking()}, t.GetSignature() != nil
		},
		Input:     func(_, _ int, c *llmdv1.ToolCall) []byte { return []byte(c.GetArgumentsJson()) },
		Replays:   func(_, _ int, _ *llmdv1.ProviderContent) bool { return true },
		Citations: func(p *llmdv1.ProviderContent) ([]byte, bool) { return p.GetRawJson(), p.GetType() == "cited" },
		Settle:    func(*turns.Block) string { return "" },
	}
}

func call(messages ...*llmdv1.Message) *adapters.Call {
	c := &llmdv1.Context{Messages: messages}
	return &adapters.Call{Generation: &llmdv1.Generation{Context: c}, Context: c}
}

func png() *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte("\x89PNG\r\n\x1a\n")}}
}

// outline is what a conversation comes to: one line for each turn.
func outline(list []turns.Turn) []string {
	names := []string{"text", "image", "thinking", "redacted", "call", "result", "opaque"}
	var lines []string
	for _, t := range list {
		line := "user:"
		if t.Assistant {
			line = "assistant:"
		}
		for _, b := range t.Blocks {
			line += " " + names[b.Kind] + "(" + b.Text + b.ID
			for _, p := range b.Parts {
				line += " " + names[p.Kind] + "(" + p.Text + ")"
			}
			line += string(b.Raw) + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestBuild(t *testing.T) {
	c := call(
		adaptertest.User(adaptertest.UserText("hi"), adaptertest.UserText(" "), adaptertest.UserImage(png())),
		adaptertest.Assistant(adaptertest.Thinks("hm", "f", "s"), adaptertest.Says("so"), adaptertest.Own("cited", `{"c":1}`),
			adaptertest.Calls("a", "f", `{}`), adaptertest.Calls("b", "f", `{}`), adaptertest.Own("x", `{"x":1}`)),
		adaptertest.User(adaptertest.UserText("and?")),
		adaptertest.Result("a", "f", true, adaptertest.ResultText("bad"), adaptertest.ResultText(" ")),
		adaptertest.Result("b", "f", false, adaptertest.ResultImage(png())),
		adaptertest.Assistant(adaptertest.Says(" "), adaptertest.Own("cited", `{"c":2}`)),
		adaptertest.Assistant(adaptertest.Says("done \n")),
		adaptertest.User(),
	)
	list, changes, err := turns.Build(c, rules())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"user: text(hi) image()",
		`assistant: thinking(hm) text(so{"c":1}) call(a{}) call(b{}) opaque({"x":1})`,
		"user: result(a text(bad)) result(b image()) text(and?)",
		"assistant: text(done \n)",
		"user: text((empty))",
	}
	if d := cmp.Diff(want, outline(list)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	var reported []string
	for _, c := range changes {
		reported = append(reported, fmt.Sprintf("%s at %d", c.GetRule(), c.GetMessageIndex()))
	}
	if d := cmp.Diff([]string{"text.empty at 0", "text.empty at 3", "provider_content.orphan at 5", "text.placeholder at 7"}, reported); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if turns.LastUser(list) != 4 || turns.Prefill(list) != nil {
		t.Errorf("last %d", turns.LastUser(list))
	}
}

// The images of results stand behind all of them, and before the words of the user.
func TestApart(t *testing.T) {
	history := []*llmdv1.Message{
		adaptertest.Assistant(adaptertest.Calls("a", "f", `{}`), adaptertest.Says("so"), adaptertest.Calls("b", "f", `{}`)),
		adaptertest.Result("a", "f", false, adaptertest.ResultImage(png()), adaptertest.ResultText(" ")),
		adaptertest.User(adaptertest.UserText("and?")),
		adaptertest.Result("b", "f", false, adaptertest.ResultText("x"), adaptertest.ResultImage(png()), adaptertest.ResultText("y")),
		adaptertest.Assistant(adaptertest.Calls("c", "f", `{}`)),
		adaptertest.Result("c", "f", false, adaptertest.ResultText("z")),
	}
	for name, c := range map[string]struct {
		change         func(*turns.Rules)
		want, reported []string
	}{
		"images": {
			func(r *turns.Rules) { r.ImagesApart = true },
			[]string{
				"assistant: call(a{}) text(so) call(b{})",
				"user: result(a text((see attached image))) result(b text(x) text(y)) text(Attached image(s) from tool result:) image() image() text(and?)",
				"assistant: call(c{})",
				"user: result(c text(z))",
			},
			[]string{"images.moved at 1", "text.empty at 1", "text.placeholder at 1", "images.moved at 3"},
		},
		"tools": {
			func(r *turns.Rules) { r.ToolsAlone = true },
			[]string{
				"assistant: text(so)",
				"user: text((conversation continues))",
				"assistant: call(a{}) call(b{})",
				"user: result(a image()) result(b text(x) image() text(y))",
				"assistant: text(I have processed the tool results.)",
				"user: text(and?)",
				"assistant: call(c{})",
				"user: result(c text(z))",
			},
			[]string{"text.empty at 1", "turn.user_inserted at 0", "turn.assistant_inserted at 4"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules()
			c.change(r)
			list, changes, err := turns.Build(call(history...), r)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, outline(list)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			var reported []string
			for _, c := range changes {
				reported = append(reported, fmt.Sprintf("%s at %d", c.GetRule(), c.GetMessageIndex()))
			}
			if d := cmp.Diff(c.reported, reported); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestTrim(t *testing.T) {
	c := call(adaptertest.User(adaptertest.UserText("hi")), adaptertest.Assistant(adaptertest.Says("It is ( \n")))
	list, _, err := turns.Build(c, rules())
	if err != nil {
		t.Fatal(err)
	}
	change := turns.Prefill(list).Trim(c)
	if change.GetMessageIndex() != 1 || change.GetRule() != "prefill.trimmed" || list[1].Blocks[0].Text != "It is (" {
		t.Errorf("%v, %q", change, list[1].Blocks[0].Text)
	}
	if again := turns.Prefill(list).Trim(c); again != nil {
		t.Errorf("trimmed twice: %v", again)
	}
}

func TestFaults(t *testing.T) {
	for field, m := range map[string]*llmdv1.Message{
		"generation.context.messages[0].user.content[0].image.data": adaptertest.User(adaptertest.UserImage(
			&llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte("GIF89a")}})),
		"generation.context.messages[0].tool_result.content[0].image.uri": adaptertest.Result("a", "f", false, adaptertest.ResultImage(
			&llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: "https://example.com"}})),
		"generation.context.messages[0].assistant.content[0].provider_content.raw_json": adaptertest.Assistant(adaptertest.Own("x", `[]`)),
	} {
		_, _, err := turns.Build(call(m), rules())
		if e, ok := errors.AsType[*adapters.FieldError](err); !ok || e.Field != field {
			t.Errorf("%v, want the field %s", err, field)
		}
	}
}

// TestLoopThinks: while results are handed in, the turn that asked for them must have
// begun with its thinking.
func TestLoopThinks(t *testing.T) {
	hi, result := adaptertest.User(adaptertest.UserText("hi")), adaptertest.Result("a", "f", false)
	// What follows a failed result with an image is not of results alone.
	shown := adaptertest.User(adaptertest.UserImage(png()))
	thought, calls := adaptertest.Thinks("hm", "f", "s"), adaptertest.Calls("a", "f", "{}")
	for name, c := range map[string]struct {
		history []*llmdv1.Message
		want    bool
	}{
		"no loop":          {[]*llmdv1.Message{hi, adaptertest.Assistant(calls), hi}, true},
		"thought":          {[]*llmdv1.Message{hi, adaptertest.Assistant(thought, calls), result}, true},
		"not thought":      {[]*llmdv1.Message{hi, adaptertest.Assistant(calls), result}, false},
		"thought too late": {[]*llmdv1.Message{hi, adaptertest.Assistant(adaptertest.Says("x"), thought, calls), result}, false},
		"thought at first": {[]*llmdv1.Message{hi, adaptertest.Assistant(thought, calls), result, adaptertest.Assistant(calls), result}, true},
		"thought before an image of a failed tool": {[]*llmdv1.Message{hi, adaptertest.Assistant(thought, calls), result, shown, adaptertest.Assistant(calls), result}, false},
		"unsigned is none":                         {[]*llmdv1.Message{hi, adaptertest.Assistant(adaptertest.Thinks("hm", "", ""), calls), result}, false},
		"blank text is none":                       {[]*llmdv1.Message{hi, adaptertest.Assistant(adaptertest.Says(" "), thought, calls), result}, true},
		"words behind results":                     {slices.Concat([]*llmdv1.Message{hi, adaptertest.Assistant(calls), result}, []*llmdv1.Message{hi}), false},
	} {
		if got := rules().LoopThinks(c.history); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
