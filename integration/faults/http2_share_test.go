package faults

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// shared starts n streams that share one HTTP/2 connection and have seen some text,
// with one provider between them that goes on when its script is opened.
func shared(t *testing.T, p *Player, l *harness.LLMD, n int) (scripts []*Script, ends []<-chan *harness.Outcome) {
	t.Helper()
	for range n {
		s, done := held(t, p, l)
		scripts, ends = append(scripts, s), append(ends, done)
	}
	if c := p.Connections.Load(); c != 1 {
		t.Fatalf("%d connections, want one for all", c)
	}
	return scripts, ends
}

// one of the streams, to strike the connection by.
func exchangeOf(t *testing.T, p *Player, l *harness.LLMD) (*Exchange, func()) {
	t.Helper()
	w := chatWire()
	frames := w.Frames(Sample())
	got := make(chan *Exchange, 1)
	s := p.Add(func(e *Exchange) bool { e.Head(200); e.Play(frames[:3]); got <- e; return e.Hold() })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		harness.Run(ctx, l, request(w, s, ""), nil)
	}()
	select {
	case e := <-got:
		return e, func() { cancel(); <-done }
	case <-time.After(patience):
		cancel()
		t.Fatal("the provider was never reached")
		return nil, nil
	}
}

// TestHTTP2Neighbours: what ends one stream of a connection leaves the others alone.
func TestHTTP2Neighbours(t *testing.T) {
	t.Parallel()
	p := NewHTTP2Player(t)
	l := harness.Start(t, "", hosts(p, []*Wire{chatWire()})...)
	scripts, ends := shared(t, p, l, 20)
	w := chatWire()
	frames := w.Frames(Sample())
	for range 5 { // resets by the provider, cancels and Aborts
		s := p.Add(func(e *Exchange) bool { e.Head(200); e.Play(frames[:4]); return e.Reset() })
		if o := harness.Run(harness.Limited(t, 10*time.Second), l, request(w, s, ""), nil); o.Reason() != "PROVIDER_STREAM_TRUNCATED" {
			t.Errorf("%s: %s", o.Reason(), o.Words())
		}
		_, cancel := exchangeOf(t, p, l)
		cancel()
		s = p.Add(func(e *Exchange) bool { e.Head(200); e.Play(frames[:4]); e.Reach(); return e.Hold() })
		go func() {
			<-s.Reached
			_, err := l.Abort(harness.Limited(t, 10*time.Second), &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: s.key}})
			if err != nil {
				t.Error(err)
			}
		}()
		if o := harness.Run(harness.Limited(t, 10*time.Second), l, request(w, s, s.key), nil); o.Aborted.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_REQUESTED {
			t.Errorf("%v: %s", o.Aborted, o.Words())
		}
		select {
		case <-s.Gone:
		case <-time.After(patience):
			t.Error("the stream stays open after an Abort")
		}
	}
	for _, s := range scripts {
		s.Open()
	}
	for _, end := range ends {
		if o := <-end; o.Stop() != "TOOL_USE" || len(o.Faults) > 0 {
			t.Errorf("%s: %s, %v", o.Stop(), o.Words(), o.Faults)
		}
	}
	if c := p.Connections.Load(); c != 1 {
		t.Errorf("%d connections, want one for all", c)
	}
}

// TestHTTP2GoAway: the streams of a connection that takes no new ones end well, and
// new ones go elsewhere.
func TestHTTP2GoAway(t *testing.T) {
	t.Parallel()
	p := NewHTTP2Player(t)
	l := harness.Start(t, "", hosts(p, []*Wire{chatWire()})...)
	scripts, ends := shared(t, p, l, 10)
	e, end := exchangeOf(t, p, l)
	onHTTP2(e).goAway(onHTTP2(e).id, http2.ErrCodeNo)
	if !within(5*time.Second, func() bool {
		s := p.Add(answers(chatWire(), Sample()))
		if o := harness.Run(harness.Limited(t, 10*time.Second), l, request(chatWire(), s, ""), nil); o.Stop() != "TOOL_USE" {
			t.Errorf("after GOAWAY: %s: %s", o.Stop(), o.Words())
		}
		return p.Connections.Load() == 2
	}) {
		t.Errorf("%d connections, want a second one", p.Connections.Load())
	}
	for _, s := range scripts {
		s.Open()
	}
	for _, done := range ends {
		if o := <-done; o.Stop() != "TOOL_USE" || len(o.Faults) > 0 {
			t.Errorf("%s: %s, %v", o.Stop(), o.Words(), o.Faults)
		}
	}
	end()
}

// TestHTTP2Loss: a connection that goes takes its streams along, each with its
// partial, and nothing is asked for again.
func TestHTTP2Loss(t *testing.T) {
	t.Parallel()
	p := NewHTTP2Player(t)
	l := harness.Start(t, "", hosts(p, []*Wire{chatWire()})...)
	scripts, ends := shared(t, p, l, 10)
	e, end := exchangeOf(t, p, l)
	onHTTP2(e).drop()
	for i, done := range ends {
		o := <-done
		if o.Reason() != "PROVIDER_STREAM_TRUNCATED" || len(o.Message.GetContent()) != 2 || len(o.Faults) > 0 || scripts[i].Requests.Load() != 1 {
			t.Errorf("%s with %d blocks after %d requests, %v", o.Reason(), len(o.Message.GetContent()), scripts[i].Requests.Load(), o.Faults)
		}
	}
	end()
}

// TestHTTP2Retries: llmd's own retries count what net/http does not do by itself.
func TestHTTP2Retries(t *testing.T) {
	t.Parallel()
	w := chatWire()
	p := NewHTTP2Player(t)
	l := harness.Start(t, "", hosts(p, []*Wire{w})...)
	whole := answers(w, Sample())
	rst := func(code http2.ErrCode) func(*Exchange) bool {
		return func(e *Exchange) bool { onHTTP2(e).rst(code); return false }
	}
	for _, c := range []struct {
		name               string
		play               func(*Exchange) bool
		retries, requests  int32
		reason, llmdsTries string
	}{
		{name: "a reset is not hidden", play: turns(rst(http2.ErrCodeInternal), whole), requests: 1, reason: "PROVIDER_UNREACHABLE", llmdsTries: "1"},
		{name: "a reset is retried when asked for", play: turns(rst(http2.ErrCodeInternal), whole), retries: 1, requests: 2, llmdsTries: "2"},
		{name: "a refusal is not a try", play: turns(rst(http2.ErrCodeRefusedStream), whole), requests: 2, llmdsTries: "1"},
		{name: "refused for long", play: turns(rst(http2.ErrCodeRefusedStream), rst(http2.ErrCodeRefusedStream), rst(http2.ErrCodeRefusedStream), whole), retries: 1, requests: 4, llmdsTries: "2"},
		{name: "a status", play: turns(fails(429, limited, "Retry-After-Ms: 10"), whole), retries: 1, requests: 2, llmdsTries: "2"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			s := p.Add(c.play)
			req := request(w, s, "")
			req.Generation.Retry = &llmdv1.RetryPolicy{MaxRetries: c.retries}
			o := harness.Run(harness.Limited(t, 30*time.Second), l, req, nil)
			if n := s.Requests.Load(); n != c.requests || o.Trailer.Get("llmd-attempts")[0] != c.llmdsTries {
				t.Errorf("%d requests in %v tries, want %d in %s", n, o.Trailer.Get("llmd-attempts"), c.requests, c.llmdsTries)
			}
			if c.reason == "" && o.Stop() != "TOOL_USE" || c.reason != "" && o.Reason() != c.reason {
				t.Errorf("%s %s: %s", o.Stop(), o.Reason(), o.Words())
			}
		})
	}
}

// TestHTTP2StoppedReader: a reader that stops holds up no other stream of the same
// connection, and little memory; a watchdog does not take it for silence.
func TestHTTP2StoppedReader(t *testing.T) {
	w := chatWire()
	p := NewHTTP2Player(t)
	l := harness.Start(t, "", hosts(p, []*Wire{w})...)
	warm := harness.Run(harness.Limited(t, 10*time.Second), l, request(w, p.Add(answers(w, Sample())), ""), nil)
	if warm.Stop() != "TOOL_USE" {
		t.Fatal(warm.Words())
	}
	before := heap()
	const readers = 20
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	play := flood(w)
	var streams []llmdv1.InferenceService_StreamClient
	for i := range readers {
		conn := l.Dial(t)
		t.Cleanup(func() { _ = conn.Close() })
		req := request(w, p.Add(play), fmt.Sprint("stopped ", i))
		if i > 0 { // the first one goes on, on a machine that may be busy
			req.Generation.Watchdog = &llmdv1.Watchdog{IdleTimeout: durationpb.New(time.Second)}
		}
		s, err := llmdv1.NewInferenceServiceClient(conn).Stream(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	time.Sleep(1500 * time.Millisecond) // longer than the idle timeout
	each := (heap() - before) / readers
	t.Logf("%d stopped readers hold %d KiB each, in llmd, its client and the provider together", readers, each>>10)
	if each > 4<<20 {
		t.Errorf("%d bytes for each stopped reader", each)
	}
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			o := harness.Run(harness.Limited(t, 10*time.Second), l, request(w, p.Add(answers(w, Sample())), fmt.Sprint("beside ", i)), nil)
			if o.Stop() != "TOOL_USE" {
				t.Errorf("beside a stopped reader: %s: %s", o.Stop(), o.Words())
			}
		})
	}
	wg.Wait()
	goesOn(t, streams[0])
	for i := 1; i < readers; i++ {
		kept, err := l.GetResponse(ctx, &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_RequestId{RequestId: fmt.Sprint("stopped ", i)}})
		if err != nil || kept.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_PENDING {
			t.Errorf("a stopped reader's stream is %v, %v", kept.GetMessage().GetStopReason(), err)
		}
	}
	if c := p.Connections.Load(); c != 1 {
		t.Errorf("%d connections", c)
	}
}
