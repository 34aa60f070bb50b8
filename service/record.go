package service

import (
	"context"
	"log/slog"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/calllog"
	"github.com/llmd-dev/llmd/service/generation"
	"github.com/llmd-dev/llmd/service/responses"
)

// record puts what an operator wants to know of a response on its call's log line:
// ids, model, end, tokens, cost and the caller's labels; nothing that was said.
func record(ctx context.Context, r *generation.Reader, labels map[string]string) {
	line := calllog.From(ctx)
	if line == nil {
		return
	}
	m, requestID, err := r.Outcome()
	attrs := make([]slog.Attr, 0, 8)
	if id := m.GetResponseId(); id != "" {
		attrs = append(attrs, slog.String("response_id", id))
	}
	if m.GetModel() != "" { // somebody who follows a response may not have heard of it
		attrs = append(attrs, slog.String("model", m.GetProvider()+"/"+m.GetModel()))
	}
	if requestID != "" {
		attrs = append(attrs, slog.String("request_id", requestID))
	}
	if s := m.GetStopReason(); s != llmdv1.StopReason_STOP_REASON_UNSPECIFIED {
		attrs = append(attrs, slog.String("stop_reason", s.String()))
	}
	if e := m.GetError(); e != nil {
		attrs = append(attrs, slog.String("reason", e.GetReason()))
	} else if err != nil {
		attrs = append(attrs, slog.String("reason", describe(err).reason))
	}
	if u := m.GetUsage(); u != nil {
		attrs = append(attrs, slog.Int("total_tokens", int(u.GetTotalTokens())), slog.Int("output_tokens", int(u.GetOutputTokens())))
		if c := u.GetCost(); c != nil {
			attrs = append(attrs, slog.Int64("cost_pico_usd", c.GetTotalPicoUsd()))
		}
	}
	if len(labels) > 0 {
		var group []any
		for k, v := range labels {
			group = append(group, slog.String(k, v))
		}
		attrs = append(attrs, slog.Group("labels", group...))
	}
	line.Add(attrs...)
}

// recordFailure is record for a request that never became a response.
func recordFailure(ctx context.Context, requestID string, err error) {
	f := describe(err)
	attrs := []slog.Attr{slog.String("reason", f.reason)}
	if requestID != "" {
		attrs = append(attrs, slog.String("request_id", cutBytes(requestID, maxMetadataValue))) // it may be refused for its length
	}
	if m := f.metadata["model"]; m != "" {
		attrs = append(attrs, slog.String("model", f.metadata["provider"]+"/"+m))
	}
	calllog.From(ctx).Add(attrs...)
}

// recordTarget puts the id that a call about another response names on its line.
func recordTarget(ctx context.Context, key responses.Key) {
	name, id := "request_id", key.RequestID
	if key.ResponseID != "" {
		name, id = "response_id", key.ResponseID
	}
	calllog.From(ctx).Add(slog.String(name, cutBytes(id, maxMetadataValue)))
}
