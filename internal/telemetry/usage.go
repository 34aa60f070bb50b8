package telemetry

import (
	"go.opentelemetry.io/otel/metric"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// measureUsage counts the tokens of an attempt. What llmd has estimated is not
// counted: it would pass for what the provider bills.
func (a *Attempt) measureUsage(s *series, u *llmdv1.Usage) {
	if u.GetEstimated() {
		u = nil
	}
	if a.t.options.GenAI.v01() {
		a.countTokens(s, u)
	}
	if u == nil {
		return
	}
	in, out := inputTokens(u), int64(u.GetOutputTokens())
	a.recordTokens(metricInputPerCall, in, s.all)
	a.recordTokens(metricOutputPerCall, out, s.all)
	if a.t.options.GenAI.v141() {
		a.recordTokens(metricTokenUsage141, in, s.input)
		a.recordTokens(metricTokenUsage141, out, s.output)
	}
}

func (a *Attempt) recordTokens(name string, n int64, labels metric.MeasurementOption) {
	if h := a.t.genai.tokens[name]; h != nil {
		h.Record(a.ctx, n, labels)
	}
}

// countTokens counts by modality. What the provider does not break down is of an
// unknown one, and so is the 0 of an attempt that told nothing.
func (a *Attempt) countTokens(s *series, u *llmdv1.Usage) {
	in, out := inputTokens(u), int64(u.GetOutputTokens())
	for _, m := range u.GetModalities() {
		labeled := with(s.labels, attrModality, modality(m.GetModality()))
		if n := min(int64(m.GetInputTokens()), in); n > 0 {
			in -= n
			a.countToken(metricInputTokens, n, labeled)
		}
		if n := min(int64(m.GetOutputTokens()), out); n > 0 {
			out -= n
			a.countToken(metricOutputTokens, n, labeled)
		}
	}
	if in > 0 || len(u.GetModalities()) == 0 {
		a.countToken(metricInputTokens, in, s.unknown)
	}
	if out > 0 || len(u.GetModalities()) == 0 {
		a.countToken(metricOutputTokens, out, s.unknown)
	}
	for name, n := range map[string]int32{
		metricCacheRead: u.GetCacheReadTokens(), metricCacheWrite: u.GetCacheWriteTokens(), metricReasoningTokens: u.GetReasoningTokens(),
	} {
		if n > 0 {
			a.countToken(name, int64(n), s.unknown)
		}
	}
}

func (a *Attempt) countToken(name string, n int64, labels metric.MeasurementOption) {
	a.t.genai.counters[name].Add(a.ctx, n, labels)
}

func modality(m llmdv1.Modality) string {
	switch m {
	case llmdv1.Modality_MODALITY_TEXT:
		return "text"
	case llmdv1.Modality_MODALITY_IMAGE:
		return "image"
	case llmdv1.Modality_MODALITY_AUDIO:
		return "audio"
	case llmdv1.Modality_MODALITY_VIDEO:
		return "video"
	case llmdv1.Modality_MODALITY_DOCUMENT:
		return "document"
	default:
		return modalityUnknown
	}
}
