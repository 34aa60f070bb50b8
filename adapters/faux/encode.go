package faux

import (
	"net/http"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// path is where answers are asked for.
const path = "/v1/generate"

// Adapter speaks the API "faux".
type Adapter struct{}

var _ adapters.Adapter = (*Adapter)(nil)

// New returns the adapter.
func New() *Adapter { return &Adapter{} }

// API implements [adapters.Adapter].
func (*Adapter) API() string { return API }

// Framing implements [adapters.Adapter].
func (*Adapter) Framing() frame.Kind { return frame.SSE }

// Constraints implements [adapters.Adapter]. They are those of a strict provider
// with every ability, so that a hand-off to it shows what a hand-off keeps.
func (*Adapter) Constraints(m *profile.Model) adapters.Constraints {
	return adapters.Constraints{
		ToolCallIDs:       adapters.IDRule{MaxLen: 64, WordChars: true},
		Images:            m.TakesImages(),
		ErrorResultImages: true,
		UserFirst:         true,
		ToolErrorFlag:     true,
		SignatureFormats:  []string{FormatThinking, FormatRedacted},
	}
}

// Encode implements [adapters.Adapter]. Every option can be carried.
func (*Adapter) Encode(call *adapters.Call) (*adapters.Request, error) {
	var w jsonwire.Writer
	w.BeginObject()
	w.Member("model", call.Model.ID)
	w.MemberIf("system", call.Context.GetSystemPrompt())
	tools := call.Options.Tools
	if call.Options.ToolName == "" {
		tools = call.Context.GetTools() // in the caller's order: faux models call the first
	}
	writeTools(&w, tools)
	if err := writeMessages(&w, call.Context.GetMessages()); err != nil {
		return nil, err
	}
	writeOptions(&w, call)
	w.EndObject()

	body, err := call.WithProviderOptions(w.Body(), "{}")
	if err != nil {
		return nil, err
	}
	return &adapters.Request{
		Path: path,
		Header: http.Header{
			"Content-Type": {"application/json"},
			"Accept":       {"text/event-stream"},
		},
		Body:      body.Text,
		Large:     body.Large,
		Effective: call.Options.Effective(call.Generation),
	}, nil
}

func writeTools(w *jsonwire.Writer, tools []*llmdv1.Tool) {
	if len(tools) == 0 {
		return
	}
	w.Key("tools")
	w.BeginArray()
	for _, t := range tools {
		w.BeginObject()
		w.Member("name", t.GetName())
		w.MemberIf("description", t.GetDescription())
		if schema := t.GetParametersJsonSchema(); schema != "" {
			w.Key("parameters")
			w.Raw(schema)
		}
		switch t.GetStrict() {
		case llmdv1.StrictMode_STRICT_MODE_PREFER, llmdv1.StrictMode_STRICT_MODE_REQUIRE:
			w.Key("strict")
			w.Bool(true)
		default:
		}
		w.EndObject()
	}
	w.EndArray()
}

// word is an enum value as this API spells it: its name without the prefix, in
// lower case; empty for UNSPECIFIED.
func word(name, prefix string) string {
	if w := strings.ToLower(strings.TrimPrefix(name, prefix)); w != "unspecified" {
		return w
	}
	return ""
}
