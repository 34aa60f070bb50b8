package generation

import (
	"cmp"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/stack"
)

// linger is how long a sender waits for the next event before it leaves: longer than
// the pauses between the deltas of a running answer.
const linger = 250 * time.Millisecond

// sender is the goroutine that sends a reader's events. It is apart from the one that
// waits for the end of the stream, because a send may block for as long as the client
// does not read, and from the one that reads the provider, for the same reason.
//
// Most open streams wait: for the first word, or while a tool of the provider's runs.
// A sender that has nothing to do for a while leaves, and the queue starts another
// one for the next event: a goroutine that waits takes 4 KiB.
type sender struct {
	reader *Reader
	send   func(*llmdv1.StreamResponse) error
	// beat is the pause between heartbeats, which keep a sender; 0 = there are none.
	beat time.Duration
	// stays: it does not leave before the end. A timer for each stream costs more than
	// the memory where there are few goroutines.
	stays bool
	// sent gets the end of the last sender, of which there is one.
	sent chan error
}

// start begins a sender. The queue calls it when there is something to do and nobody
// there.
func (s *sender) start() {
	go func() {
		stack.Grow()
		if end, err := s.guarded(); end {
			s.sent <- err
		}
	}()
}

// guarded is run for a goroutine whose panic must not take the process along.
func (s *sender) guarded() (end bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			s.reader.run.engine.panicked(v)
			end, err = true, errPanic
		}
	}()
	return s.run()
}

// run sends until the queue is closed and empty, or until nothing has come for a
// while; then end is false.
func (s *sender) run() (end bool, err error) {
	rd := s.reader
	var quiet <-chan time.Time
	if s.beat > 0 || !s.stays {
		ticker := time.NewTicker(cmp.Or(s.beat, linger))
		defer ticker.Stop()
		quiet = ticker.C
	}
	for busy := true; ; {
		e, ok, closed := rd.queue.pop()
		switch {
		case ok:
			busy = true
			if err := rd.deliver(&e, s.send); err != nil {
				return true, err
			}
			continue
		case closed:
			return true, nil
		}
		select {
		case <-rd.queue.wake():
		case <-quiet:
			switch {
			case s.beat > 0:
				if err := rd.heartbeat(s.send); err != nil {
					return true, err
				}
			case busy:
				busy = false // from now on, for one more turn
			case rd.queue.rest():
				return false, nil
			}
		}
	}
}

// heartbeat sends one, unless the stream has not begun or is about to end.
func (rd *Reader) heartbeat(send func(*llmdv1.StreamResponse) error) error {
	silence, ok := rd.silence()
	if !ok || rd.sequence == 0 { // started comes first
		return nil
	}
	e := event{response: &llmdv1.StreamResponse{Event: &llmdv1.StreamResponse_Heartbeat{Heartbeat: &llmdv1.HeartbeatEvent{
		UpstreamIdleDuration: durationpb.New(silence),
	}}}}
	switch {
	case rd.trail != nil:
		e.number = rd.sequence // that of the event before
	case rd.run.beat(e):
		return nil // it comes back with its number
	}
	return rd.deliver(&e, send)
}

// deliver numbers an event and sends it.
func (rd *Reader) deliver(e *event, send func(*llmdv1.StreamResponse) error) error {
	if e.kind == 0 && rd.options.GetOmitFinalMessage() {
		e.response = omitContent(e.response)
	}
	if e.number > 0 {
		rd.sequence = e.number - 1
	}
	out := e.numbered(rd.sequence)
	rd.sequence++
	rd.sending.Store(max(int64(time.Since(rd.run.engine.began)), 1))
	err := send(out)
	rd.sending.Store(0)
	return err
}
