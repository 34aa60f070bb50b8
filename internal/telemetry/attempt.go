package telemetry

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Which attempt of a response it is.
const (
	AttemptFirst    = "first"
	AttemptRetry    = "retry"
	AttemptFallback = "fallback"
)

// Call is a request that is about to go to a provider.
type Call struct {
	Model *profile.Model
	// Nth is AttemptFirst, AttemptRetry or AttemptFallback.
	Nth        string
	Generation *llmdv1.Generation
	Effective  *llmdv1.EffectiveOptions
}

// Attempt is one request to a provider and its answer: a span, and the metrics of the
// GenAI conventions. It is used by one goroutine at a time; nil measures nothing.
type Attempt struct {
	t     *Telemetry
	ctx   context.Context //nolint:containedctx // the span's, which ends with it
	span  trace.Span
	model *profile.Model
	nth   string
	began time.Time

	first, last time.Time // chunks
	chunks      chunkTally
}

// Attempt begins one. The request goes with the context that comes back.
func (t *Telemetry) Attempt(ctx context.Context, c *Call) (context.Context, *Attempt) {
	if t == nil {
		return ctx, nil
	}
	m := c.Model
	a := &Attempt{t: t, model: m, nth: c.Nth, began: time.Now()}
	// Samplers may ask for what is told now, and what only the request says is not kept
	// by anybody else. All the rest waits for the end: an attempt may last for an hour.
	early := append(slices.Clip(t.addressed(m)), attribute.String(attrRequestModel, m.NameOnWire()))
	early = append(early, asked(t.options.GenAI, c)...)
	ctx, span := t.tracer.Start(ctx, operation(m.API)+" "+m.NameOnWire(), //nolint:spancheck // Attempt.End ends it
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(a.began), trace.WithAttributes(early...))
	a.ctx, a.span = ctx, span
	return ctx, a //nolint:spancheck // as above
}

// addressed is who is asked, and where. It is never changed.
func (t *Telemetry) addressed(m *profile.Model) []attribute.KeyValue {
	return t.places.get(placeOf(m), func() []attribute.KeyValue {
		all := []attribute.KeyValue{
			attribute.String(attrOperation, operation(m.API)), attribute.String(attrProviderName, providerName(m.Provider, m.API)),
		}
		if host, port := address(m.BaseURL); host != "" {
			all = append(all, attribute.String(attrServerAddress, host), attribute.Int(attrServerPort, port))
		}
		return slices.Clip(all)
	})
}

// asked are a request's parameters, as far as it has them. Nothing of it is content.
func asked(conventions Conventions, c *Call) []attribute.KeyValue {
	var all []attribute.KeyValue
	g := c.Generation.GetConfig()
	if g != nil {
		if g.Temperature != nil {
			all = append(all, attribute.Float64(attrTemperature, g.GetTemperature()))
		}
		if g.TopP != nil {
			all = append(all, attribute.Float64(attrTopP, g.GetTopP()))
		}
		if g.TopK != nil {
			all = append(all, attribute.Int(attrTopK, int(g.GetTopK())))
		}
		if g.Seed != nil {
			all = append(all, attribute.Int64(attrSeed, g.GetSeed()))
		}
		if len(g.GetStopSequences()) > 0 {
			all = append(all, attribute.StringSlice(attrStopSequences, g.GetStopSequences()))
		}
		if g.GetOutputJsonSchema() != "" {
			all = append(all, attribute.String(attrOutputType, "json"))
		}
	}
	if n := c.Effective.GetMaxOutputTokens(); n > 0 {
		all = append(all, attribute.Int(attrMaxTokens, int(n)))
	}
	if e := c.Effective.GetReasoningEffort(); e != llmdv1.ReasoningEffort_REASONING_EFFORT_UNSPECIFIED && conventions.v01() {
		all = append(all, attribute.String(attrReasoningLevel, word(e.String(), "REASONING_EFFORT_")))
	}
	if id := c.Generation.GetConversationId(); id != "" {
		all = append(all, attribute.String(attrConversation, id))
	}
	return all
}

// Chunk is told when a part of the answer came.
func (a *Attempt) Chunk(at time.Time) {
	if a == nil {
		return
	}
	if a.first.IsZero() {
		a.first = at
	} else {
		a.chunks.add(at.Sub(a.last).Seconds())
	}
	a.last = at
}

// End is told how it ended: with the message, as far as there is one, and the reason
// why it failed, in the words of docs/errors.md. asked: it was aborted at the caller's
// own wish, which is no failure.
func (a *Attempt) End(m *llmdv1.AssistantMessage, reason string, asked bool) {
	if a == nil {
		return
	}
	failed := reason
	if asked {
		failed = ""
	}
	ended := time.Now()
	a.endSpan(m, reason, failed, ended)
	a.except(failed, ended)
	a.measure(m, failed, ended)
	a.countCredentials(failed)
	key := attemptKey{provider: a.model.Provider, model: a.t.label(a.model), nth: a.nth, failed: failed}
	a.t.own.counters[nameAttempts].Add(a.ctx, 1, a.t.attempts.get(key, key.labels))
}

// Unsent is told instead of End where no request went out, for want of credentials. The
// provider knows nothing of it, so that its metrics must not, either.
func (a *Attempt) Unsent(reason string) {
	if a == nil {
		return
	}
	ended := time.Now()
	a.endSpan(nil, reason, reason, ended)
	a.except(reason, ended)
	a.countCredentials(reason)
}

func (a *Attempt) countCredentials(failed string) {
	if failed == "PROVIDER_CREDENTIALS_INVALID" {
		a.t.count(a.ctx, nameCredentials, 1, attribute.String(attrProvider, a.model.Provider))
	}
}

func (a *Attempt) endSpan(m *llmdv1.AssistantMessage, reason, failed string, ended time.Time) {
	defer a.span.End(trace.WithTimestamp(ended))
	if !a.span.IsRecording() {
		return
	}
	late := make([]attribute.KeyValue, 0, 16)
	late = append(late, attribute.Bool(attrStream, true), attribute.String(attrProvider, a.model.Provider), attribute.String(attrAttempt, a.nth))
	if failed != "" {
		// Its words are the provider's: the reason is all that may be told.
		a.span.SetStatus(codes.Error, "")
		late = append(late, attribute.String(attrErrorType, failed))
	}
	if !a.first.IsZero() {
		late = append(late, attribute.Float64(attrTimeToFirst, a.first.Sub(a.began).Seconds()))
	}
	switch {
	case m != nil:
		late = append(late, attribute.StringSlice(attrFinishReasons, []string{finishReason(m)}), attribute.String(attrStopReason, stopReason(m)))
		if id := m.GetProviderResponseId(); id != "" {
			late = append(late, attribute.String(attrResponseID, id))
		}
		if name := m.GetResponseModel(); name != "" {
			late = append(late, attribute.String(attrResponseModel, name))
		}
		late = a.t.appendUsage(late, m.GetUsage())
	case reason != "":
		late = append(late, attribute.StringSlice(attrFinishReasons, []string{finishError}))
	}
	a.span.SetAttributes(late...) // at once, so that the span grows once
}

// appendUsage adds the tokens that the provider told.
func (t *Telemetry) appendUsage(all []attribute.KeyValue, u *llmdv1.Usage) []attribute.KeyValue {
	if u == nil || u.GetEstimated() {
		return all
	}
	all = append(all, attribute.Int64(attrInputTokens, inputTokens(u)), attribute.Int(attrOutputTokens, int(u.GetOutputTokens())))
	if n := int(u.GetCacheReadTokens()); n > 0 {
		all = append(all, attribute.Int(attrCacheRead, n))
	}
	if n := int(u.GetCacheWriteTokens()); n > 0 {
		if t.options.GenAI.v01() {
			all = append(all, attribute.Int(attrCacheWrite, n))
		}
		if t.options.GenAI.v141() {
			all = append(all, attribute.Int(attrCacheCreation, n))
		}
	}
	if u.ReasoningTokens != nil {
		all = append(all, attribute.Int(attrReasoningTokens, int(u.GetReasoningTokens())))
	}
	return all
}

// inputTokens are all of them: llmd's own count leaves those of the cache out.
func inputTokens(u *llmdv1.Usage) int64 {
	return int64(u.GetInputTokens()) + int64(u.GetCacheReadTokens()) + int64(u.GetCacheWriteTokens())
}

func (a *Attempt) measure(m *llmdv1.AssistantMessage, failed string, ended time.Time) {
	key := seriesKey{place: placeOf(a.model), request: a.t.label(a.model), failed: failed}
	if model := m.GetResponseModel(); model != "" {
		key.response = a.t.seen.label(a.model, model)
	}
	s := a.t.series.get(key, func() *series { return newSeries(&key, a.t.addressed(a.model)) })
	a.record(ended.Sub(a.began).Seconds(), s.failing, metricDuration, metricDuration141)
	if !a.first.IsZero() {
		a.record(a.first.Sub(a.began).Seconds(), s.all, metricTimeToFirst, metricTimeToFirst141)
	}
	a.t.chunks.merge(s.plain, &a.chunks)
	a.measureUsage(s, m.GetUsage())
}

// record records seconds in those of the metrics that there are.
func (a *Attempt) record(seconds float64, labels metric.MeasurementOption, names ...string) {
	for _, name := range names {
		if h := a.t.genai.histograms[name]; h != nil {
			h.Record(a.ctx, seconds, labels)
		}
	}
}
