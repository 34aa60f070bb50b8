package openairesponses

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
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
	facts := adapters.ErrorFacts{API: a.api, Status: status}
	for _, name := range []string{"X-Request-Id", "Apim-Request-Id", "Request-Id", "X-Generation-Id"} {
		if facts.RequestID = header.Get(name); facts.RequestID != "" {
			break
		}
	}
	return adapters.ErrorFromBody(facts, body)
}

// decoder reads one answer.
type decoder struct {
	facts adapters.ErrorFacts // what is known of any error
	items
	began bool // a frame came that is no error
	done  bool // the terminal marker came
}

// Decode implements [adapters.Decoder].
func (d *decoder) Decode(f frame.Frame, sink *adapters.Sink) error {
	// "[DONE]" is no event of this API, and after the terminal event nothing
	// belongs to the answer.
	if d.done || !bytes.HasPrefix(bytes.TrimLeft(f.Data, " \t\r\n"), []byte("{")) {
		return nil
	}
	var e event
	if err := read(f, &e); err != nil {
		if f.Event != "" && f.Event != "error" && !strings.HasPrefix(f.Event, "response.") {
			return nil // a host's own event
		}
		return err
	}
	if e.Type == "" && e.Object != "response" {
		e.Type = f.Event
	}
	if e.Type == "error" || f.Event == "error" || e.Type == "" && e.Object != "response" && filled(e.Error) {
		return adapters.ErrorFromBody(d.facts, f.Data)
	}
	if e.Type == "" && e.Object == "response" {
		// A host that does not stream.
		e.Response = &response{}
		if err := read(f, e.Response); err != nil {
			return err
		}
		return d.end(&e, sink)
	}
	return d.event(&e, sink)
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
	case "response.output_text.delta":
		d.text(e, e.Delta, sink)
	case "response.output_text.done":
		d.wholeText(e, e.Text, sink)
	case "response.refusal.delta":
		d.refusal(e)
		d.text(e, e.Delta, sink)
	case "response.refusal.done":
		d.refusal(e)
		d.wholeText(e, e.Refusal, sink)
	case "response.reasoning_summary_text.delta":
		d.think(e, piece{fromSummary, e.SummaryIndex}, e.Delta, sink)
	case "response.reasoning_summary_text.done":
		d.wholeThought(e, piece{fromSummary, e.SummaryIndex}, e.Text, sink)
	case "response.reasoning_text.delta":
		d.think(e, piece{fromContent, e.ContentIndex}, e.Delta, sink)
	case "response.reasoning_text.done":
		d.wholeThought(e, piece{fromContent, e.ContentIndex}, e.Text, sink)
	case "response.function_call_arguments.delta":
		d.arguments(e, sink)
	case "response.function_call_arguments.done":
		d.wholeArguments(e, sink)
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

// read parses a frame. Some hosts forget to escape what stands in strings; that
// is mended, but a frame that was cut is not.
func read(f frame.Frame, v any) error {
	err := tolerate(jsonwire.Unmarshal(f.Data, v))
	if err != nil && !f.Unterminated {
		if r := jsonstream.Repair(f.Data); r.Error == "" {
			err = tolerate(json.Unmarshal([]byte(r.JSON), v))
		}
	}
	if err != nil {
		return &FrameError{Index: f.Index, Offset: f.Offset, Err: err}
	}
	return nil
}

// tolerate lets members of a wrong type go: the others were read.
func tolerate(err error) error {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return nil
	}
	return err
}

// FrameError means that a frame could not be read. Its text does not quote it.
type FrameError struct {
	// Index is the frame's number, Offset its place in the body.
	Index  int
	Offset int64
	// Err is the cause. Its text may quote a byte of the frame.
	Err error
}

func (e *FrameError) Error() string {
	return fmt.Sprintf("openairesponses: frame %d at byte %d is not JSON", e.Index, e.Offset)
}

// Unwrap gives the cause.
func (e *FrameError) Unwrap() error { return e.Err }
