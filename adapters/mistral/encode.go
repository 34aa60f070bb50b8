package mistral

import (
	"net/http"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// The API's id and the format of its signatures (contract 2.15).
const (
	apiID          = "mistral-conversations"
	formatThinking = "mistral.thinking"
)

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
	return adapters.Constraints{
		// "Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9."
		ToolCallIDs: adapters.IDRule{ExactLen: 9, Alphanumeric: true},
		ToolNames:   adapters.NameRule{MaxLen: adapters.MaxToolName},
		Images:      m.TakesImages(),
		// https://docs.mistral.ai/capabilities/vision/
		ImageTypes:        []string{"image/jpeg", "image/png", "image/gif", "image/webp"},
		ErrorResultImages: true,
		// A conversation of one message must be the user's.
		UserFirst:        true,
		Prefill:          true,
		SignatureFormats: []string{formatThinking},
		Carries:          func(s *llmdv1.Signature) bool { return jsonstream.Object(s.GetData()) == nil },
		UnsignedThinking: true,
		ProviderContent:  true,
	}
}

// Encode implements adapters.Adapter.
func (*Adapter) Encode(call *adapters.Call) (*adapters.Request, error) {
	e := &encoder{
		call:   call,
		opts:   call.Options,
		config: call.Generation.GetConfig(),
		effect: call.Options.Effective(call.Generation),
	}
	body, err := e.body()
	if err != nil {
		return nil, err
	}
	return &adapters.Request{
		Path: "/chat/completions", Header: e.header(), Body: body.Text, Large: body.Large,
		Effective: e.effect, Changes: e.changes,
	}, nil
}

// DecodeError implements adapters.Adapter.
func (*Adapter) DecodeError(status int, header http.Header, body []byte) *adapters.UpstreamError {
	id := adapters.RequestID(header, "Mistral-Correlation-Id", "X-Kong-Request-Id", "X-Request-Id")
	return adapters.ErrorFromBody(adapters.ErrorFacts{API: apiID, Status: status, RequestID: id}, body)
}

// encoder writes one request.
type encoder struct {
	call    *adapters.Call
	opts    *adapters.Options
	config  *llmdv1.GenerationConfig
	effect  *llmdv1.EffectiveOptions
	changes []*llmdv1.HandoffChange
	w       jsonwire.Writer
}

// body writes what is stable over a conversation first and the messages last, so
// that the prompt cache finds the same prefix again.
func (e *encoder) body() (jsonwire.Body, error) {
	w := &e.w
	w.Grow(e.call.TextBytes())
	w.BeginObject()
	w.Member("model", e.call.Model.NameOnWire())
	w.Key("stream")
	w.Bool(true)
	for _, write := range []func() error{e.refuse, e.sampling, e.thinking, e.serviceTier, e.caching, e.responseFormat, e.tools, e.messages} {
		if err := write(); err != nil {
			return jsonwire.Body{}, err
		}
	}
	w.EndObject()
	return e.call.WithProviderOptions(w.Body(), `{"stream":true}`)
}

// header names the body, and the session, which Mistral routes to where the
// beginning of its prompt is cached.
func (e *encoder) header() http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	if key := adapters.HeaderKey(e.opts.CacheKey(adapters.MaxCacheKey)); key != "" {
		h.Set("X-Affinity", key)
	}
	return h
}

// adjust tells the caller that something is not quite as asked.
func (e *encoder) adjust(what string) { e.effect.Adjustments = append(e.effect.Adjustments, what) }
