package generation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func newAssembler() *assembler {
	return &assembler{
		message: &llmdv1.AssistantMessage{Api: "api", Provider: "p", Model: "m", ResponseId: "here.ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
		issuer:  &llmdv1.Signature{Api: "api", Provider: "p", Model: "m", Endpoint: "e"},
		price:   func(*llmdv1.Usage, string) *llmdv1.Cost { return nil },
		errorOf: func(err error) *llmdv1.Error { return &llmdv1.Error{Message: err.Error()} },
	}
}

// play gives each group of parts as one frame and ends the answer.
func play(a *assembler, frames ...func(*adapters.Sink)) []*llmdv1.StreamResponse {
	for _, f := range frames {
		var s adapters.Sink
		f(&s)
		a.apply(s.Parts)
	}
	if a.stop != nil {
		a.finish()
	}
	return messages(a.take())
}

// messages are the events as a reader would send them, but for the numbers.
func messages(events []event) (out []*llmdv1.StreamResponse) {
	for _, e := range events {
		out = append(out, e.numbered(0))
	}
	return out
}

// brief writes events one a line, so that a test can show them.
func brief(events []*llmdv1.StreamResponse) string {
	var b strings.Builder
	for _, e := range events {
		switch t := e.GetEvent().(type) {
		case *llmdv1.StreamResponse_TextStart:
			fmt.Fprintf(&b, "text_start %d\n", t.TextStart.GetContentIndex())
		case *llmdv1.StreamResponse_TextDelta:
			fmt.Fprintf(&b, "text_delta %d %q\n", t.TextDelta.GetContentIndex(), t.TextDelta.GetDelta())
		case *llmdv1.StreamResponse_TextEnd:
			fmt.Fprintf(&b, "text_end %d %q%s\n", t.TextEnd.GetContentIndex(), t.TextEnd.GetContent().GetText(), sig(t.TextEnd.GetContent().GetSignature()))
		case *llmdv1.StreamResponse_ThinkingStart:
			fmt.Fprintf(&b, "thinking_start %d redacted=%v\n", t.ThinkingStart.GetContentIndex(), t.ThinkingStart.GetRedacted())
		case *llmdv1.StreamResponse_ThinkingDelta:
			fmt.Fprintf(&b, "thinking_delta %d %q\n", t.ThinkingDelta.GetContentIndex(), t.ThinkingDelta.GetDelta())
		case *llmdv1.StreamResponse_ThinkingEnd:
			fmt.Fprintf(&b, "thinking_end %d %q%s\n", t.ThinkingEnd.GetContentIndex(), t.ThinkingEnd.GetContent().GetThinking(), sig(t.ThinkingEnd.GetContent().GetSignature()))
		case *llmdv1.StreamResponse_ToolCallStart:
			fmt.Fprintf(&b, "tool_call_start %d %s %s\n", t.ToolCallStart.GetContentIndex(), t.ToolCallStart.GetId(), t.ToolCallStart.GetName())
		case *llmdv1.StreamResponse_ToolCallDelta:
			d := t.ToolCallDelta
			fmt.Fprintf(&b, "tool_call_delta %d %q %d %q\n", d.GetContentIndex(), d.GetDelta(), d.GetValidPrefixBytes(), d.GetClosing())
		case *llmdv1.StreamResponse_ToolCallEnd:
			c := t.ToolCallEnd.GetToolCall()
			fmt.Fprintf(&b, "tool_call_end %d %s%s error=%v\n", t.ToolCallEnd.GetContentIndex(), c.GetArgumentsJson(), sig(c.GetSignature()), c.GetArgumentsError() != "")
		case *llmdv1.StreamResponse_SignatureUpdate:
			fmt.Fprintf(&b, "signature_update %d%s\n", t.SignatureUpdate.GetContentIndex(), sig(t.SignatureUpdate.GetSignature()))
		case *llmdv1.StreamResponse_ProviderContent:
			fmt.Fprintf(&b, "provider_content %d %s\n", t.ProviderContent.GetContentIndex(), t.ProviderContent.GetContent().GetRawJson())
		case *llmdv1.StreamResponse_UsageUpdate:
			fmt.Fprintf(&b, "usage_update %d\n", t.UsageUpdate.GetTotalTokens())
		case *llmdv1.StreamResponse_Done:
			fmt.Fprintf(&b, "done %s\n", strings.TrimPrefix(t.Done.GetMessage().GetStopReason().String(), "STOP_REASON_"))
		case *llmdv1.StreamResponse_Error:
			fmt.Fprintf(&b, "error %s\n", t.Error.GetError().GetMessage())
		case *llmdv1.StreamResponse_Aborted:
			fmt.Fprintf(&b, "aborted %s\n", t.Aborted.GetCause())
		default:
			fmt.Fprintf(&b, "%T\n", t)
		}
	}
	return b.String()
}

func sig(s *llmdv1.Signature) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf(" sig=%s/%s", s.GetFormat(), s.GetData())
}

func stopWith(r llmdv1.StopReason) func(*adapters.Sink) {
	return func(s *adapters.Sink) { s.Stop(r, "word") }
}

const (
	stop    = llmdv1.StopReason_STOP_REASON_STOP
	toolUse = llmdv1.StopReason_STOP_REASON_TOOL_USE
	length  = llmdv1.StopReason_STOP_REASON_LENGTH
)

func TestAssemblerGrammar(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []func(*adapters.Sink)
		want   string
	}{
		{"text", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.Text(7, "") },
			func(s *adapters.Sink) { s.Text(7, "Hi"); s.Text(7, "") },
			func(s *adapters.Sink) { s.Text(7, " you"); s.End(7) },
			stopWith(stop),
		}, `text_start 0
text_delta 0 "Hi"
text_delta 0 " you"
text_end 0 "Hi you"
done STOP
`},
		{"an empty block leaves no trace", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.Text(0, ""); s.End(0); s.Thinking(1, ""); s.End(1); s.Text(2, "a") },
			stopWith(stop),
		}, "text_start 0\ntext_delta 0 \"a\"\ntext_end 0 \"a\"\ndone STOP\n"},
		{"an earlier silent block keeps its place", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.Thinking(0, ""); s.Text(1, "b"); s.Thinking(0, "a") },
			stopWith(stop),
		}, "thinking_start 0 redacted=false\ntext_start 1\ntext_delta 1 \"b\"\nthinking_delta 0 \"a\"\nthinking_end 0 \"a\"\ntext_end 1 \"b\"\ndone STOP\n"},
		{"signed thinking without text stays", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.Thinking(0, ""); s.Signature(0, "f", []byte("S")); s.End(0) },
			stopWith(stop),
		}, "thinking_start 0 redacted=false\nthinking_end 0 \"\" sig=f/S\ndone STOP\n"},
		{"redacted", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.Redacted(0); s.Signature(0, "r", []byte("X")); s.End(0) },
			stopWith(stop),
		}, "thinking_start 0 redacted=true\nthinking_end 0 \"\" sig=r/X\ndone STOP\n"},
		{"a late signature", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.Text(0, "a"); s.End(0); s.Signature(0, "f", []byte("S")) },
			stopWith(stop),
		}, "text_start 0\ntext_delta 0 \"a\"\ntext_end 0 \"a\"\nsignature_update 0 sig=f/S\ndone STOP\n"},
		{"interleaved calls, stop becomes tool use", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.ToolCall(0, "a", "f", ""); s.ToolCall(1, "b", "g", "") },
			func(s *adapters.Sink) { s.Arguments(1, `{"x":tr`); s.Arguments(0, `{"p":"/et`) },
			func(s *adapters.Sink) { s.Arguments(0, `c"}`); s.Arguments(1, `ue}`) },
			stopWith(stop),
		}, `tool_call_start 0 a f
tool_call_start 1 b g
tool_call_delta 1 "{\"x\":tr" 1 "}"
tool_call_delta 0 "{\"p\":\"/et" 9 "\"}"
tool_call_delta 0 "c\"}" 12 ""
tool_call_delta 1 "ue}" 10 ""
tool_call_end 0 {"p":"/etc"}
tool_call_end 1 {"x":true}
done TOOL_USE
`},
		{"tool use without a call becomes stop", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.Text(0, "a") }, stopWith(toolUse),
		}, "text_start 0\ntext_delta 0 \"a\"\ntext_end 0 \"a\"\ndone STOP\n"},
		{"length never changes, cut arguments say so", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.ToolCall(0, "a", "f", ""); s.Arguments(0, `{"x":"y`) }, stopWith(length),
		}, "tool_call_start 0 a f\ntool_call_delta 0 \"{\\\"x\\\":\\\"y\" 7 \"\\\"}\"\ntool_call_end 0 {\"x\":\"y\"} error=true\ndone LENGTH\n"},
		{"a name that comes late holds the start back", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.ToolCall(0, "a", "", ""); s.Arguments(0, `{"x":`) },
			func(s *adapters.Sink) { s.Text(1, "t") },
			func(s *adapters.Sink) { s.ToolCall(0, "", "f", ""); s.Arguments(0, `"y"}`) },
			stopWith(toolUse),
		}, "text_start 0\ntext_delta 0 \"t\"\ntool_call_start 1 a f\ntool_call_delta 1 \"{\\\"x\\\":\" 1 \"}\"\ntool_call_delta 1 \"\\\"y\\\"}\" 9 \"\"\ntext_end 0 \"t\"\ntool_call_end 1 {\"x\":\"y\"}\ndone TOOL_USE\n"},
		{"ids that are missing or double", []func(*adapters.Sink){
			func(s *adapters.Sink) {
				s.ToolCall(0, "", "f", "")
				s.ToolCall(1, "x", "f", "")
				s.ToolCall(2, "x", "f", "")
			},
			stopWith(stop),
		}, "tool_call_start 0 call_KLMNOPQRSTUVWXYZ_0 f\ntool_call_start 1 x f\ntool_call_start 2 x_3 f\ntool_call_end 0 {}\ntool_call_end 1 {}\ntool_call_end 2 {}\ndone TOOL_USE\n"},
		{"final text that goes on, and one that contradicts", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.Text(0, "ab"); s.FinalText(0, "abc"); s.End(0) },
			func(s *adapters.Sink) { s.Thinking(1, "xy"); s.FinalText(1, "Xy"); s.End(1) },
			stopWith(stop),
		}, "text_start 0\ntext_delta 0 \"ab\"\ntext_delta 0 \"c\"\ntext_end 0 \"abc\"\nthinking_start 1 redacted=false\nthinking_delta 1 \"xy\"\nthinking_end 1 \"Xy\"\ndone STOP\n"},
		{"final arguments", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.ToolCall(0, "a", "f", ""); s.FinalArguments(0, `{"a":1}`); s.End(0) },
			func(s *adapters.Sink) {
				s.ToolCall(1, "b", "f", "")
				s.Arguments(1, `{"a"`)
				s.FinalArguments(1, `{"b":2}`)
				s.End(1)
			},
			stopWith(stop),
		}, "tool_call_start 0 a f\ntool_call_delta 0 \"{\\\"a\\\":1}\" 7 \"\"\ntool_call_end 0 {\"a\":1}\ntool_call_start 1 b f\ntool_call_delta 1 \"{\\\"a\\\"\" 1 \"}\"\ntool_call_end 1 {\"b\":2}\ndone TOOL_USE\n"},
		{"halves of a surrogate pair in two deltas", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.Text(0, "x\xed\xa0\xbd") },
			func(s *adapters.Sink) { s.Text(0, "\xed\xb8\x80") },
			stopWith(stop),
		}, "text_start 0\ntext_delta 0 \"x\"\ntext_delta 0 \"😀\"\ntext_end 0 \"x😀\"\ndone STOP\n"},
		{"provider content and usage", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.ProviderContent(5, "search", []byte(`{"a":1}`)) },
			func(s *adapters.Sink) { s.Usage(&llmdv1.Usage{InputTokens: 1, OutputTokens: 2}) },
			func(s *adapters.Sink) { s.Usage(&llmdv1.Usage{InputTokens: 1, OutputTokens: 2}) },
			stopWith(stop),
		}, "provider_content 0 {\"a\":1}\nusage_update 3\ndone STOP\n"},
		{"a marker in every frame", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.Text(0, "a"); s.Stop(stop, "STOP") },
			func(s *adapters.Sink) { s.Text(0, "b"); s.Stop(stop, "STOP") },
			func(s *adapters.Sink) { s.Text(0, "c") },
		}, "text_start 0\ntext_delta 0 \"a\"\ntext_delta 0 \"b\"\ntext_end 0 \"ab\"\ndone STOP\n"},
		{"a marker in every frame, the last one without content", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.Text(0, "a"); s.Stop(stop, "STOP") },
			func(s *adapters.Sink) { s.Stop(length, "MAX_TOKENS") },
		}, "text_start 0\ntext_delta 0 \"a\"\ntext_end 0 \"a\"\ndone LENGTH\n"},
		{"a failure at the terminal marker", []func(*adapters.Sink){
			func(s *adapters.Sink) { s.Text(0, "a") },
			func(s *adapters.Sink) { s.Fail("refusal", &adapters.UpstreamError{Reason: "R"}) },
		}, "text_start 0\ntext_delta 0 \"a\"\nerror adapters: R\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := brief(play(newAssembler(), c.frames...))
			got = strings.ReplaceAll(got, " error=false", "")
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAssemblerKeepsPartials(t *testing.T) {
	a := newAssembler()
	play(a, func(s *adapters.Sink) {
		s.Thinking(0, "hm")
		s.Signature(0, "f", []byte("S"))
		s.End(0)
		s.Text(1, "half \xed\xa0\xbd")
		s.ToolCall(2, "id", "f", "")
		s.Arguments(2, `{"a":"b`)
		s.ToolCall(3, "id2", "", "")
	})
	a.fail(errors.New("gone"))
	want := &llmdv1.AssistantMessage{}
	if err := prototext.Unmarshal([]byte(`
		api: "api" provider: "p" model: "m" response_id: "here.ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		content { thinking { thinking: "hm" signature { data: "S" format: "f" api: "api" provider: "p" model: "m" endpoint: "e" } } }
		content { text { text: "half " incomplete: true } }
		content { tool_call { id: "id" name: "f" arguments_json: "{\"a\":\"b\"}" incomplete: true } }
		content { tool_call { id: "id2" arguments_json: "{}" incomplete: true } }
		stop_reason: STOP_REASON_ERROR error { message: "gone" }`), want); err != nil {
		t.Fatal(err)
	}
	for _, c := range a.message.GetContent() {
		if tc := c.GetToolCall(); tc != nil {
			tc.ArgumentsError = "" // said for cut arguments too; its words are jsonstream's
		}
	}
	if d := cmp.Diff(want, a.message, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

func TestAssemblerSizes(t *testing.T) {
	a := newAssembler()
	big := strings.Repeat("é", 2_000_000) // 4,000,000 bytes
	events := play(a, func(s *adapters.Sink) { s.Text(0, big); s.End(0) }, stopWith(stop))
	var deltas strings.Builder
	for _, e := range events {
		if n := proto.Size(e); n > 3_670_016 {
			t.Errorf("an event of %d bytes", n)
		}
		if d := e.GetTextDelta(); d != nil {
			if len(d.GetDelta()) > 256<<10 {
				t.Errorf("a delta of %d bytes", len(d.GetDelta()))
			}
			deltas.WriteString(d.GetDelta())
		}
	}
	if deltas.String() != big {
		t.Error("the deltas are not the text")
	}
	end, done := events[len(events)-2].GetTextEnd(), events[len(events)-1].GetDone()
	if !end.GetContentOmitted() || !done.GetContentOmitted() || len(done.GetMessage().GetContent()) != 0 {
		t.Error("large ends must omit their content and say so")
	}
	if a.message.GetContent()[0].GetText().GetText() != big {
		t.Error("the message kept must be whole")
	}
}

// The _end event and the message share one copy of a text, and it is the only one.
func TestAssemblerSharesTexts(t *testing.T) {
	a := newAssembler()
	events := play(a, func(s *adapters.Sink) { s.Thinking(0, "hm"); s.End(0); s.Text(1, "so it is") }, stopWith(stop))
	var ends, whole []string
	for _, e := range events {
		if c := e.GetThinkingEnd().GetContent(); c != nil {
			ends = append(ends, c.GetThinking())
		}
		if c := e.GetTextEnd().GetContent(); c != nil {
			ends = append(ends, c.GetText())
		}
		for _, c := range e.GetDone().GetMessage().GetContent() {
			whole = append(whole, c.GetThinking().GetThinking()+c.GetText().GetText())
		}
	}
	if want := []string{"hm", "so it is"}; !slices.Equal(ends, want) || !slices.Equal(whole, want) {
		t.Fatalf("%q, %q", ends, whole)
	}
	for i := range ends {
		if unsafe.StringData(ends[i]) != unsafe.StringData(whole[i]) || a.blocks[i].text != nil {
			t.Errorf("%q is there more than once", ends[i])
		}
	}
}

func TestAssemblerSnapshotsDouble(t *testing.T) {
	a := newAssembler()
	a.snapshots = true
	total, count := 0, 0
	for range 1000 {
		for _, e := range play(a, func(s *adapters.Sink) { s.Text(0, strings.Repeat("x", 100)) }) {
			if s := e.GetSnapshot(); s != nil {
				count++
				total += len(s.GetMessage().GetContent()[0].GetText().GetText())
			}
		}
	}
	if count < 5 || total > 2*100_000 {
		t.Errorf("%d snapshots of %d bytes in all; at most twice the text", count, total)
	}
}
