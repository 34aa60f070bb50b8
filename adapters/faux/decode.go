package faux

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// decoder reads one answer. An event needs nothing of the ones before it; only
// the end does.
type decoder struct {
	provider string
	stopped  bool
}

// NewDecoder implements [adapters.Adapter].
func (*Adapter) NewDecoder(call *adapters.Call) adapters.Decoder {
	return &decoder{provider: call.Model.Provider}
}

// Decode implements [adapters.Decoder].
func (d *decoder) Decode(f frame.Frame, s *adapters.Sink) error {
	var e event
	if err := jsonwire.Unmarshal(f.Data, &e); err != nil {
		return adapters.NewFrameError(f, err)
	}
	if e.Error != nil {
		return e.Error.classify(adapters.ErrorFacts{Provider: d.provider})
	}
	switch e.Type {
	case "start":
		s.IDs(e.ID, e.Model)
		if e.Tier != "" {
			s.ServiceTier(e.Tier)
		}
	case "text":
		s.Text(e.Block, string(e.Text))
	case "thinking":
		s.Thinking(e.Block, string(e.Text))
	case "signature":
		s.Signature(e.Block, FormatThinking, []byte(e.Signature))
	case "redacted":
		s.Redacted(e.Block)
		s.Signature(e.Block, FormatRedacted, []byte(e.Signature))
	case "tool_call":
		s.ToolCall(e.Block, e.ID, e.Name, "")
	case "args":
		s.Arguments(e.Block, string(e.Text))
	case "end":
		s.End(e.Block)
	case "usage":
		s.Usage(e.usage())
	case "stop":
		d.stopped = true
		e.stop(s)
		s.Complete() // usage came before
	}
	return nil
}

// Finish implements [adapters.Decoder].
func (d *decoder) Finish(*adapters.Sink) error {
	if !d.stopped {
		return adapters.ErrTruncated
	}
	return nil
}

func (e *event) usage() *llmdv1.Usage {
	return &llmdv1.Usage{
		InputTokens:     e.Input,
		OutputTokens:    e.Output,
		ReasoningTokens: e.Reasoning,
		TotalTokens:     e.Input + e.Output,
	}
}

func (e *event) stop(s *adapters.Sink) {
	switch e.Reason {
	case "stop":
		s.Stop(llmdv1.StopReason_STOP_REASON_STOP, e.Reason)
	case "length":
		s.Stop(llmdv1.StopReason_STOP_REASON_LENGTH, e.Reason)
	case "tool_use":
		s.Stop(llmdv1.StopReason_STOP_REASON_TOOL_USE, e.Reason)
	case "refusal":
		s.Fail(e.Reason, &adapters.UpstreamError{
			Reason: adapters.ReasonContentFiltered, Type: e.Reason, Message: e.Message,
		})
	default:
		s.Fail(e.Reason, &adapters.UpstreamError{Reason: adapters.ReasonProviderError, Type: e.Reason})
	}
}

// DecodeError implements [adapters.Adapter].
func (*Adapter) DecodeError(status int, header http.Header, body []byte) *adapters.UpstreamError {
	facts := adapters.ErrorFacts{Provider: Provider, Status: status, RequestID: header.Get("X-Request-Id")}
	var answer struct {
		Error *wireError `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Error == nil {
		// Not this provider's own words: a proxy's, perhaps.
		facts.API = API
		return adapters.ErrorFromBody(facts, body)
	}
	return answer.Error.classify(facts)
}

func (e *wireError) classify(facts adapters.ErrorFacts) *adapters.UpstreamError {
	facts.API, facts.Type, facts.Message = API, e.Type, e.Message
	if e.RetryAfterMS > 0 {
		d := time.Duration(e.RetryAfterMS) * time.Millisecond
		facts.RetryDelay = &d
	}
	return adapters.Classify(facts)
}
