package redisstore

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/accumulate"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

// Known implements responses.Store.
func (s *Store) Known(ctx context.Context, k responses.Key) (*responses.Known, error) {
	here, herr := s.local.Known(ctx, k)
	if herr == nil && here.Live != nil {
		return here, nil
	}
	r, err := s.lookUp(ctx, k)
	switch {
	case err == nil:
		return &responses.Known{ResponseID: r.info.ResponseID, Hash: r.info.Hash}, nil
	case herr == nil:
		return here, nil // Redis has lost it, or is away
	}
	return nil, err
}

// Abort implements responses.Store.
func (s *Store) Abort(ctx context.Context, k responses.Key, reason string) (*responses.Receipt, error) {
	if here, err := s.local.Known(ctx, k); err == nil && here.Live != nil {
		receipt, err := responses.AbortLive(ctx, here.Live, reason)
		if errors.Is(err, responses.ErrNotFound) {
			return nil, s.bury(ctx, k, reason)
		}
		return receipt, err
	}
	r, err := s.lookUp(ctx, k)
	switch {
	case errors.Is(err, responses.ErrNotFound):
		if here, herr := s.local.Known(ctx, k); herr == nil && here.Record != nil {
			return &responses.Receipt{Message: here.Record.Message, ContentOmitted: here.Record.ContentOmitted, Finished: true}, nil
		}
		return nil, s.bury(ctx, k, reason)
	case err != nil:
		return nil, err
	case r.state.state == "r":
		if err := s.wish(ctx, r, wishAbort, reason); err != nil {
			return nil, err
		}
	}
	running := r.state.state == "r"
	last, err := r.terminal(ctx)
	if errors.Is(err, responses.ErrNotFound) {
		return nil, s.bury(ctx, k, reason)
	}
	if err != nil {
		return nil, err
	}
	m, omitted, err := r.final(ctx, last)
	if err != nil {
		return nil, err
	}
	by := last.GetAborted().GetCause() == llmdv1.AbortCause_ABORT_CAUSE_REQUESTED
	return &responses.Receipt{Message: m, ContentOmitted: omitted, Finished: !running || !by}, nil
}

// bury leaves a tombstone for a request id that is not known.
func (s *Store) bury(ctx context.Context, k responses.Key, reason string) error {
	if k.RequestID == "" {
		return responses.ErrNotFound
	}
	id := digest(k.Owner, k.RequestID)
	sealed, err := newBox(s.options.Keys, id).seal("tomb", []byte(reason))
	if err != nil {
		return err
	}
	var set *redis.BoolCmd
	err = s.claims.ask(ctx, func(ctx context.Context, p redis.Pipeliner) {
		set = p.SetNX(ctx, s.names.request(id), "T"+string(sealed), responses.TombstoneTTL)
	})
	if err == nil {
		err = answered(set)
	}
	if err != nil {
		return err
	}
	return responses.ErrNotFound
}

// wish tells the owner of a response something. An abort is left in the hash, too:
// messages may be missed.
func (s *Store) wish(ctx context.Context, r *remote, what byte, reason string) error {
	text := string(what) + r.id
	var sealed []byte
	if what == wishAbort {
		var err error
		if sealed, err = r.box.seal("abort", []byte(reason)); err != nil {
			return err
		}
		text += string(sealed)
	}
	left := &redis.Cmd{}
	err := s.claims.ask(ctx, func(ctx context.Context, p redis.Pipeliner) {
		if what == wishAbort {
			left = s.scripts.abort.EvalSha(ctx, p, []string{s.names.hash(r.id)}, sealed)
		}
		p.Publish(ctx, s.names.control(r.state.token), text)
	})
	if err == nil {
		err = answered(left)
	}
	return err
}

// terminal waits for the last event.
func (r *remote) terminal(ctx context.Context) (*llmdv1.StreamResponse, error) {
	t := &trail{remote: r, asked: r.state.next - 2, position: r.state.next - 2, endOnly: true}
	defer t.Close()
	for {
		events, err := t.Next(ctx)
		if _, failed := errors.AsType[*responses.StatusError](err); failed || errors.Is(err, responses.ErrGone) {
			return nil, responses.ErrNotFound // it is not remembered
		}
		if err != nil {
			return nil, err
		}
		if e := events[len(events)-1]; responses.Terminal(e) {
			return e, nil
		}
	}
}

// final is the message of a response that has ended. omitted: its content is not
// kept.
func (r *remote) final(ctx context.Context, last *llmdv1.StreamResponse) (m *llmdv1.AssistantMessage, omitted bool, err error) {
	m, omitted = responses.Final(last)
	if !omitted {
		return m, false, nil
	}
	again, err := r.store.find(ctx, r.info.Owner, r.info.ResponseID)
	if err != nil || again.state.extra == "" {
		return m, true, err
	}
	text, err := r.box.open("message", again.state.extra)
	if err != nil {
		return nil, false, err
	}
	whole := &llmdv1.AssistantMessage{}
	return whole, false, proto.Unmarshal(text, whole)
}

// Message implements responses.Store.
func (s *Store) Message(ctx context.Context, k responses.Key, wait time.Duration) (*responses.Kept, error) {
	if here, err := s.local.Known(ctx, k); err == nil && here.Live != nil {
		return s.local.Message(ctx, k, wait)
	}
	r, err := s.lookUp(ctx, k)
	if err != nil {
		if kept, herr := s.local.Message(ctx, k, 0); herr == nil {
			return kept, nil
		}
		return nil, err
	}
	if r.state.state == "r" {
		if wait > 0 {
			limited, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			last, err := r.terminal(limited)
			switch {
			case err == nil:
				return r.kept(ctx, last)
			case ctx.Err() != nil || limited.Err() == nil:
				return nil, errors.Join(ctx.Err(), err)
			}
		} else if !s.living(ctx, r) {
			if err := r.endLost(ctx); err != nil {
				return nil, err
			}
		}
	}
	kept, err := r.kept(ctx, nil)
	if errors.Is(err, responses.ErrNotFound) {
		if here, herr := s.local.Message(ctx, k, 0); herr == nil {
			return here, nil // Redis has lost the events
		}
	}
	return kept, err
}

// kept is the message as it is in Redis now.
func (r *remote) kept(ctx context.Context, last *llmdv1.StreamResponse) (*responses.Kept, error) {
	if last == nil {
		a, err := r.fold(ctx)
		if err != nil {
			return nil, err
		}
		if last = a.last; last == nil {
			return r.partial(a)
		}
	}
	m, omitted, err := r.final(ctx, last)
	if err != nil {
		return nil, err
	}
	var ttl *redis.DurationCmd
	err = r.store.reads.ask(ctx, func(ctx context.Context, p redis.Pipeliner) { ttl = p.PTTL(ctx, r.store.names.hash(r.id)) })
	if err == nil {
		err = answered(ttl)
	}
	if err != nil {
		return nil, err
	}
	return &responses.Kept{Message: m, ContentOmitted: omitted, ExpireTime: time.Now().Add(max(ttl.Val(), 0))}, nil
}

// partial is the message of a response of which Redis has no end.
func (r *remote) partial(f *folded) (*responses.Kept, error) {
	switch {
	case r.state.state == "r":
	case f.started == nil:
		return nil, responses.ErrNotFound // Redis has lost the events
	default:
		return nil, unreadable(errDamaged)
	}
	m := f.Message()
	m.ResponseId = r.info.ResponseID
	if f.omitted {
		m.Content = nil
	}
	return &responses.Kept{Message: m, ContentOmitted: f.omitted}, nil
}

// folded is all that Redis has of a response.
type folded struct {
	accumulate.Accumulator
	started *llmdv1.StreamResponse
	last    *llmdv1.StreamResponse // the terminal event, if it is there
	next    int32
	omitted bool // some of the content is not kept, or was lost
}

// from is where reading goes on. A snapshot that stands for what was read may follow.
func (f *folded) from() string {
	if f.omitted {
		return checkpointAt(f.next - 1)
	}
	return entryFrom(f.next - 1)
}

func (r *remote) fold(ctx context.Context) (*folded, error) {
	f := &folded{}
	for {
		a, err := r.store.read(ctx, r.id, f.from())
		if err != nil {
			return nil, err
		}
		for i := range a.entries {
			e, err := openEntry(r.box, &a.entries[i], f.next-1)
			if err != nil {
				return nil, err
			}
			f.take(e)
		}
		if len(a.entries) < readEntries {
			if f.next < r.state.next {
				f.next, f.omitted = r.state.next, true
			}
			return f, nil
		}
	}
}

// take adds one entry.
func (f *folded) take(e entry) {
	if len(e.events) == 0 {
		return
	}
	switch {
	case e.checkpoint:
		f.Accumulator = accumulate.Accumulator{}
		f.omitted = e.events[len(e.events)-1].GetSnapshot().GetContentOmitted()
	case e.events[0].GetSequenceNumber() != f.next:
		f.omitted = true
	}
	for _, event := range e.events {
		f.Add(event)
		if event.GetStarted() != nil {
			f.started = event
		}
		if responses.Terminal(event) {
			f.last = event
		}
		f.next = event.GetSequenceNumber() + 1
	}
}

// Follow implements responses.Store.
func (s *Store) Follow(ctx context.Context, k responses.Key, after int32) (responses.Trail, error) {
	here, herr := s.local.Known(ctx, k)
	live := herr == nil && here.Live != nil
	r, err := s.lookUp(ctx, k)
	switch {
	case err == nil:
		t := &trail{remote: r, asked: after, position: after}
		if live {
			t.release = here.Live.Hold()
		}
		return t, nil
	case live && errors.Is(err, responses.ErrNotFound): // it will be there in a moment
		r = &remote{store: s, id: digest(k.Owner, here.ResponseID)}
		r.box = newBox(s.options.Keys, r.id)
		return &trail{remote: r, asked: after, position: after, release: here.Live.Hold()}, nil
	case live: // Redis cannot be asked: what this process knows will do
		if t := here.Live.Follow(after); t != nil {
			return t, nil
		}
	case herr == nil: // Redis has lost it, or is away
		return here.Record.Trail(after)
	}
	return nil, err
}

// Pauses of a trail between questions, growing while nothing comes.
const (
	shortest = 20 * time.Millisecond
	longest  = 400 * time.Millisecond
)

// trail follows a response in Redis.
type trail struct {
	remote   *remote
	asked    int32 // the caller's number
	position int32 // of the last event that was read
	ended    bool
	pause    time.Duration
	watch    time.Time // when the owner was told last
	failing  time.Time // since when Redis cannot be asked
	missing  time.Time // since when it lacks the response
	behind   bool      // events are gone: a snapshot must come
	release  func()    // for a response of this process
	endOnly  bool      // nothing counts but the terminal event
}

// Close implements responses.Trail.
func (t *trail) Close() {
	if t.release != nil {
		t.release()
		t.release = nil
	}
}

// Next implements responses.Trail.
func (t *trail) Next(ctx context.Context) ([]*llmdv1.StreamResponse, error) {
	s := t.remote.store
	for !t.ended {
		t.tell(ctx)
		a, err := s.read(ctx, t.remote.id, t.from())
		if events, err := t.take(ctx, a, err); len(events) > 0 || err != nil {
			return events, err
		}
		t.pause = min(max(2*t.pause, shortest), longest)
		if !sleep(ctx, t.pause) {
			return nil, ctx.Err()
		}
	}
	return nil, io.EOF
}

// from is where reading goes on.
func (t *trail) from() string {
	if t.behind {
		return checkpointAt(t.position)
	}
	return entryFrom(t.position)
}

// tell lets the owner know that somebody follows.
func (t *trail) tell(ctx context.Context) {
	if t.release == nil && t.remote.state.state == "r" && time.Since(t.watch) > watchEvery {
		t.watch = time.Now()
		_ = t.remote.store.wish(ctx, t.remote, wishHold, "") // the next time will do
	}
}

// take makes events of an answer; none = ask again.
func (t *trail) take(ctx context.Context, a answer, err error) ([]*llmdv1.StreamResponse, error) {
	lease := t.remote.store.options.Lease
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, patient(&t.failing, lease, err)
	}
	t.failing = time.Time{}
	if a.state.token == "" { // its owner will write it again, if there is one
		return nil, patient(&t.missing, lease, responses.ErrNotFound)
	}
	t.missing, t.remote.state = time.Time{}, a.state
	for i := range a.entries {
		e, err := openEntry(t.remote.box, &a.entries[i], t.position)
		if err != nil {
			return nil, err
		}
		if events, err := t.see(e); len(events) > 0 || err != nil {
			return events, err
		}
	}
	if len(a.entries) == 0 {
		return t.nothing(ctx, a.state)
	}
	return nil, nil
}

// patient gives an error only when it has lasted.
func patient(since *time.Time, limit time.Duration, err error) error {
	if since.IsZero() {
		*since = time.Now()
	}
	if time.Since(*since) < limit {
		return nil
	}
	return err
}

// see takes one entry. The next one is read the next time.
func (t *trail) see(e entry) ([]*llmdv1.StreamResponse, error) {
	if len(e.events) == 0 {
		return nil, nil
	}
	t.pause = 0
	events, last := e.events, e.events[len(e.events)-1]
	number := last.GetSequenceNumber()
	switch {
	case t.endOnly:
		events = events[len(events)-1:]
	case !e.checkpoint && (t.behind || events[0].GetSequenceNumber() != t.position+1):
		t.position, t.behind = number, true
		return nil, nil
	case !e.checkpoint:
	case number <= t.position && !t.behind:
		return nil, nil
	case responses.Terminal(last) && number == t.position+1:
		events = events[len(events)-1:]
	default:
		m, omitted := responses.Final(last)
		if omitted || last.GetSnapshot().GetContentOmitted() {
			return nil, responses.ErrGone
		}
		if m != nil {
			events = []*llmdv1.StreamResponse{events[0], responses.Snapshot(responses.Pending(m), number-1), last}
		}
	}
	t.position, t.behind, t.ended = number, false, responses.Terminal(last)
	return events, nil
}

// nothing: there are no events behind the position. That may be the end.
func (t *trail) nothing(ctx context.Context, st state) ([]*llmdv1.StreamResponse, error) {
	r := t.remote
	if t.behind {
		return nil, responses.ErrGone
	}
	switch st.state {
	case "f":
		return nil, r.failure(st)
	case "e":
		return t.again(ctx)
	}
	if r.store.living(ctx, r) {
		return nil, nil
	}
	return nil, r.endLost(ctx)
}

// failure is why a response never had an event.
func (r *remote) failure(st state) error {
	e := &llmdv1.Error{}
	text, err := r.box.open("failure", st.extra)
	if err == nil {
		err = proto.Unmarshal(text, e)
	}
	if err != nil {
		return err
	}
	return &responses.StatusError{Status: e}
}

// again is the terminal event for a caller that has seen it, or more than was kept of
// a lost response.
func (t *trail) again(ctx context.Context) ([]*llmdv1.StreamResponse, error) {
	a, err := t.remote.store.read(ctx, t.remote.id, entryFrom(t.remote.state.next-2))
	if err != nil {
		return nil, err
	}
	if len(a.entries) == 0 {
		return nil, responses.ErrGone // Redis has lost them
	}
	e, err := openEntry(t.remote.box, &a.entries[len(a.entries)-1], -1)
	if err != nil || len(e.events) == 0 {
		return nil, err
	}
	last := e.events[len(e.events)-1]
	if last.GetSequenceNumber() > t.position {
		return nil, nil // it came between the two answers: it is read in its turn
	}
	if !responses.Terminal(last) {
		return nil, unreadable(errDamaged)
	}
	if t.asked > last.GetSequenceNumber() && last.GetAborted().GetCause() != llmdv1.AbortCause_ABORT_CAUSE_INSTANCE_LOST {
		return nil, &responses.BeyondEndError{Last: last.GetSequenceNumber()}
	}
	t.ended = true
	return []*llmdv1.StreamResponse{last}, nil
}
