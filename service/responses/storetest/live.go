// Package storetest is what every responses.Store must do: one suite for all.
package storetest

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

// Live is a response that a test makes event by event.
type Live struct {
	ID string

	store  responses.Store
	owner  string
	done   chan struct{}
	mu     sync.Mutex
	events []*llmdv1.StreamResponse
	kept   int // the first event that is kept
	reason *string
	holds  int
	news   chan struct{}
	notify func()
}

// Begin claims a response and says started.
func Begin(ctx context.Context, s responses.Store, owner, id, request string) (*Live, responses.Claimed, error) {
	l := &Live{ID: id, store: s, owner: owner, done: make(chan struct{}), news: make(chan struct{})}
	c, err := s.Claim(ctx, &responses.Claim{Owner: owner, ResponseID: id, RequestID: request, Hash: [32]byte{7}, Live: l})
	if c.Known == nil {
		l.say(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Started{Started: &llmdv1.StartedEvent{ResponseId: id, RequestId: request, Provider: "p"}}})
	}
	return l, c, err
}

func (l *Live) say(e *llmdv1.StreamResponse) {
	l.mu.Lock()
	e.SequenceNumber = int32(len(l.events))
	l.events = append(l.events, e)
	close(l.news)
	l.news = make(chan struct{})
	notify := l.notify
	l.mu.Unlock()
	if notify != nil {
		notify()
	}
}

// Say adds words.
func (l *Live) Say(words ...string) {
	for _, w := range words {
		if len(l.Events()) == 1 {
			l.say(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_TextStart{TextStart: &llmdv1.TextStartEvent{}}})
		}
		l.say(&llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_TextDelta{TextDelta: &llmdv1.TextDeltaEvent{Delta: w}}})
	}
}

// End says done, or aborted if somebody asked for it.
func (l *Live) End() {
	m := l.message()
	l.mu.Lock()
	reason := l.reason
	l.mu.Unlock()
	e := &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Done{Done: &llmdv1.DoneEvent{Message: m}}}
	m.StopReason = llmdv1.StopReason_STOP_REASON_STOP
	if reason != nil {
		m.StopReason, m.Error = llmdv1.StopReason_STOP_REASON_ABORTED, &llmdv1.Error{Reason: "ABORT_REQUESTED"}
		e = &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Aborted{Aborted: &llmdv1.AbortedEvent{
			Cause: llmdv1.AbortCause_ABORT_CAUSE_REQUESTED, Message: m, Reason: *reason,
		}}}
	}
	l.say(e)
	events := l.Events()
	l.store.Finish(l.owner, l.ID, &responses.Record{
		Started: events[0], Terminal: events[len(events)-1], Message: m, Log: responses.NewLog(events[l.kept:]),
	}, nil)
	close(l.done)
}

// Fail ends it before its first event.
func (l *Live) Fail() {
	l.store.Finish(l.owner, l.ID, nil, &llmdv1.Error{Code: 14, Reason: "PROVIDER_OVERLOADED"})
	close(l.done)
}

// Events are all so far.
func (l *Live) Events() []*llmdv1.StreamResponse {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*llmdv1.StreamResponse(nil), l.events...)
}

func (l *Live) message() *llmdv1.AssistantMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return messageOf(l.ID, l.events)
}

func messageOf(id string, events []*llmdv1.StreamResponse) *llmdv1.AssistantMessage {
	m := &llmdv1.AssistantMessage{ResponseId: id, Provider: "p", StopReason: llmdv1.StopReason_STOP_REASON_PENDING}
	var text strings.Builder
	for _, e := range events {
		text.WriteString(e.GetTextDelta().GetDelta())
		if f, _ := responses.Final(e); f != nil {
			return f
		}
	}
	if len(events) > 1 {
		m.Content = []*llmdv1.AssistantContent{{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: text.String(), Incomplete: true}}}}
	}
	return m
}

// Abort implements responses.Live.
func (l *Live) Abort(reason string) bool {
	l.mu.Lock()
	first := l.reason == nil
	if first {
		l.reason = &reason
	}
	l.mu.Unlock()
	if first {
		go l.End()
	}
	return first
}

// Shutdown implements responses.Live.
func (*Live) Shutdown() {}

// Done implements responses.Live.
func (l *Live) Done() <-chan struct{} { return l.done }

// Snapshot implements responses.Live.
func (l *Live) Snapshot() *llmdv1.AssistantMessage { return l.message() }

// Hold implements responses.Live. As with a real response, it may have to wait for one
// that says something just now: a store must not be in the way of that.
func (l *Live) Hold() func() {
	l.mu.Lock()
	l.holds++
	notify := l.notify
	l.mu.Unlock()
	if notify != nil {
		notify()
	}
	return func() { l.mu.Lock(); l.holds--; l.mu.Unlock() }
}

// Holds is how many hold it now.
func (l *Live) Holds() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holds
}

// Follow implements responses.Live.
func (l *Live) Follow(after int32) responses.Trail { return &trail{live: l, next: int(after) + 1} }

type trail struct {
	live  *Live
	next  int
	ended bool
}

func (t *trail) Next(ctx context.Context) ([]*llmdv1.StreamResponse, error) {
	for {
		t.live.mu.Lock()
		news := t.live.news
		events := t.live.events[min(t.next, len(t.live.events)):]
		t.live.mu.Unlock()
		switch {
		case t.ended:
			return nil, io.EOF
		case len(events) > 0:
			t.next += len(events)
			t.ended = responses.Terminal(events[len(events)-1])
			return events, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (*trail) Close() {}

// Feed implements responses.Live.
func (l *Live) Feed(notify func()) responses.Feed {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notify = notify
	return &feed{live: l}
}

type feed struct {
	live *Live
	mu   sync.Mutex
	next int
}

func (f *feed) Take(most int) (out []*llmdv1.StreamResponse, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := f.live.Events()
	for size := 0; f.next < len(events) && size < most; f.next++ {
		size += proto.Size(events[f.next])
		out = append(out, events[f.next])
	}
	return out, f.next < len(events)
}

func (f *feed) Waiting() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.live.Events()[f.next:] {
		n += proto.Size(e)
	}
	return n
}

func (f *feed) Stand() (started, stand *llmdv1.StreamResponse) {
	events := f.live.Events()
	if len(events) == 0 {
		return nil, nil
	}
	last := events[len(events)-1]
	if responses.Terminal(last) {
		return events[0], last
	}
	return events[0], responses.Snapshot(messageOf(f.live.ID, events), last.GetSequenceNumber())
}

func (f *feed) Skip(number int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = max(f.next, int(number)+1)
}

func (*feed) Close() {}

// Word is a word of a text.
func Word(i int) string { return fmt.Sprintf("word%d ", i) }
