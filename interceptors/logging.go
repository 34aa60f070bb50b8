package interceptors

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/llmd-dev/llmd/internal/calllog"
	"github.com/llmd-dev/llmd/internal/telemetry"
)

// callLog writes one line for each call when it ends: method, code, time and what
// the handler put on the record. The status message is not written: it may repeat
// what a provider said, and that may repeat a prompt.
func callLog(l *slog.Logger) interceptors.CommonReportableFunc {
	return func(ctx context.Context, c interceptors.CallMeta) (interceptors.Reporter, context.Context) {
		ctx, record := calllog.With(ctx)
		return &callReport{ctx: ctx, log: l, method: c.FullMethod(), record: record}, ctx
	}
}

// callReport implements interceptors.Reporter.
type callReport struct {
	interceptors.NoopReporter
	ctx    context.Context //nolint:containedctx // of the one call that is reported
	log    *slog.Logger
	method string
	record *calllog.Record
}

// PostCall writes the line.
func (r *callReport) PostCall(err error, took time.Duration) {
	code := status.Code(err)
	line := append(make([]slog.Attr, 0, 16),
		slog.String("method", strings.TrimPrefix(r.method, "/")),
		slog.String("code", code.String()),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
	)
	if id := telemetry.TraceID(r.ctx); id != "" {
		line = append(line, slog.String("trace_id", id))
	}
	line = append(line, r.record.Attrs()...)
	if err != nil && !slices.ContainsFunc(line, func(a slog.Attr) bool { return a.Key == "reason" }) {
		line = append(line, slog.String("reason", reasonOf(err)))
	}
	r.log.LogAttrs(r.ctx, levelOf(r.method, code), "call", line...)
}

// levelOf: what tools ask for is of interest only when it fails, and only what may
// be llmd's own fault is an error.
func levelOf(method string, code codes.Code) slog.Level {
	switch {
	case code == codes.Internal || code == codes.Unknown || code == codes.DataLoss:
		return slog.LevelError
	case strings.HasPrefix(method, "/grpc.reflection.") || strings.HasPrefix(method, "/grpc.health."):
		return slog.LevelDebug
	}
	return slog.LevelInfo
}
