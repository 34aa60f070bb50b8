package adaptertest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Line is a part as one readable line.
func Line(p *adapters.Part) string {
	switch p.Kind {
	case adapters.PartText:
		return fmt.Sprintf("text %d %q", p.Block, p.Text)
	case adapters.PartThinking:
		return fmt.Sprintf("thinking %d %q", p.Block, p.Text)
	case adapters.PartRedacted:
		return fmt.Sprintf("redacted %d", p.Block)
	case adapters.PartToolCall:
		line := fmt.Sprintf("tool_call %d id=%q name=%q", p.Block, p.ID, p.Name)
		if p.Namespace != "" {
			line += fmt.Sprintf(" namespace=%q", p.Namespace)
		}
		return line
	case adapters.PartArguments:
		return fmt.Sprintf("args %d %q", p.Block, p.Text)
	case adapters.PartFinalText:
		return fmt.Sprintf("final_text %d %q", p.Block, p.Text)
	case adapters.PartFinalArguments:
		return fmt.Sprintf("final_args %d %q", p.Block, p.Text)
	case adapters.PartSignature:
		return fmt.Sprintf("signature %d %s %q", p.Block, p.Format, p.Data)
	case adapters.PartEnd:
		return fmt.Sprintf("end %d", p.Block)
	case adapters.PartProviderContent:
		return fmt.Sprintf("provider_content %d %s %q", p.Block, p.Name, p.Data)
	case adapters.PartIDs:
		return fmt.Sprintf("ids response=%q model=%q", p.ID, p.Name)
	case adapters.PartUsage:
		return "usage" + usageText(p.Usage)
	case adapters.PartServiceTier:
		return fmt.Sprintf("tier %q", p.Name)
	case adapters.PartStop:
		line := fmt.Sprintf("stop %s %q", stopText(p.Stop), p.Name)
		if p.Err != nil {
			line += " " + upstreamText(p.Err)
		}
		return line
	case adapters.PartComplete:
		return "complete"
	case adapters.PartDiagnostic:
		return fmt.Sprintf("diagnostic %d %s %q", p.Block, p.Name, p.Text)
	}
	return fmt.Sprintf("unknown kind %d", p.Kind)
}

// Lines is a decoder's whole result: each part a line, then the error if there is
// one.
func Lines(parts []adapters.Part, err error) string {
	var b strings.Builder
	for i := range parts {
		b.WriteString(Line(&parts[i]))
		b.WriteByte('\n')
	}
	if err != nil {
		b.WriteString("error " + errorText(err) + "\n")
	}
	return b.String()
}

// errorText names what kind of error it is. The text of errors without facts is
// free to change.
func errorText(err error) string {
	var upstream *adapters.UpstreamError
	switch {
	case errors.As(err, &upstream):
		return upstreamText(upstream)
	case errors.Is(err, adapters.ErrTruncated), errors.As(err, new(*frame.TruncatedError)):
		return "truncated"
	}
	return "protocol"
}

func upstreamText(e *adapters.UpstreamError) string {
	var b strings.Builder
	b.WriteString(e.Reason)
	if e.Status != 0 {
		fmt.Fprintf(&b, " status=%d", e.Status)
	}
	if e.Type != "" {
		fmt.Fprintf(&b, " type=%q", e.Type)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, " message=%q", e.Message)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " request_id=%q", e.RequestID)
	}
	if e.RetryDelay != nil {
		fmt.Fprintf(&b, " retry_delay=%s", *e.RetryDelay)
	}
	if e.LimitTokens != 0 || e.RequestedTokens != 0 {
		fmt.Fprintf(&b, " limit_tokens=%d requested_tokens=%d", e.LimitTokens, e.RequestedTokens)
	}
	return b.String()
}

func stopText(r llmdv1.StopReason) string {
	return strings.TrimPrefix(r.String(), "STOP_REASON_")
}

// usageText shows the total always, and the rest where it is not zero.
func usageText(u *llmdv1.Usage) string {
	var b strings.Builder
	for _, c := range []struct {
		name string
		n    int32
	}{
		{"input", u.GetInputTokens()},
		{"cache_read", u.GetCacheReadTokens()},
		{"cache_write", u.GetCacheWriteTokens()},
		{"cache_write_1h", u.GetCacheWrite_1HTokens()},
		{"output", u.GetOutputTokens()},
	} {
		if c.n != 0 {
			fmt.Fprintf(&b, " %s=%d", c.name, c.n)
		}
	}
	if u != nil && u.ReasoningTokens != nil {
		fmt.Fprintf(&b, " reasoning=%d", u.GetReasoningTokens())
	}
	fmt.Fprintf(&b, " total=%d", u.GetTotalTokens())
	for _, m := range u.GetModalities() {
		fmt.Fprintf(&b, " %s=%d/%d", strings.ToLower(strings.TrimPrefix(m.GetModality().String(), "MODALITY_")), m.GetInputTokens(), m.GetOutputTokens())
	}
	if c := u.GetCost(); c != nil {
		fmt.Fprintf(&b, " cost=%dpUSD from_provider=%t", c.GetTotalPicoUsd(), c.GetFromProvider())
	}
	return b.String()
}
