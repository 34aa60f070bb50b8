package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Messages to the owner of a response: what it is, the digest of the response, and
// for an abort the sealed reason.
const (
	wishAbort = 'a'
	wishHold  = 'h'

	digestLength = 32
	// watchEvery is how often the owner of a response hears that somebody follows it.
	watchEvery = 5 * time.Second
)

// beatLoop gives the sign of life of this process. Nothing else is in its way.
func (s *Store) beatLoop(ctx context.Context) {
	for {
		_ = s.run(ctx, s.writing, func(ctx context.Context, p redis.Pipeliner) { // the next one will do
			p.Set(ctx, s.names.lease(s.token), "1", s.options.Lease)
		})
		if !sleep(ctx, max(s.options.Lease/5, s.writing.pause())) {
			return
		}
	}
}

// renewLoop keeps the responses of this process from expiring, and looks for wishes
// that were missed.
func (s *Store) renewLoop(ctx context.Context) {
	for sleep(ctx, s.options.Lease/3) {
		s.renew(ctx)
	}
}

func (s *Store) renew(ctx context.Context) {
	s.mu.Lock()
	all := make([]*sink, 0, len(s.sinks))
	for _, k := range s.sinks {
		if k.opened.Load() {
			all = append(all, k)
		}
	}
	s.mu.Unlock()
	ttl := s.ttl().Milliseconds()
	for len(all) > 0 {
		some := all[:min(len(all), maxWrites)]
		all = all[len(some):]
		cmds := make([]*redis.Cmd, len(some))
		err := s.run(ctx, s.writing, func(ctx context.Context, p redis.Pipeliner) {
			for i, k := range some {
				cmds[i] = s.scripts.renew.EvalSha(ctx, p, s.names.both(k.id), s.token, ttl)
				if k.requestID != "" {
					s.scripts.keepID.EvalSha(ctx, p, []string{s.names.request(k.requestDigest)}, s.mark(k.responseID), ttl)
				}
			}
		})
		if err != nil {
			return // the next sign will do
		}
		for i, k := range some {
			s.renewed(k, cmds[i])
		}
	}
}

// renewed takes the outcome for one response. What it means for the sink is the
// writer's to do.
func (s *Store) renewed(k *sink, c *redis.Cmd) {
	code, abort, err := outcome(c)
	switch {
	case err != nil || k.ended() != nil:
	case code == gone, code == hole:
		k.gone.Store(true)
		s.touch(k)
	case code == fenced:
		s.touch(k) // its next write finds out
	case abort != "":
		s.abortHere(k, abort)
	}
}

// abortHere ends a response of this process that another one was asked to end.
func (s *Store) abortHere(k *sink, sealed string) {
	reason, err := k.box.open("abort", sealed)
	if err != nil {
		s.log.Warn("an abort that cannot be decrypted was not heeded", "response_id", k.responseID)
		return
	}
	k.live.Abort(string(reason))
}

// listen hears the wishes of other processes. One that is missed is found with the
// next sign of life.
func (s *Store) listen(ctx context.Context) {
	sub := s.client.Subscribe(ctx, s.names.control(s.token))
	defer func() { _ = sub.Close() }()
	wishes := sub.Channel()
	for {
		select {
		case m, ok := <-wishes:
			if !ok {
				return
			}
			s.hear(m.Payload)
		case <-ctx.Done():
			return
		}
	}
}

func (s *Store) hear(wish string) {
	if len(wish) < 1+digestLength {
		return
	}
	s.mu.Lock()
	k := s.sinks[wish[1:1+digestLength]]
	s.mu.Unlock()
	switch {
	case k == nil:
	case wish[0] == wishAbort:
		s.abortHere(k, wish[1+digestLength:])
	case wish[0] == wishHold:
		k.hold()
	}
}
