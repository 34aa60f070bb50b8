package openairesponses

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// end reads the terminal event, or the document that is the whole answer.
// https://platform.openai.com/docs/api-reference/responses-streaming/response/completed
func (d *decoder) end(e *event, sink *adapters.Sink) error {
	r := e.Response
	if r == nil {
		r = &response{}
	}
	status := r.Status
	switch status {
	case "", "in_progress", "queued":
		// Some hosts forget to change it; then the event says how it ended.
		status = strings.TrimPrefix(e.Type, "response.")
		if status == "done" {
			status = "completed"
		}
	case "completed":
		if e.Type == "response.incomplete" || e.Type == "response.failed" {
			status = strings.TrimPrefix(e.Type, "response.")
		}
	}
	if status == "failed" && !d.began {
		// Nothing of an answer came: that is a failed request.
		return d.failure(r)
	}
	d.done = true
	sink.IDs(r.ID, r.Model)
	if r.ServiceTier != "" {
		sink.ServiceTier(r.ServiceTier)
	}
	if u := r.Usage.message(); u != nil {
		sink.Usage(u)
	}
	if status == "completed" || status == "incomplete" {
		d.settle(r.Output, sink)
	}
	d.tellStop(status, r, sink)
	sink.Complete()
	return nil
}

// settle compares the items that came with those that the answer has in the end.
// What never ended is ended, what never came is taken, and reasoning that came
// without its encrypted content (Azure sends that only now) gets it.
//
// An item is found by its id, else as the n-th of its kind: hosts change ids, and
// leave gaps in the numbers of a stream that this list does not have.
func (d *decoder) settle(output []json.RawMessage, sink *adapters.Sink) {
	seen := map[string]int{}
	for _, raw := range output {
		var it item
		if !adapters.Readable(json.Unmarshal(raw, &it)) || it.Type == "" {
			continue
		}
		n := seen[it.Type]
		seen[it.Type]++
		s := d.byID[it.key()]
		if s == nil || s.kind != it.Type {
			s = nil
			if came := d.byKind[it.Type]; n < len(came) {
				s = came[n]
			}
		}
		switch {
		case s == nil:
			d.finish(d.open(&event{}, it.Type, it.key()), &it, raw, sink)
		case !s.done:
			d.finish(s, &it, raw, sink)
		case it.Type == itemReasoning && !s.readable && it.Encrypted != "":
			s.readable = true
			sink.Signature(s.key, formatReasoning, raw)
		case it.Type == itemMessage && !s.cited:
			d.cite(s, &it, raw, sink)
		}
	}
	for _, s := range d.byKind[itemMessage] {
		if s.whole != "" {
			sink.FinalText(s.key, s.whole)
		}
	}
	for _, s := range slices.Concat(d.byKind[itemCall], d.byKind[itemCustom]) {
		if !s.done && s.name != "" {
			sink.ToolCall(s.key, "", s.name, "")
		}
		if !s.done && !s.streamed && s.held != "" {
			sink.FinalArguments(s.key, s.held)
		}
	}
}

// tellStop translates how the answer ended.
func (d *decoder) tellStop(status string, r *response, sink *adapters.Sink) {
	word := status
	if reason := r.Incomplete.Reason; reason != "" {
		word += "." + reason
	}
	switch status {
	case "completed":
		if d.refused >= 0 {
			sink.Diagnostic(d.refused, "refusal", "the model refused in words of its own; the provider reports a normal end")
		}
		sink.Stop(llmdv1.StopReason_STOP_REASON_STOP, word)
	case "incomplete":
		d.tellIncomplete(word, r.Incomplete.Reason, sink)
	case "failed":
		sink.Fail(word, d.failure(r))
	case "cancelled":
		sink.Fail(word, &adapters.UpstreamError{
			Reason: adapters.ReasonProviderError, Type: status, Message: "the provider cancelled the response",
		})
	default:
		sink.Fail(word, &adapters.UpstreamError{
			Reason: adapters.ReasonProviderError, Type: status, Message: "the provider ended the response for a reason that is not known",
		})
	}
}

func (d *decoder) tellIncomplete(word, reason string, sink *adapters.Sink) {
	switch reason {
	case "max_output_tokens", "max_tokens":
		sink.Stop(llmdv1.StopReason_STOP_REASON_LENGTH, word)
	case "content_filter":
		sink.Fail(word, &adapters.UpstreamError{
			Reason: adapters.ReasonContentFiltered, Type: reason, Message: "the provider's content filter stopped the answer",
		})
	default:
		sink.Fail(word, &adapters.UpstreamError{
			Reason: adapters.ReasonProviderError, Type: reason, Message: "the provider left the response incomplete",
		})
	}
}

// failure is the error of a response that failed.
func (d *decoder) failure(r *response) *adapters.UpstreamError {
	if filled(r.Error) {
		return adapters.ErrorFromBody(d.facts, r.Error)
	}
	facts := d.facts
	facts.Code = r.Incomplete.Reason
	if facts.Code == "content_filter" {
		facts.Message = "the provider's content filter stopped the answer"
		return adapters.Failed(facts, adapters.ReasonContentFiltered)
	}
	facts.Message = "the provider reports a failure without a reason"
	return adapters.Classify(facts)
}
