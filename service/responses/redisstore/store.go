package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

// Options are what a store is made of. All is required but the bounds and times.
type Options struct {
	Client redis.UniversalClient
	// Prefix begins the names of all keys.
	Prefix string
	// Instance names this process to people.
	Instance string
	// Keys encrypt (the first) and decrypt.
	Keys []Key
	// Lost spells the error of a response whose owner is gone.
	Lost func(instance string) *llmdv1.Error
	Log  *slog.Logger

	// Timeout bounds a round trip, 500 ms; Flush is the pause between writes, 50 ms;
	// Lease is how long a process counts as alive without a sign, 10 s.
	Timeout, Flush, Lease time.Duration
	// MaxResponseBytes is what is kept of one response in Redis, 8 MiB; MaxBytes what
	// this process keeps there, 256 MiB.
	MaxResponseBytes, MaxBytes int
	// BufferBytes is what may wait to be written of one response, 1 MiB;
	// MaxBufferBytes of all, 64 MiB.
	BufferBytes, MaxBufferBytes int
}

const (
	// failureTTL is how long those who follow a response can hear that it failed
	// before its first event.
	failureTTL = 10 * time.Second
	// closing is how long Close waits for what has ended to be written, lastEnds for
	// what runs to end.
	closing  = 3 * time.Second
	lastEnds = 300 * time.Millisecond
)

func (o *Options) defaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.Timeout, 500*time.Millisecond)
	set(&o.Flush, 50*time.Millisecond)
	set(&o.Lease, 10*time.Second)
	size := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	size(&o.MaxResponseBytes, 8<<20)
	size(&o.MaxBytes, 256<<20)
	size(&o.BufferBytes, 1<<20)
	size(&o.MaxBufferBytes, 64<<20)
}

// Store is the part of this process in what all share. It implements responses.Store.
type Store struct {
	options Options
	client  redis.UniversalClient
	scripts scripts
	names   names
	// token is this process, among all that ever were.
	token string
	// local knows the responses of this process without asking.
	local *responses.Registry
	log   *slog.Logger
	count counters

	reading, writing *health
	// reads and claims are the round trips that somebody waits for.
	reads, claims *batcher
	nudge         chan struct{} // something is to be written
	stop          context.CancelFunc
	stopped       sync.WaitGroup

	mu     sync.Mutex
	sinks  map[string]*sink // by the digest of the response
	dirty  []*sink
	stored int      // bytes in Redis of responses of this process
	ended  []ending // the oldest first
	// claiming are the request ids that this process asks Redis for just now.
	claiming map[string]chan struct{}
	// absent are the tokens of processes that give no sign of life, and since when.
	absent map[string]time.Time
	// limited is told of limits that are met; nil = nobody is.
	limited func(limit string)
}

// ending is a response in Redis that has ended.
type ending struct {
	id, request string
	bytes       int
	expires     time.Time
}

// names are those of keys and channels.
type names struct{ prefix string }

func (n names) hash(id string) string       { return n.prefix + ":{" + id + "}:m" }
func (n names) stream(id string) string     { return n.prefix + ":{" + id + "}:e" }
func (n names) request(id string) string    { return n.prefix + ":q:" + id }
func (n names) lease(token string) string   { return n.prefix + ":i:" + token }
func (n names) control(token string) string { return n.prefix + ":c:" + token }
func (n names) both(id string) []string     { return []string{n.hash(id), n.stream(id)} }

// New makes a store and begins its work. Redis need not be there.
func New(o Options) (*Store, error) {
	if len(o.Keys) == 0 {
		return nil, errors.New("redisstore: no encryption key")
	}
	for _, k := range o.Keys {
		if len(k.Secret) != 32 || k.ID == "" || len(k.ID) > 32 {
			return nil, errors.New("redisstore: an encryption key must have 32 bytes, and an id of at most 32")
		}
	}
	o.defaults()
	ctx, stop := context.WithCancel(context.Background())
	s := &Store{
		options: o, client: o.Client, scripts: newScripts(), names: names{prefix: o.Prefix},
		token: o.Instance + "#" + rand.Text(), local: responses.New(true), log: o.Log,
		reading: newHealth("read", o.Log), writing: newHealth("written", o.Log),
		nudge: make(chan struct{}, 1), stop: stop, sinks: map[string]*sink{}, absent: map[string]time.Time{}, claiming: map[string]chan struct{}{},
	}
	s.reads, s.claims = newBatcher(s, s.reading), newBatcher(s, s.writing)
	for _, work := range []func(context.Context){s.writeLoop, s.reads.loop, s.claims.loop, s.beatLoop, s.renewLoop, s.listen} {
		s.stopped.Go(func() { work(ctx) })
	}
	return s, nil
}

// Shared implements responses.Store.
func (*Store) Shared() bool { return true }

// Running implements responses.Store.
func (s *Store) Running() []responses.Live { return s.local.Running() }

// Close implements responses.Store: what has ended is written, if Redis takes it.
func (s *Store) Close() {
	begun := time.Now()
	for s.writing.failing() == "" {
		running, ended := s.open()
		if took := time.Since(begun); ended == 0 && (running == 0 || took > lastEnds) || took > closing {
			break
		}
		s.wake()
		time.Sleep(5 * time.Millisecond)
	}
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
	defer cancel()
	_ = s.client.Del(ctx, s.names.lease(s.token)).Err() // it expires by itself otherwise
	_ = s.client.Close()
	s.stopped.Wait()
	s.local.Close()
}

// open counts the responses that run, and those that have ended and are not written.
func (s *Store) open() (running, ended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.sinks {
		if k.ended() == nil {
			running++
		} else {
			ended++
		}
	}
	return running, ended
}

// Claim implements responses.Store.
func (s *Store) Claim(ctx context.Context, c *responses.Claim) (responses.Claimed, error) {
	if c.RequestID == "" {
		out, err := s.local.Claim(ctx, c)
		s.touch(s.newSink(c))
		return out, err
	}
	release, err := s.alone(ctx, digest(c.Owner, c.RequestID))
	if err != nil {
		return s.claimHere(ctx, c, err)
	}
	defer release()
	if here, err := s.local.Known(ctx, responses.Key{Owner: c.Owner, RequestID: c.RequestID}); err == nil && here.Live != nil {
		return responses.Claimed{Known: here}, nil
	}
	k := s.newSink(c)
	known, early, err := s.claimID(ctx, k)
	if known != nil {
		s.drop(k)
		return responses.Claimed{Known: known}, nil
	}
	out, _ := s.local.Claim(ctx, c)
	if out.Known != nil { // it ended here, and Redis cannot be asked
		s.drop(k)
		return out, nil
	}
	if early != nil {
		out.Aborted, out.Reason = true, *early
	}
	s.touch(k)
	return out, err
}

// claimHere registers a response that nobody asked Redis for: its caller has left.
func (s *Store) claimHere(ctx context.Context, c *responses.Claim, why error) (responses.Claimed, error) {
	out, _ := s.local.Claim(ctx, c)
	if out.Known == nil {
		s.touch(s.newSink(c))
	}
	return out, why
}

// alone makes sure that this process asks once at a time for a request id: who
// comes second finds what the first one got.
func (s *Store) alone(ctx context.Context, id string) (release func(), err error) {
	for {
		s.mu.Lock()
		other := s.claiming[id]
		if other == nil {
			mine := make(chan struct{})
			s.claiming[id] = mine
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				delete(s.claiming, id)
				s.mu.Unlock()
				close(mine)
			}, nil
		}
		s.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// claimID takes the request id of a response for it, unless it is known.
func (s *Store) claimID(ctx context.Context, k *sink) (known *responses.Known, early *string, err error) {
	replace := ""
	for tried := time.Now(); ; {
		v, err := s.tryClaim(ctx, k, replace)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case v == "" || v == replace:
			return nil, nil, nil
		case v[0] == 'T':
			reason, err := k.requestBox.open("tomb", v[1:])
			if err != nil {
				return nil, nil, err
			}
			text := string(reason)
			return nil, &text, nil
		}
		id, token, _ := strings.Cut(v[1:], "\n")
		known, err := s.find(ctx, k.owner, id)
		if err == nil {
			return &responses.Known{ResponseID: id, Hash: known.info.Hash}, nil, nil
		}
		if errors.Is(err, errForeign) {
			replace = v
			continue
		}
		if !errors.Is(err, responses.ErrNotFound) {
			return nil, nil, err
		}
		// Its owner may be about to write it; else it is gone, or its owner is.
		alive, err := s.alive(ctx, token)
		if err != nil {
			return nil, nil, err
		}
		if !alive || time.Since(tried) > s.options.Lease {
			replace = v
			continue
		}
		if !sleep(ctx, s.options.Flush) {
			return nil, nil, ctx.Err()
		}
	}
}

// alive: the process of a token gave a sign of life.
func (s *Store) alive(ctx context.Context, token string) (bool, error) {
	var exists *redis.IntCmd
	err := s.reads.ask(ctx, func(ctx context.Context, p redis.Pipeliner) { exists = p.Exists(ctx, s.names.lease(token)) })
	if err == nil {
		err = answered(exists)
	}
	return err == nil && exists.Val() == 1, err
}

// mark is the value of a request id that leads to a response of this process.
func (s *Store) mark(responseID string) string { return "R" + responseID + "\n" + s.token }

// tryClaim asks once; the answer is what the id had.
func (s *Store) tryClaim(ctx context.Context, k *sink, replace string) (string, error) {
	var claim *redis.Cmd
	err := s.claims.ask(ctx, func(ctx context.Context, p redis.Pipeliner) {
		claim = s.scripts.claim.EvalSha(ctx, p, []string{s.names.request(k.requestDigest)}, s.mark(k.responseID), s.ttl().Milliseconds(), replace)
	})
	if err == nil {
		err = answered(claim)
	}
	if err != nil {
		return "", err
	}
	return claim.Text()
}

// ttl is how long a running response is kept without a sign of its owner.
func (s *Store) ttl() time.Duration { return responses.TTL + 2*s.options.Lease }

// run makes one round trip. Errors of single commands are theirs; what stands for
// Redis failing is returned as a store's error.
func (s *Store) run(ctx context.Context, h *health, fill func(context.Context, redis.Pipeliner)) error {
	if err := h.ask(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	for again := true; ; again = false {
		cmds, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error { fill(ctx, p); return nil })
		if again && lacksScripts(cmds) {
			// Some nodes of a cluster may be away, and others have them now: what is asked
			// again tells.
			_ = s.scripts.load(ctx, s.client)
			continue
		}
		if err = firstFailure(cmds, err); err != nil {
			s.count.failures.Add(1)
			if cluster, ok := s.client.(*redis.ClusterClient); ok {
				cluster.ReloadState(ctx) // by itself it would ask a dead master for a minute
			}
		}
		return h.note(err)
	}
}

// about: the error is about one key, and says nothing of Redis. One that begins with ERR
// is only where a script met it: else it is about the connection.
func about(err error) bool {
	text := said(err)
	return errors.Is(err, redis.Nil) || strings.HasPrefix(text, "WRONGTYPE ") || strings.HasPrefix(text, "ERR ") && strings.Contains(text, "user_script")
}

// said is the text of an error as Redis means it. Redis 6 puts the error of a command
// of a script into words of its own:
//
//	ERR Error running script (call to f_2d): @user_script:1: @user_script: 1: -OOM command not allowed
func said(err error) string {
	text := err.Error()
	if strings.HasPrefix(text, "ERR Error running script") {
		if _, inner, ok := strings.Cut(text, ": -"); ok && !strings.HasPrefix(inner, "ERR ") {
			return inner
		}
	}
	return text
}

// answered is the first error of commands whose round trip went well, as a store's.
func answered(cmds ...redis.Cmder) error {
	for _, c := range cmds {
		if err := c.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return unreadable(err)
		}
	}
	return nil
}

// firstFailure is the first error that is not an answer.
func firstFailure(cmds []redis.Cmder, err error) error {
	for _, c := range cmds {
		if e := c.Err(); e != nil && !about(e) {
			return e
		}
	}
	if err != nil && about(err) {
		return nil
	}
	return err
}
