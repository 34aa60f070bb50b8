package interceptors

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/internal/calllog"
)

const (
	domain      = "llmd.dev" // as service.Domain
	pushbackKey = "grpc-retry-pushback-ms"
)

// refusal is why a call is not let in. Its words tell nothing of other callers.
type refusal struct {
	code            codes.Code
	reason, message string
	// wait is when the client may try again; 0 = it must not by itself.
	wait time.Duration
	// quota names the caller's limit that was met.
	quota string
	// limit is the limit that was met, as telemetry names it.
	limit string
}

func unauthenticated(message string) *refusal {
	return &refusal{code: codes.Unauthenticated, reason: "UNAUTHENTICATED", message: message}
}

func overQuota(quota, limit string, wait time.Duration) *refusal {
	return &refusal{code: codes.ResourceExhausted, reason: "TENANT_QUOTA", message: "the caller's limit is met: " + quota, wait: wait, quota: quota, limit: limit}
}

func overloaded(limit string, wait time.Duration) *refusal {
	return &refusal{code: codes.Unavailable, reason: "SERVER_OVERLOADED", message: "this llmd has as much work as it may take on", wait: wait, limit: limit}
}

// status is the refusal as the client gets it, with the trailer that its library
// obeys; see https://github.com/grpc/proposal/blob/master/A6-client-retries.md.
func (r *refusal) status(ctx context.Context) error {
	calllog.From(ctx).Add(slog.String("reason", r.reason))
	pushback := int64(-1)
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: r.reason, Domain: domain}}
	if r.wait > 0 {
		pushback = (r.wait + time.Millisecond - 1).Milliseconds() // never early
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(r.wait)})
	}
	if r.quota != "" {
		details = append(details, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{
			Subject: "caller", Description: r.quota, QuotaMetric: r.quota,
		}}})
	}
	_ = grpc.SetTrailer(ctx, metadata.Pairs(pushbackKey, strconv.FormatInt(pushback, 10))) // fails only outside of a call
	s, err := status.New(r.code, r.message).WithDetails(details...)
	if err != nil { // a detail that cannot be packed must not hide the status
		return status.Error(r.code, r.message)
	}
	return s.Err()
}
