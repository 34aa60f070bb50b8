package service

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/fetch"
	"github.com/llmd-dev/llmd/internal/stack"
	"github.com/llmd-dev/llmd/internal/telemetry"
	"github.com/llmd-dev/llmd/service/generation"
	"github.com/llmd-dev/llmd/service/responses"
	"github.com/llmd-dev/llmd/toolcheck"
)

const (
	// longestCall is the deadline of calls that have none, or a later one.
	longestCall = 60 * time.Minute
	// maxCompleteBytes is what a message of Complete may have: the server sends 16 MiB
	// at most, and other things stand beside it.
	maxCompleteBytes = 15 << 20
	// longestWait bounds GetResponse.wait_duration.
	longestWait = 10 * time.Minute
	// callerKeyPrefix begins the metadata keys that carry a caller's own keys.
	callerKeyPrefix = "llmd-provider-key-"
)

// Inference implements llmd.v1.InferenceService.
type Inference struct {
	llmdv1.UnimplementedInferenceServiceServer
	engine   *generation.Engine
	store    responses.Store
	upstream *Upstream
	schemas  *toolcheck.Cache
	options  Options
	closing  atomic.Bool
}

// Options are the switches of the service.
type Options struct {
	// Instance names this llmd; it begins every response id.
	Instance string
	// CallerKeys: callers may bring their own provider keys in metadata.
	CallerKeys bool
	// NoStore: GetResponse is switched off, and nothing is kept for it.
	NoStore bool
	// Store knows the responses; nil = they are kept in memory.
	Store responses.Store
	// MaxDetached is the longest StreamOptions.detached; 0 = it is switched off.
	MaxDetached time.Duration
	// Log gets what concerns no single call, without prompts. Required.
	Log *slog.Logger
	// Images downloads images that come by URL; nil = they are refused.
	Images *fetch.Fetcher
	// Telemetry measures; nil = nobody looks.
	Telemetry *telemetry.Telemetry
	// Principal gives the authenticated caller; nil = everybody is the same.
	Principal func(context.Context) string
}

// Stream implements llmd.v1.InferenceService.Stream.
func (s *Inference) Stream(req *llmdv1.StreamRequest, stream grpc.ServerStreamingServer[llmdv1.StreamResponse]) error {
	ctx := stream.Context()
	labels, requestID := req.GetGeneration().GetLabels(), req.GetRequestId()
	var reader *generation.Reader
	var err error
	var over func()
	stack.AsideThen(func() (rest func()) {
		// The response begins where it was planned: one goroutine less to start, and
		// one stack less to grow.
		reader, err = s.start(ctx, req, softDeadline(ctx, req.GetOptions()), func(begin func()) { rest = begin })
		if err == nil {
			over = s.options.Telemetry.Stream(ctx, methodStream)
		}
		return rest
	})
	if err != nil {
		stream.SetTrailer(pushback(err))
		recordFailure(ctx, requestID, err)
		return toStatus(asked(err, "", requestID))
	}
	defer record(ctx, reader, labels)
	defer over()
	// From here on nothing holds the request, which may be large: the stream may last.
	err = reader.Deliver(ctx, func(e *llmdv1.StreamResponse) error { return gone(stream.Send(e)) })
	stream.SetTrailer(trailers(reader, requestID))
	if err != nil {
		stream.SetTrailer(pushback(err))
	}
	return toStatus(err)
}

// gone turns the failure to send on a call that is over into what it is: the
// client's doing. Any other failure is llmd's own.
func gone(err error) error {
	code := status.Code(err)
	if code == codes.Canceled || code == codes.Unavailable {
		return context.Canceled
	}
	if code == codes.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}

// Complete implements llmd.v1.InferenceService.Complete: Stream, folded.
func (s *Inference) Complete(ctx context.Context, req *llmdv1.CompleteRequest) (*llmdv1.CompleteResponse, error) {
	called := ctx
	ctx, cancel := context.WithTimeout(ctx, longestCall)
	defer cancel()
	streamed := &llmdv1.StreamRequest{Generation: req.GetGeneration(), RequestId: req.GetRequestId()}
	reader, err := s.start(ctx, streamed, softDeadline(called, nil), nil)
	if err != nil {
		_ = grpc.SetTrailer(ctx, pushback(err)) // fails only outside of a call
		recordFailure(called, req.GetRequestId(), err)
		return nil, toStatus(asked(err, "", req.GetRequestId()))
	}
	defer record(called, reader, req.GetGeneration().GetLabels())
	defer s.options.Telemetry.Stream(ctx, methodComplete)()
	started, message, err := reader.Wait(ctx)
	_ = grpc.SetTrailer(ctx, trailers(reader, req.GetRequestId()))
	if err != nil {
		_ = grpc.SetTrailer(ctx, pushback(err))
		return nil, toStatus(err)
	}
	resp := &llmdv1.CompleteResponse{
		HandoffChanges: started.GetHandoffChanges(), HandoffChangesOmitted: started.GetHandoffChangesOmitted(),
		Effective: started.GetEffective(), Attempts: started.GetAttempts(),
	}
	resp.Message, resp.ContentOmitted = generation.Fit(message, maxCompleteBytes)
	return resp, nil
}

// start begins a response, or joins one. spawn is [generation.Request.Go].
func (s *Inference) start(ctx context.Context, req *llmdv1.StreamRequest, soft time.Time, spawn func(func())) (*generation.Reader, error) {
	if s.closing.Load() {
		return nil, &ShuttingDownError{}
	}
	if err := validateStream(req, s.checker()); err != nil {
		return nil, err
	}
	if err := validateMargin(soft, req.GetOptions()); err != nil {
		return nil, err
	}
	if req.GetOptions().GetDetached() != nil {
		if err := s.mayDetach(req.GetOptions()); err != nil {
			return nil, err
		}
		soft = time.Time{} // the deadline ends the call, not the response
	}
	keys, err := s.callerKeys(ctx)
	if err != nil {
		return nil, err
	}
	return s.engine.Start(ctx, &generation.Request{
		Planning: withImages(ctx, s.options.Images, s.options.Telemetry, req.GetGeneration().GetContext()),
		Owner:    s.owner(ctx), RequestID: req.GetRequestId(), Hash: digest(req), Generation: req.GetGeneration(),
		Options: req.GetOptions(), Keys: keys, SoftDeadline: soft, Go: spawn,
	})
}

// checker collects the faults of one request with a generation.
func (s *Inference) checker() *checker {
	return &checker{schemas: s.schemas, provider: s.upstream.current().KnowsProvider}
}

func (s *Inference) owner(ctx context.Context) string {
	if s.options.Principal == nil {
		return ""
	}
	return s.options.Principal(ctx)
}

// callerKeys reads the caller's own provider keys from the metadata.
func (s *Inference) callerKeys(ctx context.Context) (map[string]string, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	var keys map[string]string
	for k, v := range md {
		id, ok := strings.CutPrefix(k, callerKeyPrefix)
		if !ok || len(v) == 0 {
			continue
		}
		if !s.options.CallerKeys {
			return nil, &CallerKeysError{}
		}
		if _, known := s.upstream.current().Provider(id); !known {
			return nil, &InvalidError{Violations: []Violation{{Field: "metadata " + k, Reason: reasonInvalid, Description: "names no provider"}}}
		}
		if keys == nil {
			keys = map[string]string{}
		}
		keys[id] = v[0]
	}
	return keys, nil
}

// softDeadline is when a response is ended so that its receipt still reaches the
// caller (contract 2.11); zero = never. A call without a deadline has one of
// longestCall (contract section 4).
func softDeadline(ctx context.Context, o *llmdv1.StreamOptions) time.Time {
	deadline, own := ctx.Deadline()
	if last := time.Now().Add(longestCall); !own || last.Before(deadline) {
		deadline, own = last, false
	}
	left, wish := time.Until(deadline), o.GetDeadlineMargin()
	if wish == nil && left < time.Second {
		return time.Time{}
	}
	margin := min(max(left/20, 200*time.Millisecond), 2*time.Second)
	if d := wish.AsDuration(); wish != nil && (own || d < left) {
		margin = d
	}
	return deadline.Add(-margin)
}

func trailers(r *generation.Reader, requestID string) metadata.MD {
	id, provider, attempts := r.Facts()
	md := metadata.MD{}
	for k, v := range map[string]string{
		"llmd-response-id": id, "llmd-provider-request-id": provider, "llmd-attempts": strconv.Itoa(attempts), "llmd-request-id": ascii(requestID),
	} {
		if v != "" {
			md.Set(k, cutBytes(v, maxMetadataValue))
		}
	}
	return md
}

// ascii drops a value that metadata cannot carry.
func ascii(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return s
}

// Abort implements llmd.v1.InferenceService.Abort.
func (s *Inference) Abort(ctx context.Context, req *llmdv1.AbortRequest) (*llmdv1.AbortResponse, error) {
	if err := validateTarget(req.GetResponseId(), req.GetRequestId(), req.GetTarget() != nil, req.GetReason()); err != nil {
		return nil, toStatus(err)
	}
	key := responses.Key{Owner: s.owner(ctx), ResponseID: req.GetResponseId(), RequestID: req.GetRequestId()}
	recordTarget(ctx, key)
	receipt, err := s.store.Abort(ctx, key, req.GetReason())
	if err != nil {
		return nil, toStatus(s.unknown(err, key))
	}
	resp := &llmdv1.AbortResponse{AlreadyFinished: receipt.Finished}
	resp.Message, resp.ContentOmitted = generation.Fit(receipt.Message, responses.MaxRecordBytes)
	resp.ContentOmitted = resp.ContentOmitted || receipt.ContentOmitted
	return resp, nil
}

// GetResponse implements llmd.v1.InferenceService.GetResponse.
func (s *Inference) GetResponse(ctx context.Context, req *llmdv1.GetResponseRequest) (*llmdv1.GetResponseResponse, error) {
	if s.options.NoStore {
		return nil, toStatus(&DisabledError{Feature: "keeping responses"})
	}
	if err := validateTarget(req.GetResponseId(), req.GetRequestId(), req.GetTarget() != nil, ""); err != nil {
		return nil, toStatus(err)
	}
	c := &checker{}
	c.duration("wait_duration", req.GetWaitDuration(), 0)
	if req.GetWaitDuration().AsDuration() > longestWait {
		c.add("wait_duration", reasonRange, "must be at most %s", longestWait)
	}
	if err := c.err(); err != nil {
		return nil, toStatus(err)
	}
	key := responses.Key{Owner: s.owner(ctx), ResponseID: req.GetResponseId(), RequestID: req.GetRequestId()}
	recordTarget(ctx, key)
	kept, err := s.store.Message(ctx, key, req.GetWaitDuration().AsDuration())
	if err != nil {
		return nil, toStatus(s.unknown(err, key))
	}
	out := &llmdv1.GetResponseResponse{}
	out.Message, out.ContentOmitted = generation.Fit(kept.Message, responses.MaxRecordBytes)
	out.ContentOmitted = out.ContentOmitted || kept.ContentOmitted
	if !kept.ExpireTime.IsZero() {
		out.ExpireTime = timestamppb.New(kept.ExpireTime)
	}
	return out, nil
}

// unknown is the error of a store about one response, with the id that was asked for.
// Where every llmd has its own responses, an id tells whose it is: it begins with the
// instance.
func (s *Inference) unknown(err error, key responses.Key) error {
	if errors.Is(err, responses.ErrNotFound) {
		err = &ResponseNotFoundError{}
		if i := strings.LastIndexByte(key.ResponseID, '.'); i > 0 && !s.store.Shared() && key.ResponseID[:i] != s.options.Instance {
			err = &WrongInstanceError{Instance: key.ResponseID[:i]}
		}
	}
	return asked(err, key.ResponseID, key.RequestID)
}

// Close refuses new streams from now on.
func (s *Inference) Close() { s.closing.Store(true) }

// Running says whether responses are being made.
func (s *Inference) Running() bool { return len(s.store.Running()) > 0 }

// AbortAll ends all running responses because of the shutdown, and the calls that follow
// those of other processes.
func (s *Inference) AbortAll() {
	for _, live := range s.store.Running() {
		live.Shutdown()
	}
	s.engine.EndViews()
}

// Orphans are the responses that are made while nobody reads them.
func (s *Inference) Orphans() int64 { return s.engine.Orphans() }
