package adapters

import llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"

// PartKind says what a [Part] holds.
type PartKind uint8

// The kinds of parts. "Opens" means that the first part of a block begins it;
// the assembler gives blocks their content index in the order they open.
const (
	// PartText appends Text to text block Block. Opens.
	PartText PartKind = iota + 1
	// PartThinking appends Text to thinking block Block. Opens, also when Text is
	// empty.
	PartThinking
	// PartRedacted opens thinking block Block as redacted; its signature follows.
	PartRedacted
	// PartToolCall opens tool call Block with ID, Name and Namespace. A repeated
	// one fills in what was empty before.
	PartToolCall
	// PartArguments appends Text to the arguments of tool call Block.
	PartArguments
	// PartFinalText: the whole text of open text or thinking block Block, where
	// the provider sends it anew.
	PartFinalText
	// PartFinalArguments: the whole arguments of tool call Block, where the
	// provider sends them anew.
	PartFinalArguments
	// PartSignature sets the signature of Block to Data with format Format.
	// Before the block's end it is committed with it; afterwards it becomes a
	// signature_update.
	PartSignature
	// PartEnd ends Block: the provider said that it is whole. Blocks that are
	// open at a successful end are ended by the assembler.
	PartEnd
	// PartProviderContent is a whole block of kind Name with JSON text Data.
	PartProviderContent
	// PartIDs: the provider's response id in ID, the model it names in Name;
	// empty ones say nothing.
	PartIDs
	// PartUsage: cumulative usage; the last one wins. Cost is set only if the
	// provider billed it.
	PartUsage
	// PartServiceTier: the tier the provider says it served, for pricing, in
	// Name.
	PartServiceTier
	// PartStop is the provider's terminal marker: Stop is the reason, Name the
	// provider's word. With Stop ERROR, Err says why. The last one wins: some APIs
	// mark every frame.
	PartStop
	// PartComplete: nothing of use follows; the body need not be read on.
	PartComplete
	// PartDiagnostic is a remark: code Name, message Text, about Block if it is
	// not negative.
	PartDiagnostic
)

// Part is one fact found in a frame. Which fields are used depends on Kind.
type Part struct {
	Kind PartKind
	// Block is the decoder's own number of the block; any numbers will do as
	// long as different blocks have different ones.
	Block int
	Stop  llmdv1.StopReason
	// Text may hold WTF-8: halves of surrogate pairs that a provider split over
	// two deltas. The assembler joins them.
	Text      string
	ID, Name  string
	Namespace string
	Format    string
	Data      []byte
	Usage     *llmdv1.Usage
	Err       *UpstreamError
}

// Sink collects parts. The zero value is ready.
type Sink struct {
	// Parts are what was found since the last Reset, in order.
	Parts []Part
	// Held is how many bytes the decoder keeps that no part has told yet. They count
	// towards the size of the answer.
	Held int
}

// HeldValue is about what a value that is kept takes beside its text, in bytes.
const HeldValue = 128

// Hold says that the decoder keeps so many bytes more than before, or fewer where it has
// told or dropped them. A provider that never ends what it begins must not fill the
// memory unseen.
func (s *Sink) Hold(bytes int) { s.Held += bytes }

// Reset forgets the parts and keeps the memory.
func (s *Sink) Reset() {
	clear(s.Parts)
	s.Parts = s.Parts[:0]
}

// add appends a part, to be filled in place: a part is large, and copies of it made the
// stacks of decoders twice as deep.
func (s *Sink) add(kind PartKind, block int) *Part {
	n := len(s.Parts)
	if n < cap(s.Parts) {
		s.Parts = s.Parts[:n+1]
		s.Parts[n] = Part{}
	} else {
		s.Parts = append(s.Parts, Part{})
	}
	p := &s.Parts[n]
	p.Kind, p.Block = kind, block
	return p
}

// Text appends to a text block. Empty text opens the block all the same.
func (s *Sink) Text(block int, text string) {
	s.add(PartText, block).Text = text
}

// Thinking appends to a thinking block. Empty text opens the block all the same.
func (s *Sink) Thinking(block int, text string) {
	s.add(PartThinking, block).Text = text
}

// Redacted opens a redacted thinking block.
func (s *Sink) Redacted(block int) { s.add(PartRedacted, block) }

// ToolCall opens a tool call.
func (s *Sink) ToolCall(block int, id, name, namespace string) {
	p := s.add(PartToolCall, block)
	p.ID, p.Name, p.Namespace = id, name, namespace
}

// Arguments appends to a tool call's arguments.
func (s *Sink) Arguments(block int, fragment string) {
	s.add(PartArguments, block).Text = fragment
}

// FinalText gives the whole text of an open block that the provider sent anew.
func (s *Sink) FinalText(block int, text string) {
	s.add(PartFinalText, block).Text = text
}

// FinalArguments gives the whole arguments that the provider sent anew.
func (s *Sink) FinalArguments(block int, arguments string) {
	s.add(PartFinalArguments, block).Text = arguments
}

// Signature sets a block's signature.
func (s *Sink) Signature(block int, format string, data []byte) {
	p := s.add(PartSignature, block)
	p.Format, p.Data = format, data
}

// End ends a block.
func (s *Sink) End(block int) { s.add(PartEnd, block) }

// ProviderContent is a whole block that has no type of its own. raw must not
// alias the frame.
func (s *Sink) ProviderContent(block int, kind string, raw []byte) {
	p := s.add(PartProviderContent, block)
	p.Name, p.Data = kind, raw
}

// IDs tells the provider's response id and the model it names.
func (s *Sink) IDs(responseID, model string) {
	p := s.add(PartIDs, 0)
	p.ID, p.Name = responseID, model
}

// Usage tells cumulative usage.
func (s *Sink) Usage(u *llmdv1.Usage) {
	s.add(PartUsage, 0).Usage = u
}

// ServiceTier tells the tier served.
func (s *Sink) ServiceTier(tier string) {
	s.add(PartServiceTier, 0).Name = tier
}

// Stop is the terminal marker of an answer that did not fail.
func (s *Sink) Stop(reason llmdv1.StopReason, word string) {
	p := s.add(PartStop, 0)
	p.Stop, p.Name = reason, word
}

// Fail is the terminal marker of an answer that failed.
func (s *Sink) Fail(word string, err *UpstreamError) {
	p := s.add(PartStop, 0)
	p.Stop, p.Name, p.Err = llmdv1.StopReason_STOP_REASON_ERROR, word, err
}

// Complete says that nothing of use follows.
func (s *Sink) Complete() { s.add(PartComplete, 0) }

// Stray remarks once, as told says, that a piece came which belongs to no block that is
// open: it is not in the answer.
func (s *Sink) Stray(told *bool) {
	if !*told {
		*told = true
		s.Diagnostic(-1, "stray_delta", "the provider sent a piece that belongs to no block; it is not in the answer")
	}
}

// Late remarks once, as told says, that content came behind the terminal marker, where none
// belongs.
func (s *Sink) Late(told *bool) {
	if !*told {
		*told = true
		s.Diagnostic(-1, "content_after_end", "the provider sent content after its terminal marker; it was left out")
	}
}

// Diagnostic is a remark, about a block unless block is negative.
func (s *Sink) Diagnostic(block int, code, message string) {
	p := s.add(PartDiagnostic, block)
	p.Name, p.Text = code, message
}
