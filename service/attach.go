package service

import (
	"time"

	"google.golang.org/grpc"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/stack"
	"github.com/llmd-dev/llmd/service/generation"
	"github.com/llmd-dev/llmd/service/responses"
)

// Attach implements llmd.v1.InferenceService.Attach.
func (s *Inference) Attach(req *llmdv1.AttachRequest, stream grpc.ServerStreamingServer[llmdv1.StreamResponse]) error {
	ctx := stream.Context()
	if s.options.NoStore {
		return toStatus(&DisabledError{Feature: "keeping responses"})
	}
	if err := validateAttach(req); err != nil {
		return toStatus(err)
	}
	after := int32(-1)
	if req.LastSequenceNumber != nil {
		after = req.GetLastSequenceNumber()
	}
	key := responses.Key{Owner: s.owner(ctx), ResponseID: req.GetResponseId(), RequestID: req.GetRequestId()}
	reader, err := s.engine.Attach(ctx, key, after, &generation.Request{SoftDeadline: softDeadline(ctx, nil), Options: &llmdv1.StreamOptions{
		HeartbeatInterval: req.GetHeartbeatInterval(), OmitFinalMessage: req.GetOmitFinalMessage(),
	}})
	if err != nil {
		err = s.unknown(err, key)
		stream.SetTrailer(pushback(err))
		recordFailure(ctx, req.GetRequestId(), err)
		return toStatus(err)
	}
	defer record(ctx, reader, nil)
	var over func()
	stack.Aside(func() { over = s.options.Telemetry.Stream(ctx, methodAttach) })
	defer over()
	err = reader.Deliver(ctx, func(e *llmdv1.StreamResponse) error { return gone(stream.Send(e)) })
	stream.SetTrailer(trailers(reader, req.GetRequestId()))
	if err != nil {
		err = s.unknown(err, key)
		stream.SetTrailer(pushback(err))
	}
	return toStatus(err)
}

func validateAttach(req *llmdv1.AttachRequest) error {
	if err := validateTarget(req.GetResponseId(), req.GetRequestId(), req.GetTarget() != nil, ""); err != nil {
		return err
	}
	c := &checker{}
	if req.GetLastSequenceNumber() < 0 {
		c.add("last_sequence_number", reasonRange, "must be at least 0")
	}
	c.duration("heartbeat_interval", req.GetHeartbeatInterval(), time.Second)
	return c.err()
}

// mayDetach checks StreamOptions.detached.
func (s *Inference) mayDetach(o *llmdv1.StreamOptions) error {
	if s.options.NoStore || s.options.MaxDetached <= 0 {
		return &DisabledError{Feature: "outliving a connection (options.detached)"}
	}
	c := &checker{}
	c.duration("options.detached", o.GetDetached(), time.Second)
	if o.GetDetached().AsDuration() > s.options.MaxDetached {
		c.add("options.detached", reasonRange, "must be at most %s", s.options.MaxDetached)
	}
	if o.GetDeadlineMargin() != nil {
		c.add("options.deadline_margin", reasonInvalid, "means nothing with options.detached: the deadline ends the call, not the response")
	}
	return c.err()
}
