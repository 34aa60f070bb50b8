package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

const (
	// maxEventBytes is contract 1.28.
	maxEventBytes = 3_500_000
	maxAbsent     = 1000
)

// living: the owner of a running response is there, as far as can be known. A lease
// that is not there is only believed when this process had to do with Redis for
// longer than the lease, and has missed it for longer than its owner needs to renew
// it: Redis may have been away, or have forgotten.
func (s *Store) living(ctx context.Context, r *remote) bool {
	token, lease := r.state.token, s.options.Lease
	alive, err := s.alive(ctx, token)
	s.mu.Lock()
	defer s.mu.Unlock()
	if alive || err != nil {
		delete(s.absent, token)
		return true
	}
	since, seen := s.absent[token]
	if !seen {
		since = time.Now()
		if len(s.absent) > maxAbsent {
			clear(s.absent)
		}
		s.absent[token] = since
	}
	return time.Since(since) < lease/2 || !s.reading.wellFor(lease) || !s.writing.wellFor(lease)
}

// endLost ends a running response whose owner is gone: as aborted, with what Redis
// has of it. Of several processes that try only one does; what is there then is read
// by the others.
func (r *remote) endLost(ctx context.Context) error {
	f, err := r.fold(ctx)
	if err != nil || f.last != nil {
		return err
	}
	known := f.next
	events := r.lostEvents(f)
	b := &batch{next: events[len(events)-1].GetSequenceNumber() + 1}
	if b.text, err = r.box.seal(place("b", b.next), responses.AppendEvents(nil, events)); err != nil {
		return err
	}
	s := r.store
	var ended *redis.Cmd
	err = s.run(ctx, s.writing, func(ctx context.Context, p redis.Pipeliner) {
		ended = s.scripts.lose.EvalSha(ctx, p, s.names.both(r.id), r.state.token, known, b.next, b.text, responses.TTL.Milliseconds())
		if r.info.RequestID != "" {
			p.PExpire(ctx, s.names.request(digest(r.info.Owner, r.info.RequestID)), responses.TTL)
		}
	})
	if err != nil {
		return err
	}
	if n, _ := ended.Int(); n == 1 {
		s.count.lost.Add(1)
		s.log.Warn("a response was ended whose llmd is gone", "response_id", r.info.ResponseID, "instance", r.info.Instance)
	}
	return nil
}

// lostEvents are aborted, with started before it if that is not there.
func (r *remote) lostEvents(f *folded) (events []*llmdv1.StreamResponse) {
	m := f.Message()
	if f.started == nil {
		now := timestamppb.New(time.Now())
		m = &llmdv1.AssistantMessage{ResponseId: r.info.ResponseID, CreateTime: now}
		events = append(events, &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Started{Started: &llmdv1.StartedEvent{
			ResponseId: r.info.ResponseID, RequestId: r.info.RequestID, Instance: r.info.Instance, CreateTime: now,
		}}})
		f.next = 0
	}
	m = proto.CloneOf(m)
	m.StopReason = llmdv1.StopReason_STOP_REASON_ABORTED
	m.Error = r.store.options.Lost(r.info.Instance)
	ab := &llmdv1.AbortedEvent{Cause: llmdv1.AbortCause_ABORT_CAUSE_INSTANCE_LOST, Message: m}
	if f.omitted || proto.Size(m) > maxEventBytes {
		m.Content, ab.ContentOmitted = nil, true // the events have it, where they are kept
	}
	return append(events, &llmdv1.StreamResponse{
		SequenceNumber: f.next + int32(len(events)), Event: &llmdv1.StreamResponse_Aborted{Aborted: ab},
	})
}
