package telemetry

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// measureUsage counts the tokens of an attempt. What llmd has estimated is not
// counted: it would pass for what the provider bills.
func (a *Attempt) measureUsage(labels []attribute.KeyValue, u *llmdv1.Usage) {
	if u.GetEstimated() {
		u = nil
	}
	if a.t.options.GenAI.v01() {
		a.countTokens(labels, u)
	}
	if u == nil {
		return
	}
	in, out := inputTokens(u), int64(u.GetOutputTokens())
	all := metric.WithAttributeSet(attribute.NewSet(labels...))
	a.recordTokens(metricInputPerCall, in, all)
	a.recordTokens(metricOutputPerCall, out, all)
	a.recordTokens(metricTokenUsage141, in, metric.WithAttributeSet(with(labels, attrTokenType, tokenTypeInput)))
	a.recordTokens(metricTokenUsage141, out, metric.WithAttributeSet(with(labels, attrTokenType, tokenTypeOutput)))
}

func with(labels []attribute.KeyValue, name, value string) attribute.Set {
	return attribute.NewSet(append(slices.Clip(labels), attribute.String(name, value))...)
}

func (a *Attempt) recordTokens(name string, n int64, labels metric.MeasurementOption) {
	if h := a.t.genai.tokens[name]; h != nil {
		h.Record(a.ctx, n, labels)
	}
}

// countTokens counts by modality. What the provider does not break down is of an
// unknown one, and so is the 0 of an attempt that told nothing.
func (a *Attempt) countTokens(labels []attribute.KeyValue, u *llmdv1.Usage) {
	in, out := inputTokens(u), int64(u.GetOutputTokens())
	for _, m := range u.GetModalities() {
		name := modality(m.GetModality())
		if n := min(int64(m.GetInputTokens()), in); n > 0 {
			in -= n
			a.countToken(metricInputTokens, n, labels, name)
		}
		if n := min(int64(m.GetOutputTokens()), out); n > 0 {
			out -= n
			a.countToken(metricOutputTokens, n, labels, name)
		}
	}
	if in > 0 || len(u.GetModalities()) == 0 {
		a.countToken(metricInputTokens, in, labels, modalityUnknown)
	}
	if out > 0 || len(u.GetModalities()) == 0 {
		a.countToken(metricOutputTokens, out, labels, modalityUnknown)
	}
	for name, n := range map[string]int32{
		metricCacheRead: u.GetCacheReadTokens(), metricCacheWrite: u.GetCacheWriteTokens(), metricReasoningTokens: u.GetReasoningTokens(),
	} {
		if n > 0 {
			a.countToken(name, int64(n), labels, modalityUnknown)
		}
	}
}

func (a *Attempt) countToken(name string, n int64, labels []attribute.KeyValue, modality string) {
	a.t.genai.counters[name].Add(a.ctx, n, metric.WithAttributeSet(with(labels, attrModality, modality)))
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
