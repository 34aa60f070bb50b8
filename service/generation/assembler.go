package generation

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Sizes of contract 1.28, in bytes.
const (
	maxEventBytes = 3_500_000 // clients receive 4 MiB by default
	// maxDeltaBytes bounds one delta, merged ones included. The contract allows 256
	// KiB; grpc-go takes a buffer of 1 MiB for any message over 32 KiB, and keeps it
	// as long as the client does not read.
	maxDeltaBytes = 32<<10 - 256
	firstSnapshot = 1 << 10 // the first doubling snapshot
)

// assembler turns parts into events and the message. It is the only place that
// knows the event grammar:
//
//	started, then for each content index start, delta*, end, then one terminal
//	event
//
// It has no clock and no lock; its run guards it. Events are immutable once they
// are in out.
type assembler struct {
	// message holds all but content, usage and the end.
	message *llmdv1.AssistantMessage
	// issuer is what signatures are stamped with: api, provider, model, endpoint.
	issuer *llmdv1.Signature
	// price gives the cost of usage, nil where it is unknown.
	price func(u *llmdv1.Usage, tier string) *llmdv1.Cost
	// hide replaces credentials in a word of the provider's; nil = there are none.
	hide func(string) string
	// errorOf spells an error in the contract's words.
	errorOf func(error) *llmdv1.Error
	// partials and snapshots are the caller's options.
	partials, snapshots bool

	blocks  []*block       // in content order, started ones only
	byKey   map[int]*block // the decoder's numbers
	unnamed []*block       // calls in the order they opened; those that have started or ended count no more
	silent  *block         // another block that was opened last and has not started
	usage   *llmdv1.Usage  // events share it: another replaces it, it is never changed
	tier    string
	stop    *adapters.Part // the provider's terminal marker
	ids     map[string]bool
	// suffixes are the next to try for ids that are missing or taken: a provider may have
	// taken all the others.
	suffixes map[string]int32
	overrun  bool // content came after the terminal marker
	size     int  // content bytes so far
	snapAt   int  // size at which the next snapshot is due

	out []event
}

func (a *assembler) emit(e *llmdv1.StreamResponse) { a.out = append(a.out, event{response: e}) }

func (a *assembler) emitDelta(e event) { a.out = append(a.out, e) }

// take returns the events since the last call. They are valid until the next one is
// emitted.
func (a *assembler) take() []event {
	out := a.out
	a.out = a.out[:0]
	return out
}

// absorb reads ids and usage from the parts of the first frame, so that started
// can carry them.
func (a *assembler) absorb(parts []adapters.Part) {
	for i := range parts {
		p := &parts[i]
		if p.Kind == adapters.PartIDs {
			a.takeIDs(p)
		}
		if p.Kind == adapters.PartUsage {
			a.setUsage(p.Usage)
		}
	}
}

// begin emits started.
func (a *assembler) begin(s *llmdv1.StartedEvent) {
	s.ResponseModel, s.ProviderResponseId = a.message.GetResponseModel(), a.message.GetProviderResponseId()
	s.Usage = a.usage
	a.emit(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Started{Started: s}})
}

// apply takes the parts of one frame. Once the terminal marker has come the content
// is whole: later frames bring usage and signatures. Content behind the marker is
// taken only from a frame that repeats it, as early Gemini models mark every chunk
// (the first ones STOP, the last one why it really stopped:
// https://github.com/BerriAI/litellm/issues/3468); of other content a diagnostic is left.
func (a *assembler) apply(parts []adapters.Part) {
	whole := a.stop != nil && !has(parts, adapters.PartStop)
	for i := range parts {
		if p := &parts[i]; !whole || !addsContent(p) {
			a.applyPart(p)
			continue
		}
		if !a.overrun {
			a.overrun = true
			a.message.Diagnostics = append(a.message.Diagnostics, &llmdv1.Diagnostic{
				Code: "content_after_end", Message: "the provider sent content after its terminal marker; it was left out",
			})
		}
	}
	if a.snapshots && a.size >= max(a.snapAt, firstSnapshot) {
		a.snapAt = 2 * a.size
		a.emit(a.snapshotEvent())
	}
}

// addsContent: the part changes what a block says.
func addsContent(p *adapters.Part) bool {
	switch p.Kind {
	case adapters.PartText, adapters.PartThinking, adapters.PartArguments, adapters.PartFinalText, adapters.PartFinalArguments:
		return p.Text != ""
	case adapters.PartRedacted, adapters.PartToolCall:
		return true
	case adapters.PartSignature, adapters.PartEnd, adapters.PartProviderContent, adapters.PartIDs, adapters.PartUsage,
		adapters.PartServiceTier, adapters.PartStop, adapters.PartComplete, adapters.PartDiagnostic:
	}
	return false
}

func (a *assembler) applyPart(p *adapters.Part) {
	switch p.Kind {
	case adapters.PartText:
		a.addText(a.open(p.Block, textBlock), p.Text)
	case adapters.PartThinking:
		a.addText(a.open(p.Block, thinkingBlock), p.Text)
	case adapters.PartRedacted:
		b := a.open(p.Block, thinkingBlock)
		b.redacted = true
		a.start(b)
	case adapters.PartToolCall:
		a.nameCall(a.open(p.Block, toolCallBlock), p)
	case adapters.PartArguments:
		a.addArguments(a.open(p.Block, toolCallBlock), p.Text)
	case adapters.PartFinalText:
		a.finalText(p.Block, p.Text)
	case adapters.PartFinalArguments:
		a.finalArguments(p.Block, p.Text)
	case adapters.PartSignature:
		a.sign(p)
	case adapters.PartEnd:
		if b := a.byKey[p.Block]; b != nil {
			a.end(b)
		}
	case adapters.PartProviderContent:
		a.addProviderContent(p)
	case adapters.PartIDs:
		a.takeIDs(p)
	case adapters.PartUsage:
		if a.setUsage(p.Usage) {
			a.emit(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_UsageUpdate{UsageUpdate: a.usage}})
		}
	case adapters.PartServiceTier:
		a.tier = p.Name
		a.reprice()
	case adapters.PartStop:
		stop := *p
		a.stop = &stop
	case adapters.PartDiagnostic:
		a.diagnose(p)
	case adapters.PartComplete:
	}
}

func (a *assembler) takeIDs(p *adapters.Part) {
	if p.ID != "" && a.message.ProviderResponseId == "" {
		a.message.ProviderResponseId = a.word(p.ID)
	}
	if p.Name != "" && a.message.ResponseModel == "" {
		a.message.ResponseModel = a.word(p.Name)
	}
}

// setUsage says whether the usage differs from what was known.
func (a *assembler) setUsage(u *llmdv1.Usage) bool {
	u = sane(proto.CloneOf(u))
	billed := u.Cost
	u.Cost = a.price(u, a.tier)
	if billed.GetFromProvider() {
		if u.Cost == nil {
			u.Cost = &llmdv1.Cost{}
		}
		u.Cost.TotalPicoUsd, u.Cost.FromProvider = billed.GetTotalPicoUsd(), true
	}
	if proto.Equal(u, a.usage) {
		return false
	}
	a.usage = u
	return true
}

func (a *assembler) reprice() {
	if a.usage != nil && !a.usage.GetCost().GetFromProvider() {
		a.usage = proto.CloneOf(a.usage)
		a.usage.Cost = a.price(a.usage, a.tier)
	}
}

func (a *assembler) diagnose(p *adapters.Part) {
	d := &llmdv1.Diagnostic{Code: p.Name, Message: a.word(p.Text)}
	if b := a.byKey[p.Block]; p.Block >= 0 && b != nil && b.started {
		d.ContentIndex = new(b.index)
	}
	a.message.Diagnostics = append(a.message.Diagnostics, d)
}

// open returns the block of a decoder's number, new if it is new or if the old one
// has ended.
func (a *assembler) open(key int, kind blockKind) *block {
	if b := a.byKey[key]; b != nil && b.kind == kind && !b.ended {
		return b
	}
	b := &block{kind: kind}
	if kind == toolCallBlock {
		b.scanner = &jsonstream.Scanner{}
	}
	if a.byKey == nil {
		a.byKey = map[int]*block{}
	}
	// An earlier block that is still silent keeps its place before this one.
	if o := a.silent; o != nil && !o.ended {
		a.start(o)
	}
	a.silent = nil
	a.byKey[key] = b
	a.size += smallEventBytes // many empty blocks are an answer of a size, too
	if kind != toolCallBlock {
		a.silent = b
		return b
	}
	// Most calls have their names, so that the list stays short.
	for n := len(a.unnamed) - 1; n >= 0 && !a.unnamed[n].waits(); n-- {
		a.unnamed = a.unnamed[:n]
	}
	a.unnamed = append(a.unnamed, b)
	return b
}

// start emits a block's _start and gives it its place.
func (a *assembler) start(b *block) {
	if b.started {
		return
	}
	b.started, b.index = true, int32(len(a.blocks))
	a.blocks = append(a.blocks, b)
	if b == a.silent {
		a.silent = nil
	}
	switch b.kind {
	case textBlock:
		a.emit(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_TextStart{TextStart: &llmdv1.TextStartEvent{ContentIndex: b.index}}})
	case thinkingBlock:
		a.emit(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_ThinkingStart{ThinkingStart: &llmdv1.ThinkingStartEvent{ContentIndex: b.index, Redacted: b.redacted}}})
	case toolCallBlock:
		b.id = a.uniqueID(b)
		a.emit(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_ToolCallStart{ToolCallStart: &llmdv1.ToolCallStartEvent{
			ContentIndex: b.index, Id: b.id, Name: b.name, ToolNamespace: b.namespace,
		}}})
	case providerBlock:
	}
}

// uniqueID keeps the provider's id unless it is missing or taken in this message:
// results are joined to calls by it.
func (a *assembler) uniqueID(b *block) string {
	if a.ids == nil {
		a.ids = map[string]bool{}
	}
	id, n := b.id, max(b.index, a.suffixes[b.id])
	for ; id == "" || a.ids[id]; n++ {
		if b.id == "" {
			id = fmt.Sprintf("call_%s_%d", tail(a.message.GetResponseId(), 16), n)
		} else {
			id = fmt.Sprintf("%s_%d", b.id, n+1)
		}
	}
	a.ids[id] = true
	if id != b.id {
		if a.suffixes == nil {
			a.suffixes = map[string]int32{}
		}
		a.suffixes[b.id] = n
	}
	return id
}

func (a *assembler) addText(b *block, s string) {
	a.appendText(b, b.joiner.Next(s))
}

func (a *assembler) appendText(b *block, s string) {
	if s == "" {
		return
	}
	a.start(b)
	b.text = append(b.text, s...)
	a.size += len(s)
	for piece := range pieces(s) {
		a.emitDelta(event{kind: b.kind, index: b.index, text: piece})
	}
}

// nameCall fills in what a call did not have yet. It starts once it has a name:
// the start event carries it.
func (a *assembler) nameCall(b *block, p *adapters.Part) {
	if b.started {
		return
	}
	if b.id == "" {
		b.id = a.word(p.ID)
	}
	if b.namespace == "" {
		b.namespace = a.word(p.Namespace)
	}
	if b.name == "" {
		b.name = a.word(p.Name)
	}
	if b.name != "" {
		a.startCall(b)
	}
}

// startCall starts a call and forwards the arguments that came before its name.
func (a *assembler) startCall(b *block) {
	a.start(b)
	if b.scanner.Len() > 0 {
		a.argumentDelta(b, b.scanner.Forwarded())
	}
}

func (a *assembler) addArguments(b *block, s string) {
	a.size += len(s) // also what waits for the call's name
	for piece := range pieces(b.joiner.Next(s)) {
		a.argumentDelta(b, b.scanner.Write([]byte(piece)))
	}
}

func (a *assembler) argumentDelta(b *block, delta string) {
	if delta == "" {
		return
	}
	if !b.started {
		return // the scanner keeps it until the call has a name
	}
	n, closing := b.scanner.Prefix()
	partial := ""
	if a.partials && n < maxEventBytes-2*maxDeltaBytes {
		partial = b.scanner.PartialJSON()
	}
	for piece := range pieces(delta) {
		if delta = delta[len(piece):]; delta != "" {
			// The new prefix belongs to the last piece; the others repeat the one before.
			a.emitDelta(event{kind: b.kind, index: b.index, text: piece, valid: b.valid, closing: b.closing()})
			continue
		}
		b.valid, b.closers = int32(n), closing
		a.emitDelta(event{kind: b.kind, index: b.index, text: piece, valid: b.valid, closing: closing, partial: partial})
	}
}

// finalText: where the provider's last word goes on from the deltas, the rest is
// one more delta; where it contradicts them, the _end event corrects them.
func (a *assembler) finalText(key int, s string) {
	b := a.byKey[key]
	if b == nil || b.ended || b.kind == toolCallBlock {
		return
	}
	a.appendText(b, b.joiner.Flush())
	s = clean(s)
	if rest, ok := cutPrefix(s, b.text); ok {
		a.appendText(b, rest)
		return
	}
	b.final = &s
	a.size += len(s)
	a.start(b)
}

func (a *assembler) finalArguments(key int, s string) {
	b := a.byKey[key]
	if b == nil || b.ended || b.kind != toolCallBlock {
		return
	}
	s = clean(s)
	if delta, ok := b.scanner.Replace([]byte(s)); ok {
		a.size += len(delta)
		a.argumentDelta(b, delta)
		return
	}
	b.final = &s
	a.size += len(s)
}

// sign sets a block's signature: with its end, or by an event of its own when that
// is past.
func (a *assembler) sign(p *adapters.Part) {
	b := a.byKey[p.Block]
	if b == nil || len(p.Data) == 0 {
		return
	}
	if len(p.Data) > maxSignatureBytes {
		a.message.Diagnostics = append(a.message.Diagnostics, &llmdv1.Diagnostic{
			Code: "signature_too_large", Message: "a signature over 1 MiB was left out; the block cannot be replayed with it",
		})
		return
	}
	b.signature = &llmdv1.Signature{
		Data: p.Data, Format: p.Format,
		Api: a.issuer.GetApi(), Provider: a.issuer.GetProvider(), Model: a.issuer.GetModel(), Endpoint: a.issuer.GetEndpoint(),
	}
	a.size += len(p.Data)
	if !b.ended {
		return
	}
	if !b.started { // it had ended empty
		b.ended = false
		a.end(b)
		return
	}
	a.emit(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_SignatureUpdate{SignatureUpdate: &llmdv1.SignatureUpdateEvent{
		ContentIndex: b.index, Signature: b.signature,
	}}})
}

func (a *assembler) addProviderContent(p *adapters.Part) {
	b := a.open(p.Block, providerBlock)
	b.provider = &llmdv1.ProviderContent{
		Api: a.issuer.GetApi(), Provider: a.issuer.GetProvider(), Model: a.issuer.GetModel(), Type: a.word(p.Name), RawJson: p.Data,
	}
	a.start(b)
	b.ended = true
	a.size += len(p.Data)
	e := &llmdv1.ProviderContentEvent{ContentIndex: b.index, Content: b.provider}
	if len(p.Data) > maxEventBytes {
		e.ContentOmitted = true
		e.Content = proto.CloneOf(b.provider)
		e.Content.RawJson = nil
	}
	a.emit(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_ProviderContent{ProviderContent: e}})
}

// end emits a block's _end.
func (a *assembler) end(b *block) {
	if b.ended {
		return
	}
	if b.kind == toolCallBlock {
		a.finishArguments(b)
	} else {
		a.appendText(b, b.joiner.Flush())
	}
	b.ended = true
	if b.saysNothing() {
		return
	}
	a.start(b)
	if b.kind != toolCallBlock {
		b.seal()
	}
	a.emit(endEvent(b))
}

func (a *assembler) finishArguments(b *block) {
	if !b.started {
		a.startCall(b)
	}
	a.argumentDelta(b, b.scanner.Write([]byte(b.joiner.Flush())))
	r := b.scanner.Finish()
	if r.Tail != "" {
		a.argumentDelta(b, r.Tail)
	}
	if b.final != nil {
		r = jsonstream.Repair([]byte(*b.final))
	}
	b.result = &r
}

func endEvent(b *block) *llmdv1.StreamResponse {
	switch b.kind {
	case textBlock:
		e := &llmdv1.TextEndEvent{ContentIndex: b.index, Content: b.textContent(true)}
		if len(e.Content.Text) > maxEventBytes {
			e.Content.Text, e.ContentOmitted = "", true
		}
		return &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_TextEnd{TextEnd: e}}
	case thinkingBlock:
		e := &llmdv1.ThinkingEndEvent{ContentIndex: b.index, Content: b.thinkingContent(true)}
		if len(e.Content.Thinking) > maxEventBytes {
			e.Content.Thinking, e.ContentOmitted = "", true
		}
		return &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_ThinkingEnd{ThinkingEnd: e}}
	default:
		e := &llmdv1.ToolCallEndEvent{ContentIndex: b.index, ToolCall: b.toolCall(true)}
		if len(e.ToolCall.ArgumentsJson) > maxEventBytes {
			e.ToolCall.ArgumentsJson, e.ContentOmitted = "", true
		}
		return &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_ToolCallEnd{ToolCallEnd: e}}
	}
}
