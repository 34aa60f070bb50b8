package openaichat

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// folded is what an answer's parts come to.
type folded struct {
	Blocks   []*foldedBlock
	Stop     llmdv1.StopReason
	Word     string
	Usage    *llmdv1.Usage
	ID       string
	Model    string
	Tier     string
	Diags    []string
	Err      error // of the terminal marker, of Decode or of Finish
	Stopped  int   // how many terminal markers came
	Complete int
}

type foldedBlock struct {
	Kind      string // text, thinking, tool_call or provider_content
	Text      string
	ID, Name  string
	Arguments string
	Format    string
	Signature string

	key int
}

func (f *folded) block(t *testing.T, kind string, key int) *foldedBlock {
	t.Helper()
	for _, b := range f.Blocks {
		if b.key == key {
			if b.Kind != kind {
				t.Fatalf("block %d is %s, then %s", key, b.Kind, kind)
			}
			return b
		}
	}
	b := &foldedBlock{Kind: kind, key: key}
	f.Blocks = append(f.Blocks, b)
	return b
}

func (f *folded) take(t *testing.T, parts []adapters.Part) {
	t.Helper()
	for _, p := range parts {
		switch p.Kind {
		case adapters.PartText:
			f.block(t, "text", p.Block).Text += p.Text
		case adapters.PartThinking:
			f.block(t, "thinking", p.Block).Text += p.Text
		case adapters.PartToolCall:
			b := f.block(t, "tool_call", p.Block)
			b.ID, b.Name = p.ID, p.Name
		case adapters.PartArguments:
			f.block(t, "tool_call", p.Block).Arguments += p.Text
		case adapters.PartProviderContent:
			b := f.block(t, "provider_content", p.Block)
			b.Name, b.Text = p.Name, string(p.Data)
		case adapters.PartSignature:
			b := f.block(t, "thinking", p.Block)
			b.Format, b.Signature = p.Format, string(p.Data)
		case adapters.PartIDs:
			f.ID, f.Model = p.ID, p.Name
		case adapters.PartUsage:
			f.Usage = p.Usage
		case adapters.PartServiceTier:
			f.Tier = p.Name
		case adapters.PartStop:
			f.Stopped++
			f.Stop, f.Word = p.Stop, p.Name
			if p.Err != nil {
				f.Err = p.Err
			}
		case adapters.PartComplete:
			f.Complete++
		case adapters.PartDiagnostic:
			f.Diags = append(f.Diags, p.Name)
		default:
			t.Fatalf("unexpected part %+v", p)
		}
	}
}

// finish does what the assembler does at the end.
func (f *folded) finish() {
	calls := 0
	for _, b := range f.Blocks {
		b.Text = jsonwire.Clean(b.Text)
		if b.Kind == "tool_call" {
			calls++
			if f.Stopped > 0 {
				b.Arguments = jsonstream.Repair([]byte(b.Arguments)).JSON
			}
		}
	}
	switch {
	case f.Err != nil:
		f.Stop = llmdv1.StopReason_STOP_REASON_ERROR
	case f.Stop == llmdv1.StopReason_STOP_REASON_STOP && calls > 0:
		f.Stop = llmdv1.StopReason_STOP_REASON_TOOL_USE
	case f.Stop == llmdv1.StopReason_STOP_REASON_TOOL_USE && calls == 0:
		f.Stop = llmdv1.StopReason_STOP_REASON_STOP
	}
}

// decode reads a body; oneByte gives it to the reader byte by byte.
func decode(t *testing.T, m *profile.Model, body []byte, oneByte bool) *folded {
	t.Helper()
	var r io.Reader = bytes.NewReader(body)
	if oneByte {
		r = iotest.OneByteReader(r)
	}
	frames := frame.NewReader(New().Framing(), r, 0)
	d := New().NewDecoder(&adapters.Call{Model: m, Generation: &llmdv1.Generation{}})
	f := &folded{}
	var sink adapters.Sink
	for f.Complete == 0 {
		fr, err := frames.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				f.Err = err
			}
			break
		}
		sink.Reset()
		err = d.Decode(fr, &sink)
		f.take(t, sink.Parts)
		if err != nil {
			f.Err = err
			break
		}
	}
	sink.Reset()
	if err := d.Finish(&sink); err != nil && f.Err == nil {
		f.Err = err
	}
	f.take(t, sink.Parts)
	f.finish()
	return f
}

// chunks makes a body of server-sent events.
func chunks(data ...string) []byte {
	return []byte("data: " + strings.Join(data, "\n\ndata: ") + "\n\n")
}

// model is a model of a host that does nothing otherwise than most.
func model() *profile.Model {
	return &profile.Model{
		ID: "m1", Provider: "lab", API: apiID,
		Input: []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT, llmdv1.Modality_MODALITY_IMAGE},
		Compat: profile.Compat{
			SupportsReasoningEffort: true, SupportsUsageInStreaming: true, SupportsFinishReason: true,
			MaxTokensField: "max_completion_tokens", ThinkingFormat: "openai", SupportsLongCacheRetention: true, PromptCacheKeyMode: "auto",
		},
	}
}
