package generation

import (
	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// fit leaves the content out of a message that is too large for an event.
func fit(m *llmdv1.AssistantMessage) (out *llmdv1.AssistantMessage, omitted bool) {
	if len(m.GetContent()) == 0 || proto.Size(m) <= maxEventBytes {
		return m, false
	}
	return withoutContent(m), true
}

// withoutContent shares everything but the content.
func withoutContent(m *llmdv1.AssistantMessage) *llmdv1.AssistantMessage {
	return &llmdv1.AssistantMessage{
		Api: m.GetApi(), Provider: m.GetProvider(), Model: m.GetModel(), ResponseModel: m.GetResponseModel(),
		ResponseId: m.GetResponseId(), ProviderResponseId: m.GetProviderResponseId(), Usage: m.GetUsage(),
		StopReason: m.GetStopReason(), ProviderStopReason: m.GetProviderStopReason(), Error: m.GetError(),
		CreateTime: m.GetCreateTime(), Diagnostics: m.GetDiagnostics(),
	}
}

// omitContent is StreamOptions.omit_final_message: terminal events without
// content. Other events are returned as they are.
func omitContent(e *llmdv1.StreamResponse) *llmdv1.StreamResponse {
	switch t := e.GetEvent().(type) {
	case *llmdv1.StreamResponse_Done:
		return &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Done{Done: &llmdv1.DoneEvent{
			Message: withoutContent(t.Done.GetMessage()), ContentOmitted: true,
		}}}
	case *llmdv1.StreamResponse_Error:
		return &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Error{Error: &llmdv1.ErrorEvent{
			Error: t.Error.GetError(), Message: withoutContent(t.Error.GetMessage()), ContentOmitted: true,
		}}}
	case *llmdv1.StreamResponse_Aborted:
		return &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Aborted{Aborted: &llmdv1.AbortedEvent{
			Cause: t.Aborted.GetCause(), Reason: t.Aborted.GetReason(), UpstreamCloseDelay: t.Aborted.GetUpstreamCloseDelay(),
			Message: withoutContent(t.Aborted.GetMessage()), ContentOmitted: true,
		}}}
	}
	return e
}

func clean(s string) string { return jsonwire.Clean(s) }

// tail is the last n bytes of an ASCII string.
func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func cutPrefix(s string, prefix []byte) (rest string, ok bool) {
	if len(s) < len(prefix) || s[:len(prefix)] != string(prefix) {
		return "", false
	}
	return s[len(prefix):], true
}
