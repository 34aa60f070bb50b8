package adaptertest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// The kinds of blocks.
const (
	KindText            = "text"
	KindThinking        = "thinking"
	KindToolCall        = "tool_call"
	KindProviderContent = "provider_content"
)

// Block is one content block.
type Block struct {
	Kind string
	// Text is the text, the thinking, the arguments as the provider wrote them, or
	// the raw JSON of provider content. It is valid UTF-8.
	Text string
	// ID, Name and Namespace are a tool call's; Name is also the kind of provider
	// content.
	ID, Name, Namespace string
	Redacted            bool
	// Format and Signature are the block's signature.
	Format, Signature string
	// Ended: the provider said that the block is whole.
	Ended bool
}

// Folded is what all parts of an answer come to.
type Folded struct {
	// Blocks are in the order in which they opened.
	Blocks                          []Block
	ResponseID, ResponseModel, Tier string
	Usage                           *llmdv1.Usage
	// Stop is the terminal marker: UNSPECIFIED = none came.
	Stop llmdv1.StopReason
	Word string
	Err  *adapters.UpstreamError
	// Complete: the decoder said that nothing follows.
	Complete    bool
	Diagnostics []string
	// Faults are breaches of the rules for parts, such as text behind a block's end.
	Faults []string
}

// Calls says whether there is a client's tool call among the blocks.
func (f *Folded) Calls() bool {
	for _, b := range f.Blocks {
		if b.Kind == KindToolCall {
			return true
		}
	}
	return false
}

// Fold puts parts together.
func Fold(parts []adapters.Part) *Folded {
	f := &folder{index: map[int]int{}}
	for i := range parts {
		f.part(&parts[i])
	}
	for i := range f.Blocks {
		f.Blocks[i].Text = jsonwire.Clean(f.texts[i].String())
	}
	return &f.Folded
}

// FoldBody reads a body to its end and puts the parts together. The error is
// [Decode]'s.
func FoldBody(a adapters.Adapter, call *adapters.Call, body string) (*Folded, error) {
	parts, err := Decode(a, call, strings.NewReader(body))
	return Fold(parts), err
}

type folder struct {
	Folded

	index map[int]int // of a block in Blocks, by the decoder's number
	texts []*strings.Builder
}

func (f *folder) fault(p *adapters.Part, format string, args ...any) {
	f.Faults = append(f.Faults, Line(p)+": "+fmt.Sprintf(format, args...))
}

func (f *folder) part(p *adapters.Part) {
	if f.Complete {
		f.fault(p, "a part behind the one that says nothing follows")
	}
	switch p.Kind {
	case adapters.PartIDs:
		f.ids(p)
	case adapters.PartUsage:
		f.Usage = p.Usage
	case adapters.PartServiceTier:
		f.Tier = p.Name
	case adapters.PartStop:
		f.stop(p)
	case adapters.PartComplete:
		f.Complete = true
	case adapters.PartDiagnostic:
		f.Diagnostics = append(f.Diagnostics, p.Name)
	case adapters.PartText:
		f.append(p, KindText)
	case adapters.PartThinking:
		f.append(p, KindThinking)
	case adapters.PartRedacted:
		if b, _ := f.block(p, KindThinking); b != nil {
			b.Redacted = true
		}
	case adapters.PartToolCall:
		f.toolCall(p)
	case adapters.PartProviderContent:
		f.providerContent(p)
	default:
		f.known(p)
	}
}

// known handles the parts about a block that must have opened before.
func (f *folder) known(p *adapters.Part) {
	i, ok := f.index[p.Block]
	if !ok {
		f.fault(p, "the block has not opened")
		return
	}
	b, text := &f.Blocks[i], f.texts[i]
	if b.Ended && p.Kind != adapters.PartSignature {
		f.fault(p, "the block has ended")
		return
	}
	isCall := b.Kind == KindToolCall
	switch p.Kind {
	case adapters.PartSignature:
		b.Format, b.Signature = p.Format, string(p.Data)
	case adapters.PartEnd:
		b.Ended = true
	case adapters.PartArguments:
		text.WriteString(p.Text)
	case adapters.PartFinalText, adapters.PartFinalArguments:
		text.Reset()
		text.WriteString(p.Text)
	default:
		f.fault(p, "unknown kind of part")
	}
	if (p.Kind == adapters.PartArguments || p.Kind == adapters.PartFinalArguments) && !isCall || p.Kind == adapters.PartFinalText && isCall {
		f.fault(p, "the block is of kind %s", b.Kind)
	}
}

// block finds or opens the block of a part.
func (f *folder) block(p *adapters.Part, kind string) (*Block, *strings.Builder) {
	i, ok := f.index[p.Block]
	if !ok {
		i = len(f.Blocks)
		f.index[p.Block] = i
		f.Blocks = append(f.Blocks, Block{Kind: kind})
		f.texts = append(f.texts, &strings.Builder{})
	}
	b := &f.Blocks[i]
	switch {
	case b.Kind != kind:
		f.fault(p, "the block is of kind %s", b.Kind)
	case b.Ended:
		f.fault(p, "the block has ended")
	default:
		return b, f.texts[i]
	}
	return nil, nil
}

func (f *folder) append(p *adapters.Part, kind string) {
	if b, text := f.block(p, kind); b != nil {
		text.WriteString(p.Text)
	}
}

func (f *folder) toolCall(p *adapters.Part) {
	b, _ := f.block(p, KindToolCall)
	if b == nil {
		return
	}
	fill(&b.ID, p.ID)
	fill(&b.Name, p.Name)
	fill(&b.Namespace, p.Namespace)
}

func (f *folder) providerContent(p *adapters.Part) {
	b, text := f.block(p, KindProviderContent)
	if b == nil {
		return
	}
	b.Name, b.Ended = p.Name, true
	text.Write(p.Data)
	if !json.Valid(p.Data) {
		f.fault(p, "not JSON")
	}
}

func (f *folder) ids(p *adapters.Part) {
	if p.ID != "" {
		f.ResponseID = p.ID
	}
	if p.Name != "" {
		f.ResponseModel = p.Name
	}
}

// stop keeps the first terminal marker.
func (f *folder) stop(p *adapters.Part) {
	isError := p.Stop == llmdv1.StopReason_STOP_REASON_ERROR
	if isError != (p.Err != nil) || p.Stop == llmdv1.StopReason_STOP_REASON_UNSPECIFIED {
		f.fault(p, "reason and error do not go together")
	}
	f.Stop, f.Word, f.Err = p.Stop, p.Name, p.Err
}

func fill(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// notBeginning says how cut is not the beginning of whole; empty if it is.
func notBeginning(cut, whole *Folded) string {
	if len(cut.Blocks) > len(whole.Blocks) {
		return fmt.Sprintf("%d blocks, the whole answer has %d", len(cut.Blocks), len(whole.Blocks))
	}
	for i, c := range cut.Blocks {
		w := whole.Blocks[i]
		// Half a character at the end shows as U+FFFD until the rest comes.
		if c.Kind != w.Kind || !strings.HasPrefix(w.Text, strings.TrimRight(c.Text, "\uFFFD")) {
			return fmt.Sprintf("block %d is %s %q, in the whole answer %s %q", i, c.Kind, c.Text, w.Kind, w.Text)
		}
	}
	return ""
}
