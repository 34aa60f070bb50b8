package google

import (
	"fmt"
	"net/http"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// encoder writes one request.
type encoder struct {
	call      *adapters.Call
	api       string
	model     model
	effective *llmdv1.EffectiveOptions
	w         jsonwire.Writer
	changes   []*llmdv1.HandoffChange
}

// Encode implements adapters.Adapter. What does not change from turn to turn
// stands first, so that Google's implicit cache finds the same beginning.
func (a *Adapter) Encode(call *adapters.Call) (*adapters.Request, error) {
	e := &encoder{call: call, api: a.api, model: parseModel(call.Model.ID), effective: call.Options.Effective(call.Generation)}
	if err := e.refuse(); err != nil {
		return nil, err
	}
	var thinking thinkingConfig
	if err := e.thinking(&thinking); err != nil {
		return nil, err
	}
	e.w.Grow(call.TextBytes())
	e.w.BeginObject()
	e.system()
	for _, write := range []func() error{e.tools, e.contents, func() error { return e.generationConfig(&thinking) }} {
		if err := write(); err != nil {
			return nil, err
		}
	}
	header := http.Header{"Content-Type": {"application/json"}}
	e.serviceTier(header)
	e.w.EndObject()
	body, err := call.WithProviderOptions(e.w.Body(), "{}") // that the answer streams is said by the path
	if err != nil {
		return nil, err
	}
	return &adapters.Request{
		Path: path(call.Model.NameOnWire()), Header: header, Body: body.Text, Large: body.Large,
		Effective: e.effective, Changes: e.changes,
	}, nil
}

// adjust says in plain words what was changed to make the request fit.
func (e *encoder) adjust(words string) {
	e.effective.Adjustments = append(e.effective.Adjustments, words)
}

func (e *encoder) system() {
	prompt := e.call.Context.GetSystemPrompt()
	if blank(prompt) {
		return
	}
	e.w.Key("systemInstruction")
	e.w.BeginObject()
	e.w.Key("parts")
	e.w.BeginArray()
	e.w.BeginObject()
	e.w.Member("text", prompt)
	e.w.EndObject()
	e.w.EndArray()
	e.w.EndObject()
}

// lacks is the error for an explicit option that the model cannot carry.
func (e *encoder) lacks(capability, field, what string) error {
	return &adapters.CapabilityError{
		Capability: capability, Field: field,
		Detail: fmt.Sprintf("model %q %s", e.call.Model.ID, what),
	}
}
