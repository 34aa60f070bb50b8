package faults

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// floodBytes is the text of a long answer, in pieces of floodPiece.
const (
	floodBytes = 20 << 20
	floodPiece = 32 << 10
)

// flood plays a long answer; the bytes are shared by all that play it.
func flood(w *Wire) func(*Exchange) bool {
	piece := strings.Repeat("abcdefgh", floodPiece/8)
	frames := w.Frames(Answer{ID: "flood", Text: []string{piece}, In: 1, Out: 1})
	return func(e *Exchange) bool {
		e.Head(200, "Content-Type: "+w.ContentType)
		for _, f := range frames {
			n := 1
			if f.Kind == Text {
				n = floodBytes / floodPiece
			}
			for range n {
				if !e.Send(f.Data) {
					return false
				}
			}
		}
		return e.End()
	}
}

// heap is what is in use after a collection.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestStoppedReaders: readers that stop cost little memory, and lose nothing when
// they go on.
func TestStoppedReaders(t *testing.T) {
	const readers = 50
	w := chatWire()
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, []*Wire{w})...)
	play := flood(w)
	before := heap()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// A connection each: readers that stop must not hold each other back.
	streams := make([]llmdv1.InferenceService_StreamClient, readers)
	for i := range streams {
		conn := l.Dial(t)
		t.Cleanup(func() { _ = conn.Close() })
		s, err := llmdv1.NewInferenceServiceClient(conn).Stream(ctx, request(w, p.Add(play), ""))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); err != nil {
			t.Fatal(err)
		}
		streams[i] = s
	}
	time.Sleep(time.Second) // all that can move has moved
	held := (heap() - before) / readers
	t.Logf("%d stopped readers of %d MiB each hold %d KiB each, in llmd, its client and the provider together", readers, floodBytes>>20, held>>10)
	if held > 4<<20 {
		t.Errorf("%d bytes for each stopped reader", held)
	}
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { goesOn(t, streams[i]) })
	}
	wg.Wait()
	cancel()
	for _, s := range streams {
		for {
			if _, err := s.Recv(); err != nil {
				break
			}
		}
	}
}

// goesOn reads a stream that had stopped to its end.
func goesOn(t *testing.T, s llmdv1.InferenceService_StreamClient) {
	t.Helper()
	text, events, largest := readAll(t, s)
	if !bytes.Equal(text.Bytes(), bytes.Repeat([]byte("abcdefgh"), floodBytes/8)) {
		t.Errorf("%d bytes arrived, or others than were sent", text.Len())
	}
	if largest > 32<<10 {
		t.Errorf("a delta of %d bytes", largest)
	}
	t.Logf("%d events for %d pieces, the largest delta %d KiB", events, floodBytes/floodPiece, largest>>10)
}

func readAll(t *testing.T, s llmdv1.InferenceService_StreamClient) (text *bytes.Buffer, events, largest int) {
	t.Helper()
	text = &bytes.Buffer{}
	done := false
	for {
		e, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%v", err)
			break
		}
		events++
		d := e.GetTextDelta().GetDelta()
		largest = max(largest, len(d))
		text.WriteString(d)
		if e.GetDone() != nil {
			done = true
			if !e.GetDone().GetContentOmitted() {
				t.Error("20 MiB came in one event")
			}
		}
	}
	if !done {
		t.Error("no done")
	}
	return text, events, largest
}

// window is how much gRPC sends ahead of the client that shall be blocked. By itself it grows
// with what comes, whether it is read or not.
const window = 64 << 10

// stands waits until a response grows no more: its client does not read, and more than gRPC
// sends ahead waits for it.
func stands(t *testing.T, l *harness.LLMD, requestID string) {
	t.Helper()
	for last, end := 0, time.Now().Add(20*time.Second); ; time.Sleep(300 * time.Millisecond) {
		r, err := l.GetResponse(harness.Limited(t, 5*time.Second), &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_RequestId{RequestId: requestID}})
		if err != nil {
			t.Fatal(err)
		}
		n := proto.Size(r.GetMessage())
		if n > 4*window && n == last {
			return
		}
		if last = n; time.Now().After(end) {
			t.Fatalf("it has %d bytes and does not stand still", n)
		}
	}
}

// TestAbortOfABlockedReader: the status alone, after a few seconds, and the partial kept.
func TestAbortOfABlockedReader(t *testing.T) {
	t.Parallel()
	w := chatWire()
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, []*Wire{w})...)
	s := p.Add(flood(w))
	conn := l.Dial(t, grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window))
	defer func() { _ = conn.Close() }()
	stream, err := llmdv1.NewInferenceServiceClient(conn).Stream(harness.Limited(t, 60*time.Second), request(w, s, "blocked"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	stands(t, l, "blocked")
	began := time.Now()
	resp, err := l.Abort(harness.Limited(t, 5*time.Second), &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: "blocked"}})
	if err != nil || resp.GetAlreadyFinished() {
		t.Fatalf("%v, %v", resp.GetAlreadyFinished(), err)
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("Abort took %v", d)
	}
	select {
	case <-s.Gone:
	case <-time.After(time.Second):
		t.Error("the provider's connection stays open")
	}
	time.Sleep(4 * time.Second)
	for err == nil {
		var e *llmdv1.StreamResponse
		if e, err = stream.Recv(); e.GetDone() != nil {
			t.Error("done after an Abort")
		}
	}
	if status.Code(err) != codes.Canceled || harness.ReasonOf(err) != "ABORT_REQUESTED" {
		t.Errorf("%v, %s", err, harness.ReasonOf(err))
	}
	kept, err := l.GetResponse(harness.Limited(t, 5*time.Second), &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_RequestId{RequestId: "blocked"}})
	if err != nil || kept.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || len(kept.GetMessage().GetContent()) != 1 || !kept.GetMessage().GetContent()[0].GetText().GetIncomplete() {
		t.Errorf("%v, %v", kept.GetMessage().GetStopReason(), err)
	}
}

// TestSlowConsumer waits the contract's 30 s, so it is for the long form; the unit
// tests of service/generation have a clock of their own.
func TestSlowConsumer(t *testing.T) {
	if !long() {
		t.Skip("set LLMD_LONG=1")
	}
	w := chatWire()
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, []*Wire{w})...)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			s := p.Add(flood(w))
			req := request(w, s, "slow "+s.key)
			stream, err := l.Stream(harness.Limited(t, 2*time.Minute), req)
			if err != nil {
				t.Error(err)
				return
			}
			began := time.Now()
			<-s.Gone
			if d := time.Since(began); d < 29*time.Second || d > 35*time.Second {
				t.Errorf("ended after %v", d)
			}
			for err == nil {
				_, err = stream.Recv()
			}
			if status.Code(err) != codes.ResourceExhausted || harness.ReasonOf(err) != "SLOW_CONSUMER" || stream.Trailer().Get("grpc-retry-pushback-ms")[0] != "-1" {
				t.Errorf("%v", err)
			}
			kept, err := l.GetResponse(harness.Limited(t, 5*time.Second), &llmdv1.GetResponseRequest{
				Target: &llmdv1.GetResponseRequest_RequestId{RequestId: req.GetRequestId()}, WaitDuration: durationpb.New(time.Second),
			})
			if err != nil || kept.GetMessage().GetError().GetReason() != "SLOW_CONSUMER" {
				t.Errorf("%v, %v", kept, err)
			}
		})
	}
	wg.Wait()
}
