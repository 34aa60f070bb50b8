package openairesponses

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
)

// NewDecoder implements [adapters.Adapter].
func (a *Adapter) NewDecoder(call *adapters.Call) adapters.Decoder {
	d := &decoder{facts: adapters.ErrorFacts{API: a.api}, items: newItems()}
	if call != nil && call.Model != nil {
		d.facts.Provider = call.Model.Provider
	}
	return d
}

// DecodeError implements [adapters.Adapter].
// https://platform.openai.com/docs/guides/error-codes
func (a *Adapter) DecodeError(status int, header http.Header, body []byte) *adapters.UpstreamError {
	id := adapters.RequestID(header, "X-Request-Id", "Apim-Request-Id", "Request-Id", "X-Generation-Id")
	return adapters.ErrorFromBody(adapters.ErrorFacts{API: a.api, Status: status, RequestID: id}, body)
}

// decoder reads one answer.
type decoder struct {
	facts adapters.ErrorFacts // what is known of any error
	items
	began bool // a frame came that is no error
	done  bool // the terminal marker came
	held  int  // of what is kept, as it was last counted
	usual usual
}

// Decode implements [adapters.Decoder].
func (d *decoder) Decode(f frame.Frame, sink *adapters.Sink) error {
	err := d.decode(f, sink)
	sink.Hold(d.kept - d.held)
	d.held = d.kept
	return err
}

func (d *decoder) decode(f frame.Frame, sink *adapters.Sink) error {
	// "[DONE]" is no event of this API, and after the terminal event nothing
	// belongs to the answer.
	if d.done || !bytes.HasPrefix(bytes.TrimLeft(f.Data, " \t\r\n"), []byte("{")) {
		return nil
	}
	e := d.usual.read(f.Data)
	if e == nil {
		e = &event{}
		if err := adapters.ReadFrame(f, e); err != nil {
			if f.Event != "" && f.Event != "error" && !strings.HasPrefix(f.Event, "response.") {
				return nil // a host's own event
			}
			return err
		}
	}
	if e.Type == "" && e.Object != "response" {
		e.Type = f.Event
	}
	if e.saysError(f) {
		return adapters.ErrorFromBody(d.facts, f.Data)
	}
	if e.Type == "" && e.Object == "response" {
		// A host that does not stream.
		e.Response = &response{}
		if err := adapters.ReadFrame(f, e.Response); err != nil {
			return err
		}
		return d.end(e, sink)
	}
	return d.event(e, sink)
}

// saysError finds an error in the shapes of the hosts: an event of that type or name, and
// a document that is no event and no response.
func (e *event) saysError(f frame.Frame) bool {
	switch {
	case e.Type == "error", e.Type == "response.error", f.Event == "error", e.Object == "error":
		return true
	case strings.HasPrefix(e.Type, "response."), e.Object == "response", e.Response != nil:
		return false
	}
	unnamed := f.Event == "" && (e.Type == "" || strings.HasSuffix(strings.ToLower(e.Type), "error"))
	return filled(e.Error) || unnamed && adapters.SaysError(f.Data)
}

// event dispatches. Events of other types repeat what these say, or tell of the
// progress of items that are kept as a whole.
func (d *decoder) event(e *event, sink *adapters.Sink) error {
	switch e.Type {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		return d.end(e, sink)
	case "response.created", "response.in_progress", "response.queued":
		if e.Response != nil {
			sink.IDs(e.Response.ID, e.Response.Model)
		}
	case "response.output_item.added":
		d.add(e, sink)
	case "response.output_item.done":
		d.endItem(e, sink)
	case textDelta:
		d.text(e, e.Delta, sink)
	case "response.output_text.done":
		d.wholeText(e, e.Text, sink)
	case "response.refusal.delta":
		d.refusal(e)
		d.text(e, e.Delta, sink)
	case "response.refusal.done":
		d.refusal(e)
		d.wholeText(e, e.Refusal, sink)
	case "response.output_text.annotation.added":
		d.annotate(e)
	case "response.content_part.done":
		if e.Part != nil {
			d.wholePart(e, sink)
		}
	case "response.reasoning_summary_part.done":
		if e.Part != nil {
			d.wholeThought(e, piece{fromSummary, e.SummaryIndex}, e.Part.Text, sink)
		}
	case summaryDelta:
		d.think(e, piece{fromSummary, e.SummaryIndex}, e.Delta, sink)
	case "response.reasoning_summary_text.done":
		d.wholeThought(e, piece{fromSummary, e.SummaryIndex}, e.Text, sink)
	case thoughtDelta:
		d.think(e, piece{fromContent, e.ContentIndex}, e.Delta, sink)
	case "response.reasoning_text.done":
		d.wholeThought(e, piece{fromContent, e.ContentIndex}, e.Text, sink)
	case argumentsDelta:
		d.arguments(e, sink)
	case "response.function_call_arguments.done":
		d.wholeArguments(e, sink)
	case "response.custom_tool_call_input.delta":
		d.input(e, sink)
	case "response.custom_tool_call_input.done":
		d.wholeInput(e, sink)
	}
	d.began = true
	return nil
}

// Finish implements [adapters.Decoder].
func (d *decoder) Finish(*adapters.Sink) error {
	if !d.done {
		return adapters.ErrTruncated
	}
	return nil
}
