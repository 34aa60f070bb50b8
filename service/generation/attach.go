package generation

import (
	"context"
	"errors"
	"io"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

// Attach follows a response that another call began, behind the event of a number;
// -1 = from its beginning. Of req only the options and the deadline are of account.
func (e *Engine) Attach(ctx context.Context, k responses.Key, after int32, req *Request) (*Reader, error) {
	return e.take(ctx, k, nil, after, req)
}

// take is a reader of a known response: of its numbered events where it has such,
// else from a snapshot on, with numbers of its own.
func (e *Engine) take(ctx context.Context, k responses.Key, known *responses.Known, after int32, req *Request) (*Reader, error) {
	trail, err := e.cfg.Store.Follow(ctx, k, after)
	switch {
	case err == nil:
		return e.followed(trail, k, req), nil
	case !errors.Is(err, responses.ErrUnnumbered):
		return nil, err
	case known == nil:
		if known, err = e.cfg.Store.Known(ctx, k); err != nil {
			return nil, err
		}
	}
	if known.Record != nil {
		return e.replay(known.Record, req.Options), nil
	}
	r, ok := known.Live.(*Run)
	if !ok {
		return nil, responses.ErrNotFound
	}
	if reader := r.join(req, true); reader != nil {
		return reader, nil
	}
	// It ended just now.
	<-r.Done()
	if again, err := e.cfg.Store.Known(ctx, k); err == nil && again.Record != nil {
		return e.replay(again.Record, req.Options), nil
	}
	return e.ended(r.Err(), nil, nil), nil
}

// followed is a reader of a trail.
func (e *Engine) followed(trail responses.Trail, k responses.Key, req *Request) *Reader {
	r := &Run{engine: e, request: &Request{RequestID: k.RequestID}, done: make(chan struct{}), ended: true, asm: &assembler{message: &llmdv1.AssistantMessage{ResponseId: k.ResponseID}}}
	return &Reader{run: r, queue: newQueue(), options: req.Options, soft: req.SoftDeadline, trail: trail, key: k}
}

// pump moves the events of the trail into the queue until stop is called.
func (rd *Reader) pump(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer rd.trail.Close()
		err := rd.run.guard(func() error { return rd.readTrail(ctx) })
		rd.run.viewed(err)
		rd.queue.close(false)
	}()
	return func() { cancel(); <-over }
}

// viewed keeps what the status says.
func (r *Run) viewed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// readTrail reads the trail to its end and returns what the status says.
func (rd *Reader) readTrail(ctx context.Context) error {
	for {
		events, err := rd.trail.Next(ctx)
		for _, e := range events {
			rd.queue.push(event{response: e, number: e.GetSequenceNumber() + 1})
		}
		if len(events) > 0 {
			rd.run.saw(events)
		}
		switch {
		case errors.Is(err, io.EOF):
			return rd.run.status()
		case err != nil:
			return err
		}
		for rd.queue.full() {
			select {
			case <-rd.queue.space():
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// saw keeps what is told of a response that is followed: ids, its end.
func (r *Run) saw(events []*llmdv1.StreamResponse) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = time.Now()
	for _, e := range events {
		if s := e.GetStarted(); s != nil {
			r.started = e
			r.asm.message = &llmdv1.AssistantMessage{ResponseId: s.GetResponseId(), Api: s.GetApi(), Provider: s.GetProvider(), Model: s.GetModel()}
		}
		if m, _ := responses.Final(e); m != nil {
			r.terminal, r.asm.message = e, m
		}
	}
}

// status is what the last event says.
func (r *Run) status() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return responses.StatusOf(r.terminal)
}

// silence is how long the provider has been silent, as far as this reader can tell.
func (rd *Reader) silence() (time.Duration, bool) {
	if rd.trail == nil {
		return rd.run.silence()
	}
	rd.run.mu.Lock()
	defer rd.run.mu.Unlock()
	return time.Since(rd.run.heard), rd.run.terminal == nil && !rd.run.heard.IsZero()
}

// waitTrail is Wait for a response that is followed from its beginning.
func (rd *Reader) waitTrail(ctx context.Context) (started *llmdv1.StartedEvent, m *llmdv1.AssistantMessage, err error) {
	defer rd.trail.Close()
	defer func() { rd.run.viewed(err) }()
	view, end := rd.view(ctx)
	defer end()
	started, m, err = rd.foldTrail(view)
	if view.Err() != nil && ctx.Err() == nil && errors.Is(err, view.Err()) {
		err = context.Cause(view)
	}
	return started, m, err
}

// view is ctx, and ends with [ErrViewOver] or [ErrViewClosed].
func (rd *Reader) view(ctx context.Context) (view context.Context, end func()) {
	view, over := context.WithCancelCause(ctx)
	closing := context.AfterFunc(rd.run.engine.closing, func() {
		time.AfterFunc(lastEvents, func() { over(ErrViewClosed) })
	})
	cancel := func() {}
	if !rd.soft.IsZero() {
		view, cancel = context.WithDeadlineCause(view, rd.soft, ErrViewOver)
	}
	return view, func() { closing(); cancel(); over(nil) }
}

// foldTrail reads to the end.
func (rd *Reader) foldTrail(ctx context.Context) (*llmdv1.StartedEvent, *llmdv1.AssistantMessage, error) {
	for {
		events, err := rd.trail.Next(ctx)
		if len(events) > 0 {
			rd.run.saw(events)
		}
		switch {
		case errors.Is(err, io.EOF):
			if err := rd.run.status(); err != nil {
				return nil, nil, err
			}
			if _, omitted := responses.Final(rd.run.terminal); omitted {
				kept, err := rd.run.engine.cfg.Store.Message(ctx, rd.key, 0)
				if err != nil {
					return nil, nil, err
				}
				return rd.run.started.GetStarted(), kept.Message, nil
			}
			return rd.run.started.GetStarted(), rd.run.asm.message, nil
		case err != nil:
			return nil, nil, err
		}
	}
}
