package bedrock

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// decodeAll reads messages, each a name and a payload; "!" marks an exception.
func decodeAll(messages ...string) (*adaptertest.Folded, error) {
	d := New().NewDecoder(adaptertest.NewCall(&profile.Model{ID: "anthropic.claude-x"}))
	var s adapters.Sink
	for i, m := range messages {
		name, data, _ := strings.Cut(m, " ")
		name, exception := strings.CutPrefix(name, "!")
		f := frame.Frame{Event: name, Data: []byte(data), Index: i, Exception: exception}
		if err := d.Decode(f, &s); err != nil {
			return adaptertest.Fold(s.Parts), err
		}
	}
	err := d.Finish(&s)
	return adaptertest.Fold(s.Parts), err
}

const (
	begins = `contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}`
	stops  = `messageStop {"stopReason":"end_turn"}`
)

func says(delta string) string {
	return `contentBlockDelta {"contentBlockIndex":0,"delta":` + delta + `}`
}

// TestOddOrder: what comes in another order than it should, twice, or of another type
// loses nothing that belongs to a block, and makes up nothing.
func TestOddOrder(t *testing.T) {
	const over = `contentBlockStop {"contentBlockIndex":0}`
	for name, c := range map[string]struct {
		in   []string
		want string // the blocks
	}{
		"a delta of no call":           {[]string{says(`{"toolUse":{"input":"{}"}}`), stops}, ``},
		"nulls":                        {[]string{`contentBlockStart {"start":null}`, says(`null`), says(`{"text":null,"reasoningContent":{"text":null,"signature":null}}`), stops}, ``},
		"unions of wrong types":        {[]string{`contentBlockStart {"start":[]}`, `contentBlockStart {"start":{"toolUse":"x"}}`, says(`[]`), says(`{"reasoningContent":"x"}`), stops}, ``},
		"two members of a union":       {[]string{says(`{"text":"a","reasoningContent":{"text":"b"}}`), stops}, `thinking(b) text(a)`},
		"a text in a call":             {[]string{begins, says(`{"toolUse":{"input":"{"}}`), says(`{"text":"a"}`), stops}, `tool_call({) text(a)`},
		"a start again":                {[]string{begins, begins, says(`{"toolUse":{"input":"{}"}}`), stops}, `tool_call() tool_call({})`},
		"a delta behind the stop":      {[]string{says(`{"text":"a"}`), over, says(`{"text":"b"}`), stops}, `text(a) text(b)`},
		"a call's behind the stop":     {[]string{begins, over, says(`{"toolUse":{"input":"{}"}}`), stops}, `tool_call()`},
		"blocks behind the message":    {[]string{says(`{"text":"a"}`), stops, says(`{"text":"b"}`), begins, `messageStop {"stopReason":"max_tokens"}`}, `text(a)`},
		"metadata first":               {[]string{`metadata {"usage":{"inputTokens":1}}`, says(`{"text":"a"}`), stops}, `text(a)`},
		"an index that is none":        {[]string{`contentBlockDelta {"contentBlockIndex":-1,"delta":{"text":"a"}}`, `contentBlockDelta {"contentBlockIndex":1e300,"delta":{"text":"b"}}`, stops}, `text(a) text(b)`},
		"a signature in pieces":        {[]string{says(`{"reasoningContent":{"signature":"x"}}`), says(`{"reasoningContent":{"text":"a"}}`), says(`{"reasoningContent":{"signature":"y"}}`), stops}, `thinking(a)xy`},
		"an event that is not known":   {[]string{`newEvent {`, says(`{"text":"a"}`), stops}, `text(a)`},
		"a whole call, input as text":  {[]string{` {"output":{"message":{"content":[{"toolUse":{"toolUseId":"a","name":"f","input":"{\"b\":1}"}}]}},"stopReason":"tool_use"}`}, `tool_call({"b":1})`},
		"an exception behind the stop": {[]string{says(`{"text":"a"}`), stops, `!throttlingException {"message":"slow"}`}, `text(a)`},
	} {
		f, err := decodeAll(c.in...)
		if err != nil || len(f.Faults) > 0 {
			t.Errorf("%s: %v %v", name, err, f.Faults)
		}
		if late := strings.Join(f.Diagnostics, " ") == "content_after_end"; late != (name == "blocks behind the message") {
			t.Errorf("%s: %q", name, f.Diagnostics)
		}
		var got []string
		for _, b := range f.Blocks {
			got = append(got, fmt.Sprintf("%s(%s)%s", b.Kind, b.Text, b.Signature))
			if !b.Ended {
				t.Errorf("%s: %v has not ended", name, b)
			}
		}
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
		if f.Word != "end_turn" && f.Word != "tool_use" {
			t.Errorf("%s: it ends with %q", name, f.Word)
		}
	}
}

// TestNoSuccess: nothing but the stop reason makes an answer whole.
func TestNoSuccess(t *testing.T) {
	for name, in := range map[string][]string{
		"no stop":          {says(`{"text":"a"}`), `metadata {"usage":{"inputTokens":1}}`},
		"no reason":        {`messageStop {"stopReason":null}`},
		"another type":     {`messageStop {"stopReason":5}`},
		"an array":         {`messageStop []`},
		"a word unheard":   {`messageStop {"stopReason":"whatever"}`},
		"no JSON":          {`messageStop xx`},
		"an exception":     {says(`{"text":"a"}`), `!modelStreamErrorException {"message":"m","originalMessage":"o","originalStatusCode":429}`},
		"without a name":   {`! {"message":"x"}`},
		"without anything": {`!`},
	} {
		if f, err := decodeAll(in...); err == nil && f.Err == nil {
			t.Errorf("%s: it ends with %v %q", name, f.Stop, f.Word)
		}
	}
}

// TestUsageOfNothing: a usage without figures is none, so that no price is told.
func TestUsageOfNothing(t *testing.T) {
	for _, usage := range []string{`null`, `{}`, `[]`, `{"inputTokens":"many"}`} {
		if f, err := decodeAll(stops, `metadata {"usage":`+usage+`}`); err != nil || f.Usage != nil || !f.Complete {
			t.Errorf("%s: %v %v", usage, err, f.Usage)
		}
	}
	f, err := decodeAll(stops, `metadata {"usage":{"inputTokens":1.0,"outputTokens":-2,"cacheDetails":"x"}}`)
	if err != nil || f.Usage.GetInputTokens() != 1 || f.Usage.GetOutputTokens() != 0 {
		t.Errorf("%v %v", err, f.Usage)
	}
}

// TestManyMembers: a block of a kind that is not known, of which every delta brings a
// member of its own.
func TestManyMembers(t *testing.T) {
	const n = 20000
	in := []string{`contentBlockStart {"start":{"novel":{}}}`}
	for i := range n {
		in = append(in, says(fmt.Sprintf(`{"novel":{"k%d":%d}}`, i, i)))
	}
	f, err := decodeAll(append(in, says(`{"novel":{"k0":"x"}}`), stops)...)
	if err != nil || len(f.Blocks) != 1 || f.Stop != llmdv1.StopReason_STOP_REASON_STOP {
		t.Fatal(err, len(f.Blocks))
	}
	var block struct{ Novel map[string]any }
	if err := json.Unmarshal([]byte(f.Blocks[0].Text), &block); err != nil || len(block.Novel) != n || block.Novel["k0"] != "x" {
		t.Errorf("%v, %d members", err, len(block.Novel))
	}
}

// TestDeepInput: input that is nested deeper than JSON readers go ends in an error or a
// block that can be sent back, and in no panic.
func TestDeepInput(t *testing.T) {
	for _, depth := range []int{9000, 100_000} {
		deep := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
		quoted, err := json.Marshal(deep)
		if err != nil {
			t.Fatal(err)
		}
		f, err := decodeAll(`contentBlockStart {"start":{"toolUse":{"toolUseId":"s","name":"web","type":"server_tool_use"}}}`,
			says(`{"toolUse":{"input":`+string(quoted)+`}}`), stops)
		if err != nil || len(f.Faults) > 0 {
			t.Errorf("%d: %v %v", depth, err, f.Faults)
		}
		if _, err := decodeAll(says(`{"novel":`+deep+`}`), stops); (err == nil) != (depth < 10000) {
			t.Errorf("%d: %v", depth, err)
		}
	}
}
