package adapters

import (
	"errors"
	"net/http"

	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Adapter speaks one wire API. Implementations are stateless and safe for
// concurrent use.
type Adapter interface {
	// API is the wire API's id, such as "anthropic-messages".
	API() string
	// Framing is how a streamed answer is cut into frames.
	Framing() frame.Kind
	// Constraints is what a history must satisfy to be sent to this model.
	Constraints(*profile.Model) Constraints
	// Encode writes the request. It fails with a [CapabilityError] for an
	// explicit option that this API or model cannot carry, and with a
	// [FieldError] for input that it cannot read.
	Encode(*Call) (*Request, error)
	// NewDecoder begins the reading of one answer.
	NewDecoder(*Call) Decoder
	// DecodeError reads the body of an answer with an error status. It always
	// returns an error with facts; an unreadable body leaves the status as the
	// only one.
	DecodeError(status int, header http.Header, body []byte) *UpstreamError
}

// Decoder reads one answer. It is not safe for concurrent use.
type Decoder interface {
	// Decode reads one frame and appends what it found. An error frame is
	// returned as an *[UpstreamError]; any other error means that the frame
	// could not be read. The frame's bytes must not be kept, and what is kept of
	// the answer until later is counted by [Sink.Hold].
	Decode(frame.Frame, *Sink) error
	// Finish is called once when no more frames will come or one has failed, and
	// appends what only the end decides. It returns [ErrTruncated] if the API's own terminal marker
	// never came.
	Finish(*Sink) error
}

// ErrTruncated means that an answer ended without its terminal marker.
var ErrTruncated = errors.New("adapters: the answer ended before its terminal marker")

// Call is all that an adapter may know of one request. It is read-only.
type Call struct {
	// Generation is the caller's request; its context is the one before the
	// hand-off, so use Context.
	Generation *llmdv1.Generation
	// Context is the conversation after the hand-off.
	Context *llmdv1.Context
	// Origins says of each of its messages where it comes from; nil = the hand-off
	// left all in their places.
	Origins []Origin
	// Model is the target.
	Model *profile.Model
	// Options is what the options of the request come to for this model.
	Options *Options
}

// Request is one HTTP request, without credentials.
type Request struct {
	// Method is the HTTP method; empty means POST.
	Method string
	// Path is appended to the provider's base URL. It may carry a query.
	Path string
	// Header holds what this API needs beside credentials, content type
	// included.
	Header http.Header
	// Body is the exact text that is sent, but for large images: their base64 is
	// made while it is sent, where Large says.
	Body  []byte
	Large []jsonwire.Hole
	// Effective is what is really asked of the provider. The planner adds the
	// watchdog's times.
	Effective *llmdv1.EffectiveOptions
	// Changes is what had to be changed in the conversation beyond the hand-off.
	Changes []*llmdv1.HandoffChange
}

// Text is the whole text that is sent.
func (r *Request) Text() jsonwire.Body { return jsonwire.Body{Text: r.Body, Large: r.Large} }

// Constraints is what a history must satisfy for one model of one API. The
// hand-off (package transform) makes it so; the zero value asks for nothing.
type Constraints struct {
	// ToolCallIDs is the rule for ids of tool calls.
	ToolCallIDs IDRule
	// ToolNames is the rule for names of tools that are called.
	ToolNames NameRule
	// Images: the model reads images at all.
	Images bool
	// ImageTypes are the media types of images that it reads; nil = any.
	ImageTypes []string
	// ErrorResultImages: images may stand in a result with is_error set.
	ErrorResultImages bool
	// MergeTurns: two user turns, or two assistant turns, must not be adjacent.
	MergeTurns bool
	// UserFirst: the first turn must be a user's.
	UserFirst bool
	// Prefill: the last turn may be an assistant's, to be continued.
	Prefill bool
	// ToolErrorFlag: the API can say that a tool failed. Elsewhere the text of
	// the result says so.
	ToolErrorFlag bool
	// SignatureFormats are the signature formats that this API can carry.
	SignatureFormats []string
	// Carries says whether the API can carry the data of a signature in one of them; nil
	// = any.
	Carries func(*llmdv1.Signature) bool
	// UnsignedThinking: thinking of the same model may go back without a
	// signature.
	UnsignedThinking bool
	// AnswerAfterThinking: thinking must not be the last of an answer.
	// AnswerBesideThinking: nor all of it.
	AnswerAfterThinking, AnswerBesideThinking bool
	// JoinsTexts: the texts of an answer are sent as one, with nothing between them.
	JoinsTexts bool
	// CallSignature, if set, must stand on the first function call of an answer
	// that has no signature of its issuer (Gemini 3 and later).
	CallSignature *llmdv1.Signature
	// WholeSurrogates: arguments of calls must not hold half of an escaped
	// surrogate pair.
	WholeSurrogates bool
	// ProviderContent: the API takes its own untyped blocks back.
	ProviderContent bool
	// Pairs are those of them of which one half is not taken without the other.
	Pairs []Pair
}

// Pair is a call of a tool that runs at the provider, and its results. A "*" at the
// beginning of a kind stands for anything.
type Pair struct {
	// Call and Result are the kinds of the blocks.
	Call, Result string
	// CallID and ResultID are where the id stands that joins them: a member of the block, or
	// of the object within it that is named like its kind. Without ids a result belongs to
	// the call before it.
	CallID, ResultID string
}

// NameRule is a rule for names of tools. The zero value allows any name; otherwise a
// name has at least one character, and those are [a-zA-Z0-9_-] and what Extra holds.
type NameRule struct {
	// MaxLen is the longest allowed name.
	MaxLen int
	// Extra are further characters that are allowed.
	Extra string
	// LetterFirst: a name begins with a letter or an underscore.
	LetterFirst bool
}

// IDRule is a rule for ids of tool calls. The zero value allows any id.
type IDRule struct {
	// MaxLen is the longest allowed id in bytes; 0 = any.
	MaxLen int
	// ExactLen, if set, is the only allowed length.
	ExactLen int
	// WordChars restricts ids to [a-zA-Z0-9_-]; with Alphanumeric, to
	// [a-zA-Z0-9].
	WordChars, Alphanumeric bool
	// Points: with WordChars, "." and ":" are allowed, too.
	Points bool
}
