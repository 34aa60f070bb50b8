package google

import (
	"net/http"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// The ids of the two wire APIs.
const (
	geminiAPI = "google-generative-ai"
	vertexAPI = "google-vertex"
)

// signatureFormat marks thought signatures: data is the JSON string's value.
const signatureFormat = "google.thought"

// bypassSignature stands in for the signature of a function call that Gemini did
// not make itself. Vertex knows no other word for it.
//
// https://ai.google.dev/gemini-api/docs/thought-signatures#faqs
const bypassSignature = "skip_thought_signature_validator"

// maxCallID is the longest id that is sent for a call of another model's.
const maxCallID = 64

// Adapter implements adapters.Adapter for both APIs.
type Adapter struct{ api string }

var _ adapters.Adapter = (*Adapter)(nil)

// New is the adapter of the Gemini API, "google-generative-ai". The base URL
// ends with the API's version.
func New() *Adapter { return &Adapter{api: geminiAPI} }

// NewVertex is the adapter of Vertex AI, "google-vertex". The base URL ends with
// "/publishers/google".
func NewVertex() *Adapter { return &Adapter{api: vertexAPI} }

// API implements adapters.Adapter.
func (a *Adapter) API() string { return a.api }

// Framing implements adapters.Adapter. Server-sent events are asked for; hosts
// that ignore "alt=sse" answer with a JSON array.
func (a *Adapter) Framing() frame.Kind { return frame.JSON }

// nameRule: "Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain
// underscores, dots and dashes, with a maximum length of 64."
//
// https://github.com/google-gemini/gemini-cli/issues/7878
func nameRule() adapters.NameRule {
	return adapters.NameRule{MaxLen: adapters.MaxToolName, Extra: ".", LetterFirst: true}
}

// Constraints implements adapters.Adapter.
func (a *Adapter) Constraints(m *profile.Model) adapters.Constraints {
	family := parseModel(m.ID)
	c := adapters.Constraints{
		ToolNames:         nameRule(),
		Images:            m.TakesImages(),
		ImageTypes:        imageTypes(),
		ErrorResultImages: true,
		MergeTurns:        true,
		UserFirst:         true,
		Prefill:           family.prefill(),
		ToolErrorFlag:     true,
		SignatureFormats:  []string{signatureFormat},
		Carries:           func(s *llmdv1.Signature) bool { return signatureText(s) != "" },
		UnsignedThinking:  true,
		ProviderContent:   true,
		// https://ai.google.dev/api/caching#Part
		Pairs: []adapters.Pair{
			{Call: "executableCode", Result: "codeExecutionResult", CallID: "id", ResultID: "id"},
			{Call: "toolCall", Result: "toolResponse", CallID: "id", ResultID: "id"},
		},
		// Protocol buffers read no half of a surrogate pair.
		// https://github.com/protocolbuffers/protobuf/blob/main/conformance/binary_json_conformance_suite.cc
		WholeSurrogates: true,
	}
	if family.callIDs() {
		c.ToolCallIDs = adapters.IDRule{MaxLen: maxCallID, WordChars: true}
	}
	if family.signsCalls() {
		c.CallSignature = &llmdv1.Signature{
			Data: []byte(bypassSignature), Format: signatureFormat,
			Api: m.API, Provider: m.Provider, Model: m.ID, Endpoint: m.Endpoint,
		}
	}
	return c
}

// DecodeError implements adapters.Adapter. Google's shape is
// {"error": {code, message, status, details}}, at times inside an array.
//
// https://cloud.google.com/apis/design/errors
func (a *Adapter) DecodeError(status int, _ http.Header, body []byte) *adapters.UpstreamError {
	return adapters.ErrorFromBody(adapters.ErrorFacts{API: a.api, Status: status}, body)
}
