package generation

import (
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// fit leaves the content out of a message that is too large for an event.
func fit(m *llmdv1.AssistantMessage) (out *llmdv1.AssistantMessage, omitted bool) {
	return Fit(m, maxEventBytes)
}

// Fit leaves the content out of a message of more than so many bytes.
func Fit(m *llmdv1.AssistantMessage, most int) (out *llmdv1.AssistantMessage, omitted bool) {
	if len(m.GetContent()) == 0 || proto.Size(m) <= most {
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

// Bounds of what has none on the wire: no event may grow by it (contract 1.28), and
// signatures have their own (contract 2.4).
const (
	maxWordBytes      = 512
	maxSignatureBytes = 1 << 20
)

// word is an id, a name or a stop word of the provider's: valid, short, and without
// the request's own credentials.
func (a *assembler) word(s string) string {
	if len(s) > maxWordBytes {
		n := maxWordBytes
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	s = clean(s)
	if a.hide != nil {
		s = a.hide(s)
	}
	return s
}

// sane is usage without negative counts, with its total; what does not fit is the
// largest number there is.
func sane(u *llmdv1.Usage) *llmdv1.Usage {
	var total int64
	for _, n := range []*int32{&u.InputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.OutputTokens} {
		*n = max(*n, 0)
		total += int64(*n)
	}
	u.CacheWrite_1HTokens = max(u.CacheWrite_1HTokens, 0)
	if u.ReasoningTokens != nil {
		u.ReasoningTokens = new(max(u.GetReasoningTokens(), 0))
	}
	u.TotalTokens = int32(min(total, math.MaxInt32))
	return u
}

// tail is the last n bytes of an ASCII string.
func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func cutPrefix(s string, prefix []byte) (rest string, ok bool) {
	if len(s) < len(prefix) || s[:len(prefix)] != string(prefix) {
		return "", false
	}
	return s[len(prefix):], true
}
