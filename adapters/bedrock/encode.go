package bedrock

import (
	"net/http"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/turns"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// request is all that is decided about a request before it is written.
type request struct {
	call      *adapters.Call
	traits    traits
	effective *llmdv1.EffectiveOptions
	changes   []*llmdv1.HandoffChange

	maxTokens int32 // 0 = not sent
	sampling  sampling
	thinking  thinking
	betas     []string // of Claude
	tier      string
	system    string
	schema    string // of the answer; empty = none
	tools     []tool
	choice    choice
	turns     []turns.Turn
	marker    string // a cachePoint block as JSON; empty = none
}

// Encode implements [adapters.Adapter].
func (*Adapter) Encode(call *adapters.Call) (*adapters.Request, error) {
	r := &request{call: call, traits: traitsOf(call.Model), effective: call.Options.Effective(call.Generation)}
	for _, step := range []func() error{
		r.decideUnsupported,
		r.decideTier,
		r.decideCache,
		r.decideLimit,
		r.decideTools,
		r.decideThinking,
		r.decideSampling,
		r.decideTurns,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if s := call.Context.GetSystemPrompt(); !turns.Blank(s) {
		r.system = s
	}
	body, err := call.WithProviderOptions(r.body(), "{}") // that the answer streams is said by the path
	if err != nil {
		return nil, err
	}
	return &adapters.Request{
		Path:      "/model/" + escape(call.Model.NameOnWire()) + "/converse-stream",
		Header:    http.Header{"Content-Type": {"application/json"}, "Accept": {"application/vnd.amazon.eventstream"}},
		Body:      body.Text,
		Large:     body.Large,
		Effective: r.effective,
		Changes:   r.changes,
	}, nil
}

// escape makes an id one segment of a path, as AWS clients do: an ARN has colons and
// slashes, and both are escaped.
func escape(id string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(id) {
		if c := id[i]; adapters.WordChar(rune(c)) || c == '.' || c == '~' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// adjust says in plain words what was changed to make the options fit together.
func (r *request) adjust(words string) {
	r.effective.Adjustments = append(r.effective.Adjustments, words)
}

// body writes the request. The order is fixed, and what stays the same from turn to
// turn stands before what grows.
func (r *request) body() jsonwire.Body {
	var w jsonwire.Writer
	w.Grow(r.call.TextBytes())
	w.BeginObject()
	r.writeInference(&w)
	r.writeModelFields(&w)
	r.writeOutput(&w)
	if r.tier != "" {
		w.Key("serviceTier")
		w.BeginObject()
		w.Member("type", r.tier)
		w.EndObject()
	}
	if user := r.call.Generation.GetUser(); user != "" {
		w.Key("requestMetadata")
		w.BeginObject()
		w.Member("user_id", user)
		w.EndObject()
	}
	r.writeSystem(&w)
	r.writeTools(&w)
	r.writeTurns(&w)
	w.EndObject()
	return w.Body()
}

// writeInference writes what every model knows.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InferenceConfiguration.html.
func (r *request) writeInference(w *jsonwire.Writer) {
	s := &r.sampling
	if r.maxTokens == 0 && s.temperature == nil && s.topP == nil && len(s.stop) == 0 {
		return
	}
	w.Key("inferenceConfig")
	w.BeginObject()
	if r.maxTokens > 0 {
		w.Key("maxTokens")
		w.Int(int64(r.maxTokens))
	}
	w.FloatIf("temperature", s.temperature)
	w.FloatIf("topP", s.topP)
	w.StringsIf("stopSequences", s.stop)
	w.EndObject()
}

// writeModelFields writes what the model's own API has and Converse has not.
func (r *request) writeModelFields(w *jsonwire.Writer) {
	if r.thinking.mode == thinkingUnsaid && r.sampling.topK == nil && len(r.betas) == 0 {
		return
	}
	w.Key("additionalModelRequestFields")
	w.BeginObject()
	r.thinking.write(w)
	r.sampling.writeTopK(w, r.traits.family)
	w.StringsIf("anthropic_beta", r.betas)
	w.EndObject()
}

// writeOutput asks for an answer in the form of a schema, which goes as text.
// https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html.
func (r *request) writeOutput(w *jsonwire.Writer) {
	if r.schema == "" {
		return
	}
	w.Key("outputConfig")
	w.BeginObject()
	w.Key("textFormat")
	w.BeginObject()
	w.Member("type", "json_schema")
	w.Key("structure")
	w.BeginObject()
	w.Key("jsonSchema")
	w.BeginObject()
	w.Member("schema", r.schema)
	w.EndObject()
	w.EndObject()
	w.EndObject()
	w.EndObject()
}

func (r *request) writeSystem(w *jsonwire.Writer) {
	if r.system == "" {
		return
	}
	w.Key("system")
	w.BeginArray()
	writeText(w, r.system)
	r.writeMarker(w)
	w.EndArray()
}

// writeMarker asks for everything before it to be cached.
func (r *request) writeMarker(w *jsonwire.Writer) {
	if r.marker != "" {
		w.Raw(r.marker)
	}
}

func writeText(w *jsonwire.Writer, text string) {
	w.BeginObject()
	w.Member("text", text)
	w.EndObject()
}
