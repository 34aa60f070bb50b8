package anthropic

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/turns"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// fallbackMaxTokens is sent where neither the caller nor the model's description
// names a limit: the API must be given one, and every model takes this one.
const fallbackMaxTokens = 4096

// Features behind a beta header. Each is named only beside what it allows.
// https://docs.anthropic.com/en/api/beta-headers.
const (
	betaInterleaved   = "interleaved-thinking-2025-05-14"
	betaToolStreaming = "fine-grained-tool-streaming-2025-05-14"
	betaFast          = "fast-mode-2026-02-01"
	betaFallback      = "server-side-fallback-2026-07-01"
	betaBinding       = "thinking-binding-controls-2026-08-01"
)

// request is all that is decided about a request before it is written.
type request struct {
	call      *adapters.Call
	effective *llmdv1.EffectiveOptions
	changes   []*llmdv1.HandoffChange

	maxTokens int32
	sampling  sampling
	thinking  thinking
	fast      bool
	fallbacks []string
	betas     []string
	system    string
	schema    string // of the answer; empty = none
	tools     []tool
	choice    choice
	turns     []turns.Turn
	marker    string // a cache marker as JSON; empty = none
}

// Encode implements [adapters.Adapter].
func (*Adapter) Encode(call *adapters.Call) (*adapters.Request, error) {
	r := &request{call: call, effective: call.Options.Effective(call.Generation)}
	if err := r.decide(); err != nil {
		return nil, err
	}
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	return &adapters.Request{
		Path:      r.path(),
		Header:    r.header(),
		Body:      body.Text,
		Large:     body.Large,
		Effective: r.effective,
		Changes:   r.changes,
	}, nil
}

// decide makes all decisions, in the order in which they depend on each other.
func (r *request) decide() error {
	r.limit()
	for _, step := range []func() error{
		r.decideUnsupported,
		r.decideSpeed,
		r.decideFallbacks,
		r.decideCache,
		r.decideTools,
		r.decideThinking,
		r.decideSampling,
		r.decideTurns,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if s := r.call.Context.GetSystemPrompt(); !turns.Blank(s) {
		r.system = s
	}
	return nil
}

// limit chooses max_tokens, which counts thinking and which the API requires.
func (r *request) limit() {
	o := r.call.Options
	switch {
	case o.MaxOutputTokens > 0:
		r.maxTokens = o.MaxOutputTokens
	case r.call.Model.OutputGuessed && o.BudgetTokens > 0:
		// A guess is no reason to think less than the caller wants.
		r.maxTokens = max(o.DefaultMaxOutputTokens, o.BudgetTokens+fallbackMaxTokens)
	case o.DefaultMaxOutputTokens > 0:
		r.maxTokens = o.DefaultMaxOutputTokens
	default:
		r.maxTokens = fallbackMaxTokens
	}
	r.effective.MaxOutputTokens = r.maxTokens
}

// adjust says in plain words what was changed to make the options fit together.
func (r *request) adjust(words string) {
	r.effective.Adjustments = append(r.effective.Adjustments, words)
}

// onVertex: Google Vertex AI names the model in the address.
func (r *request) onVertex() bool { return r.call.Model.Compat.MessagesDialect == "vertex" }

func (r *request) path() string {
	if r.onVertex() {
		return "/models/" + url.PathEscape(r.call.Model.NameOnWire()) + ":streamRawPredict"
	}
	return path
}

// header holds all but credentials. The session's key keeps requests that share a
// cache on one replica, so it goes out only where there is a cache.
func (r *request) header() http.Header {
	h := http.Header{}
	h.Set("content-type", "application/json")
	h.Set("accept", "text/event-stream")
	if !r.onVertex() {
		h.Set("anthropic-version", version)
	}
	if len(r.betas) > 0 {
		h.Set("anthropic-beta", strings.Join(r.betas, ","))
	}
	if key := r.call.Options.SessionKey; key != "" && r.caches() && r.call.Model.Compat.SendSessionAffinityHeaders {
		name := "x-session-affinity"
		if r.call.Model.Compat.SessionAffinityFormat == "openrouter" {
			name = "x-session-id"
		}
		h.Set(name, adapters.HeaderKey(key))
	}
	return h
}

// body writes the request. The order is fixed, and what stays the same from turn
// to turn stands before what grows.
func (r *request) body() (jsonwire.Body, error) {
	var w jsonwire.Writer
	w.Grow(r.call.TextBytes())
	w.BeginObject()
	if r.onVertex() {
		w.Member("anthropic_version", vertexVersion)
	} else {
		w.Member("model", r.call.Model.NameOnWire())
	}
	w.Key("max_tokens")
	w.Int(int64(r.maxTokens))
	w.Key("stream")
	w.Bool(true)
	r.sampling.write(&w)
	r.thinking.write(&w)
	r.writeOutputConfig(&w)
	r.writeExtras(&w)
	r.writeSystem(&w)
	r.writeTools(&w)
	r.writeTurns(&w)
	w.EndObject()
	return r.call.WithProviderOptions(w.Body(), `{"stream":true}`)
}

// writeOutputConfig writes how much thought and which form the answer gets.
// https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs
// https://docs.anthropic.com/en/docs/build-with-claude/effort.
func (r *request) writeOutputConfig(w *jsonwire.Writer) {
	if r.thinking.effort == "" && r.schema == "" {
		return
	}
	w.Key("output_config")
	w.BeginObject()
	w.MemberIf("effort", r.thinking.effort)
	if r.schema != "" {
		w.Key("format")
		w.BeginObject()
		w.Member("type", "json_schema")
		w.Key("schema")
		w.Raw(r.schema)
		w.EndObject()
	}
	w.EndObject()
}

// writeExtras writes who asks, how fast it should go and who may answer instead.
func (r *request) writeExtras(w *jsonwire.Writer) {
	if user := r.call.Generation.GetUser(); user != "" {
		w.Key("metadata")
		w.BeginObject()
		w.Member("user_id", user)
		w.EndObject()
	}
	if r.fast {
		w.Member("speed", "fast")
	}
	if len(r.fallbacks) == 0 {
		return
	}
	w.Key("fallbacks")
	w.BeginArray()
	for _, m := range r.fallbacks {
		w.BeginObject()
		w.Member("model", m)
		w.EndObject()
	}
	w.EndArray()
}

// writeSystem writes the prompt as a list of blocks, as only a block can be marked.
func (r *request) writeSystem(w *jsonwire.Writer) {
	if r.system == "" {
		return
	}
	w.Key("system")
	w.BeginArray()
	w.BeginObject()
	w.Member("type", "text")
	w.Member("text", r.system)
	writeMarker(w, r.marker)
	w.EndObject()
	w.EndArray()
}

// writeMarker asks for everything up to the current block to be cached.
func writeMarker(w *jsonwire.Writer, marker string) {
	if marker != "" {
		w.Key("cache_control")
		w.Raw(marker)
	}
}
