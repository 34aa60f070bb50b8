package openairesponses

import (
	"net/http"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// maxID is the longest id that OpenAI takes for anything.
const maxID = 64

// Adapter implements [adapters.Adapter], for OpenAI or for Azure.
type Adapter struct{ api string }

var _ adapters.Adapter = (*Adapter)(nil)

// New returns the adapter for "openai-responses".
func New() *Adapter { return &Adapter{api: apiOpenAI} }

// NewAzure returns the adapter for "azure-openai-responses". Azure's v1 API has
// OpenAI's path and body; it knows models by the names of their deployments.
// https://learn.microsoft.com/azure/ai-foundry/openai/how-to/responses
func NewAzure() *Adapter { return &Adapter{api: apiAzure} }

// API implements [adapters.Adapter].
func (a *Adapter) API() string { return a.api }

// Framing implements [adapters.Adapter].
func (*Adapter) Framing() frame.Kind { return frame.SSE }

// Constraints implements [adapters.Adapter]. Turns are no concept of this API: they
// may be adjacent and in any order, but the last one cannot be continued.
func (*Adapter) Constraints(m *profile.Model) adapters.Constraints {
	return adapters.Constraints{
		ToolCallIDs: adapters.IDRule{MaxLen: maxID, WordChars: true},
		ToolNames:   adapters.NameRule{MaxLen: adapters.MaxToolName},
		Images:      m.TakesImages(),
		// https://platform.openai.com/docs/guides/images-vision
		ImageTypes:        []string{"image/jpeg", "image/png", "image/gif", "image/webp"},
		ErrorResultImages: true,
		SignatureFormats:  []string{formatReasoning, formatMessage, formatItemID},
		ProviderContent:   true,
		// "reasoning was provided without its required following item".
		AnswerAfterThinking: true,
	}
}

// Encode implements [adapters.Adapter].
func (a *Adapter) Encode(call *adapters.Call) (*adapters.Request, error) {
	e := &encoder{
		call:   call,
		azure:  a.api == apiAzure,
		compat: &call.Model.Compat,
		opts:   call.Options,
		config: call.Generation.GetConfig(),
		effect: call.Options.Effective(call.Generation),
		ids:    idSet{}, customs: idSet{},
	}
	body, err := e.body()
	if err != nil {
		return nil, err
	}
	return &adapters.Request{
		Path: "/responses", Header: e.header(), Body: body.Text, Large: body.Large, Effective: e.effect, Changes: e.changes,
	}, nil
}

// encoder writes one request.
type encoder struct {
	call    *adapters.Call
	azure   bool
	compat  *profile.Compat
	opts    *adapters.Options
	config  *llmdv1.GenerationConfig
	effect  *llmdv1.EffectiveOptions
	changes []*llmdv1.HandoffChange
	ids     idSet // of items that were written
	customs idSet // of calls of custom tools
	w       jsonwire.Writer
}

// body writes what is stable over a conversation first and the items last, so that
// a provider's prompt cache finds the same prefix again.
// https://platform.openai.com/docs/api-reference/responses/create
func (e *encoder) body() (jsonwire.Body, error) {
	w := &e.w
	w.Grow(e.call.TextBytes())
	w.BeginObject()
	w.Member("model", e.call.Model.NameOnWire())
	w.Key("stream")
	w.Bool(true)
	w.Key("store")
	w.Bool(false)
	for _, write := range []func() error{e.sampling, e.reasoning, e.text, e.serviceTier, e.caching, e.tools, e.input} {
		if err := write(); err != nil {
			return jsonwire.Body{}, err
		}
	}
	w.EndObject()
	return e.call.WithProviderOptions(w.Body(), `{"stream":true}`)
}

// header names the body, and the session: hosts keep one on the same machine, where
// its prompt is cached.
func (e *encoder) header() http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	key := adapters.HeaderKey(e.opts.CacheKey(adapters.MaxCacheKey))
	if e.azure || key == "" {
		return h
	}
	switch e.compat.SessionAffinityFormat {
	case "openrouter":
		h.Set("X-Session-Id", key)
	case "openai-nosession":
		h.Set("X-Client-Request-Id", key)
	default:
		h.Set("Session-Id", key)
		h.Set("X-Client-Request-Id", key)
	}
	return h
}
