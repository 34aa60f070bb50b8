package openaichat

import (
	"net/http"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// The API's id and the formats of its signatures (contract 2.15).
const (
	apiID         = "openai-completions"
	formatField   = "chat.reasoning_field"
	formatDetails = "chat.reasoning_details"
	formatBlocks  = "chat.thinking_blocks"
	formatOpaque  = "chat.reasoning_opaque"
	formatExtra   = "chat.extra_content"
	formatThought = "chat.thought_signature"
	formatCallID  = "chat.tool_call_id"
)

// maxToolCallID is the longest id of a tool call that OpenAI itself takes.
const maxToolCallID = 40

// Adapter implements adapters.Adapter.
type Adapter struct{}

var _ adapters.Adapter = (*Adapter)(nil)

// New returns the adapter.
func New() *Adapter { return &Adapter{} }

// API implements adapters.Adapter.
func (*Adapter) API() string { return apiID }

// Framing implements adapters.Adapter.
func (*Adapter) Framing() frame.Kind { return frame.SSE }

// Constraints implements adapters.Adapter.
func (*Adapter) Constraints(m *profile.Model) adapters.Constraints {
	c := adapters.Constraints{
		// "string does not match pattern '^[a-zA-Z0-9_-]+$'"; most hosts have it from OpenAI.
		ToolNames: adapters.NameRule{MaxLen: adapters.MaxToolName, LetterFirst: m.Compat.SchemaDialect == "moonshot"},
		Images:    m.TakesImages(),
		// https://platform.openai.com/docs/guides/images-vision
		ImageTypes: []string{"image/jpeg", "image/png", "image/gif", "image/webp"},
		// Images leave their result for a user message, so an error does not matter.
		ErrorResultImages: true,
		MergeTurns:        m.Compat.RequiresAlternatingTurns,
		UserFirst:         m.Compat.RequiresAlternatingTurns,
		Prefill:           !m.Compat.RequiresAlternatingTurns,
		SignatureFormats:  []string{formatField, formatDetails, formatBlocks, formatOpaque, formatExtra, formatThought, formatCallID},
		UnsignedThinking:  m.Compat.RequiresThinkingAsText,
		// A message needs content or calls; thinking stands beside them.
		AnswerBesideThinking: !m.Compat.RequiresThinkingAsText,
		JoinsTexts:           true,
	}
	if m.Compat.SupportsDeveloperRole {
		// The developer role is OpenAI's own, and so is the limit on ids. Other
		// hosts forward to models of any maker and want ids as they gave them.
		c.ToolCallIDs = adapters.IDRule{MaxLen: maxToolCallID, WordChars: true}
		// Its models begin a new answer behind one that is to go on.
		c.Prefill = false
	}
	return c
}

// Encode implements adapters.Adapter.
func (*Adapter) Encode(call *adapters.Call) (*adapters.Request, error) {
	e := &encoder{
		call:   call,
		compat: &call.Model.Compat,
		opts:   *call.Options,
		config: call.Generation.GetConfig(),
		effect: call.Options.Effective(call.Generation),

		idTails: map[string]string{},
	}
	body, err := e.body()
	if err != nil {
		return nil, err
	}
	return &adapters.Request{Path: "/chat/completions", Header: e.header(), Body: body.Text, Large: body.Large, Effective: e.effect, Changes: e.changes}, nil
}

// DecodeError implements adapters.Adapter.
func (*Adapter) DecodeError(status int, header http.Header, body []byte) *adapters.UpstreamError {
	id := adapters.RequestID(header, "X-Request-Id", "Request-Id", "Apim-Request-Id", "X-Generation-Id", "Cf-Ray")
	return adapters.ErrorFromBody(adapters.ErrorFacts{API: apiID, Status: status, RequestID: id}, body)
}

// encoder writes one request.
type encoder struct {
	call   *adapters.Call
	compat *profile.Compat
	opts   adapters.Options // a copy: thinking may have to be turned off
	config *llmdv1.GenerationConfig
	effect *llmdv1.EffectiveOptions
	// changes are reported for the caller's places.
	changes []*llmdv1.HandoffChange
	// idTails are the ends of ids of calls that an id may not hold, by the id.
	idTails map[string]string
	w       jsonwire.Writer
}

// body writes what is stable over a conversation first and the messages last, so
// that a provider's prompt cache finds the same prefix again.
func (e *encoder) body() (jsonwire.Body, error) {
	w := &e.w
	w.Grow(e.call.TextBytes())
	w.BeginObject()
	w.Member("model", e.call.Model.NameOnWire())
	w.Key("stream")
	w.Bool(true)
	if e.compat.SupportsUsageInStreaming {
		w.Key("stream_options")
		w.Raw(`{"include_usage":true}`)
	}
	if e.compat.SupportsStore {
		w.Key("store")
		w.Bool(false)
	}
	for _, write := range []func() error{e.sampling, e.thinking, e.hostOptions, e.caching, e.responseFormat, e.tools, e.messages} {
		if err := write(); err != nil {
			return jsonwire.Body{}, err
		}
	}
	w.EndObject()
	return e.call.WithProviderOptions(w.Body(), `{"stream":true}`)
}

// header names the body, and the session where the host routes by it.
func (e *encoder) header() http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	key := adapters.HeaderKey(e.opts.CacheKey(adapters.MaxCacheKey))
	if !e.compat.SendSessionAffinityHeaders || key == "" {
		return h
	}
	switch e.compat.SessionAffinityFormat {
	case "openrouter":
		h.Set("X-Session-Id", key)
	case "openai-nosession":
		h.Set("X-Client-Request-Id", key)
		h.Set("X-Session-Affinity", key)
	default:
		h.Set("Session_id", key)
		h.Set("X-Client-Request-Id", key)
		h.Set("X-Session-Affinity", key)
	}
	return h
}

// adjust tells the caller that something is not quite as asked.
func (e *encoder) adjust(what string) { e.effect.Adjustments = append(e.effect.Adjustments, what) }
