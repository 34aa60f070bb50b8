package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/service/responses"
)

// Bounds of one round trip.
const (
	maxWrites     = 1000
	maxWriteBytes = 4 << 20
)

// write is one batch of one response in a round trip.
type write struct {
	sink  *sink
	batch *batch
	more  bool
	cmd   *redis.Cmd
}

// writeLoop writes what is new of all responses, every Flush.
func (s *Store) writeLoop(ctx context.Context) {
	last := time.Time{}
	for {
		select {
		case <-s.nudge:
		case <-ctx.Done():
			return
		}
		if !sleep(ctx, max(s.options.Flush-time.Since(last), s.writing.pause())) {
			return
		}
		last = time.Now()
		for s.flush(ctx) && ctx.Err() == nil {
		}
	}
}

// sleep returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// flush makes one round trip. again: there is more to write, and it can be.
func (s *Store) flush(ctx context.Context) (again bool) {
	s.makeRoom()
	writes, rest := s.collect()
	forget := s.toForget()
	if len(writes)+len(forget) == 0 {
		return false
	}
	err := s.run(ctx, s.writing, func(ctx context.Context, p redis.Pipeliner) {
		for _, w := range writes {
			s.add(ctx, p, w)
		}
		for _, e := range forget {
			p.Del(ctx, s.names.both(e.id)...)
			if e.request != "" {
				p.Del(ctx, s.names.request(e.request))
			}
		}
	})
	s.count.flushes.Add(1)
	for _, w := range writes {
		s.settle(w)
	}
	if err != nil {
		s.wake() // it is paused by its health
	}
	return err == nil && (rest || s.over())
}

// over: there is more in Redis than may be, and some of it can go.
func (s *Store) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored > s.options.MaxBytes && len(s.ended) > 0
}

// collect prepares writes for one round trip.
func (s *Store) collect() (writes []*write, rest bool) {
	s.mu.Lock()
	dirty := s.dirty
	s.dirty = nil
	s.mu.Unlock()
	size := 0
	for i, k := range dirty {
		if len(writes) == maxWrites || size > maxWriteBytes {
			s.mu.Lock()
			s.dirty = append(s.dirty, dirty[i:]...)
			s.mu.Unlock()
			return writes, true
		}
		k.mu.Lock()
		k.dirty = false
		k.mu.Unlock()
		if s.dropped(k) {
			continue
		}
		if k.gone.CompareAndSwap(true, false) {
			k.lost()
		}
		if b, more := k.prepare(); b != nil {
			writes = append(writes, &write{sink: k, batch: b, more: more})
			size += len(b.text)
		}
	}
	return writes, false
}

// dropped: a sink was let go of. Who looked before may have touched it since.
func (s *Store) dropped(k *sink) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sinks[k.id] != k
}

// add puts one write into a round trip.
func (s *Store) add(ctx context.Context, p redis.Pipeliner, w *write) {
	k, b := w.sink, w.batch
	info := ""
	if !k.opened.Load() {
		info = k.info
	}
	w.cmd = s.scripts.put.EvalSha(ctx, p, s.names.both(k.id),
		s.token, b.first, b.next, b.text, b.kind, b.state, b.ttl.Milliseconds(), info, b.extra, b.stay.entries)
	if k.requestID == "" {
		return
	}
	switch b.state {
	case "e":
		s.scripts.keepID.EvalSha(ctx, p, []string{s.names.request(k.requestDigest)}, s.mark(k.responseID), b.ttl.Milliseconds())
	case "f":
		s.scripts.release.EvalSha(ctx, p, []string{s.names.request(k.requestDigest)}, s.mark(k.responseID))
	}
}

// settle takes the outcome of one write.
func (s *Store) settle(w *write) {
	k, b := w.sink, w.batch
	code, abort, err := outcome(w.cmd)
	switch {
	case err != nil && !about(err):
		s.touch(k)
		return
	case err != nil, code == gone, code == hole:
		k.lost()
		s.touch(k)
		return
	case code == fenced:
		s.count.fenced.Add(1)
		s.log.Warn("another process has ended a response of this one", "response_id", k.responseID)
		s.addStored(-k.size.bytes)
		s.drop(k)
		return
	}
	before := k.size.bytes
	k.written(b)
	s.addStored(k.size.bytes - before)
	s.count.entries.Add(1)
	s.count.events.Add(int64(b.events))
	s.count.bytes.Add(int64(len(b.text)))
	if b.state != "r" {
		s.mu.Lock()
		s.ended = append(s.ended, ending{id: k.id, request: k.requestDigest, bytes: k.size.bytes, expires: time.Now().Add(b.ttl)})
		s.mu.Unlock()
		s.drop(k)
		return
	}
	if abort != "" {
		s.abortHere(k, abort)
	}
	if w.more || k.ended() != nil {
		s.touch(k)
	}
}

// addStored counts bytes in Redis.
func (s *Store) addStored(n int) {
	s.mu.Lock()
	s.stored += n
	s.mu.Unlock()
}

// toForget are responses that make room for others, the oldest that have ended
// first. If none has, those that run keep no content from now on.
func (s *Store) toForget() (out []ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for len(s.ended) > 0 && (s.stored > s.options.MaxBytes || now.After(s.ended[0].expires)) {
		e := s.ended[0]
		s.ended = s.ended[1:]
		s.stored -= e.bytes
		if now.Before(e.expires) {
			out = append(out, e)
			s.forgot()
		}
	}
	if s.stored <= s.options.MaxBytes {
		return out
	}
	for _, k := range s.sinks {
		if !k.bare && k.size.bytes > s.options.MaxBytes/len(s.sinks) {
			k.bare, k.whole = true, false
			s.forgot()
		}
	}
	return out
}

// makeRoom bounds what waits while Redis does not take it: the events of a response
// that has too many give way to a snapshot, to be made when Redis is back. Responses
// that ended long ago are let go of.
func (s *Store) makeRoom() {
	if s.writing.failing() == "" {
		return
	}
	s.mu.Lock()
	all := make([]*sink, 0, len(s.sinks))
	for _, k := range s.sinks {
		all = append(all, k)
	}
	s.mu.Unlock()
	total := 0
	for _, k := range all {
		n, end := k.waiting(), k.ended()
		if k.batch != nil {
			n += len(k.batch.text)
		}
		if end != nil && end.record != nil {
			total += proto.Size(end.record.Message)
		}
		switch {
		case end != nil && (time.Since(end.at) > responses.TTL || total > s.options.MaxBufferBytes):
			s.count.dropped.Add(1)
			s.addStored(-k.size.bytes)
			s.drop(k)
			continue
		case n > s.options.BufferBytes || n > 0 && total+n > s.options.MaxBufferBytes:
			if _, stand := k.feed.Stand(); stand != nil {
				k.feed.Skip(stand.GetSequenceNumber())
			}
			k.batch, k.whole = nil, false
			s.count.dropped.Add(1)
			n = k.waiting()
		}
		total += n
	}
}
