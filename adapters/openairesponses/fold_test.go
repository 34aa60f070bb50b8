package openairesponses

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// block is a content block while parts are folded.
type block struct {
	kind                adapters.PartKind
	id, name, namespace string
	text                string // or arguments
	format, signature   string
	ended               bool
}

// answer is what the parts of one answer come to.
type answer struct {
	blocks      []*block
	byKey       map[int]*block
	id, model   string
	tier        string
	usage       *llmdv1.Usage
	stop        *adapters.Part
	complete    bool
	diagnostics []string
	frames      int
}

func (a *answer) open(t *testing.T, p *adapters.Part) *block {
	t.Helper()
	if b := a.byKey[p.Block]; b != nil {
		if b.kind != p.Kind {
			t.Errorf("block %d is of two kinds", p.Block)
		}
		if b.ended {
			t.Errorf("block %d goes on after its end", p.Block)
		}
		return b
	}
	b := &block{kind: p.Kind}
	if a.byKey == nil {
		a.byKey = map[int]*block{}
	}
	a.byKey[p.Block] = b
	a.blocks = append(a.blocks, b)
	return b
}

func (a *answer) take(t *testing.T, parts []adapters.Part) {
	t.Helper()
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case adapters.PartText, adapters.PartThinking:
			a.open(t, p).text += p.Text
		case adapters.PartToolCall:
			b := a.open(t, p)
			b.id, b.name, b.namespace = p.ID, p.Name, p.Namespace
		case adapters.PartArguments:
			q := *p
			q.Kind = adapters.PartToolCall
			a.open(t, &q).text += p.Text
		case adapters.PartFinalText, adapters.PartFinalArguments:
			a.byKey[p.Block].text = p.Text
		case adapters.PartSignature:
			b := a.byKey[p.Block]
			b.format, b.signature = p.Format, string(p.Data)
		case adapters.PartEnd:
			a.byKey[p.Block].ended = true
		case adapters.PartProviderContent:
			b := a.open(t, p)
			b.name, b.text, b.ended = p.Name, string(p.Data), true
		case adapters.PartIDs:
			if a.id == "" {
				a.id = p.ID
			}
			if a.model == "" {
				a.model = p.Name
			}
		case adapters.PartUsage:
			a.usage = p.Usage
		case adapters.PartServiceTier:
			a.tier = p.Name
		case adapters.PartStop:
			if a.stop == nil {
				stop := *p
				a.stop = &stop
			}
		case adapters.PartComplete:
			a.complete = true
		case adapters.PartDiagnostic:
			a.diagnostics = append(a.diagnostics, p.Name)
		default:
			t.Errorf("a part of kind %d", p.Kind)
		}
	}
}

// stopReason applies the rule of contract 1.19.
func (a *answer) stopReason() llmdv1.StopReason {
	if a.stop == nil {
		return llmdv1.StopReason_STOP_REASON_UNSPECIFIED
	}
	if a.stop.Stop == llmdv1.StopReason_STOP_REASON_STOP {
		for _, b := range a.blocks {
			if b.kind == adapters.PartToolCall {
				return llmdv1.StopReason_STOP_REASON_TOOL_USE
			}
		}
	}
	return a.stop.Stop
}

// message is the answer as a turn of a history.
func (a *answer) message(provider, model string) *llmdv1.Message {
	m := &llmdv1.AssistantMessage{Api: apiOpenAI, Provider: provider, Model: model}
	for _, b := range a.blocks {
		var s *llmdv1.Signature
		if b.signature != "" {
			s = &llmdv1.Signature{Data: []byte(b.signature), Format: b.format, Api: apiOpenAI, Provider: provider, Model: model}
		}
		text := jsonwire.Clean(b.text)
		var c *llmdv1.AssistantContent
		switch b.kind {
		case adapters.PartThinking:
			c = &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{Thinking: text, Signature: s}}}
		case adapters.PartToolCall:
			c = &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{
				Id: b.id, Name: b.name, ArgumentsJson: text, ToolNamespace: b.namespace, Signature: s,
			}}}
		case adapters.PartProviderContent:
			c = &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: &llmdv1.ProviderContent{
				Api: apiOpenAI, Provider: provider, Model: model, Type: b.name, RawJson: []byte(b.text),
			}}}
		default:
			c = &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: text, Signature: s}}}
		}
		m.Content = append(m.Content, c)
	}
	return &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: m}}
}

// decode reads a whole body. The error is the first one of the decoder, or that of
// Finish.
func decode(t *testing.T, body io.Reader) (*answer, error) {
	t.Helper()
	d := New().NewDecoder(nil)
	r := frame.NewReader(frame.SSE, body, 0)
	a := &answer{}
	var sink adapters.Sink
	for {
		f, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("reading frames: %v", err)
			}
			break
		}
		a.frames++
		sink.Reset()
		err = d.Decode(f, &sink)
		a.take(t, sink.Parts)
		if err != nil {
			return a, err
		}
	}
	sink.Reset()
	err := d.Finish(&sink)
	a.take(t, sink.Parts)
	return a, err
}

// shared is a folder beside the repository. Tests that need it are skipped where it
// is not, but not in CI.
func shared(t *testing.T, path ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{"..", "..", "..", "shared"}, path...)...)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("../shared is needed in CI: %v", err)
		}
		t.Skip("needs ../shared beside the repository")
	}
	return dir
}
