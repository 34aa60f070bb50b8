package sharedtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func get(r *replica, ctx context.Context, request string, wait time.Duration) (*llmdv1.GetResponseResponse, error) {
	return r.GetResponse(ctx, &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_RequestId{RequestId: request}, WaitDuration: durationpb.New(wait)})
}

// eventually waits for what takes a moment to be seen elsewhere.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not %s", what)
}

// begun starts a stream at a replica and returns what it gets, at its end. It
// returns when the answer has begun.
func begun(t *testing.T, r *replica, req *llmdv1.StreamRequest) <-chan []*llmdv1.StreamResponse {
	t.Helper()
	stream, err := r.Stream(as(t, mine), req)
	first, err := read(stream, err, 1)
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan []*llmdv1.StreamResponse, 1)
	go func() {
		rest, _ := read(stream, nil, everything)
		out <- append(first, rest...)
	}()
	return out
}

// What one process makes is seen, followed and aborted through the others.
func TestThroughAnotherReplica(t *testing.T) {
	s := start(t, longLease)
	a, b, c := s.replicas[0], s.replicas[1], s.replicas[2]
	streamed := begun(t, a, script("one", 5000, 2*time.Millisecond, 0))
	eventually(t, "seen", func() bool {
		m, err := get(b, as(t, mine), "one", 0)
		return err == nil && m.GetMessage().GetStopReason() == llmdv1.StopReason_STOP_REASON_PENDING && strings.Contains(textOf(m.GetMessage()), secretText)
	})
	followed := make(chan []*llmdv1.StreamResponse, 1)
	go func() {
		events, err := attach(b, as(t, mine), "one", -1, everything)
		if err != nil {
			t.Errorf("attach: %v", err)
		}
		followed <- events
	}()
	if _, err := get(b, as(t, theirs), "one", 0); harness.ReasonOf(err) != "RESPONSE_NOT_FOUND" {
		t.Errorf("a stranger's GetResponse: %v", err)
	}
	if _, err := attach(b, as(t, theirs), "one", -1, everything); harness.ReasonOf(err) != "RESPONSE_NOT_FOUND" {
		t.Errorf("a stranger's Attach: %v", err)
	}
	waited := make(chan *llmdv1.GetResponseResponse, 1)
	go func() { m, _ := get(b, as(t, mine), "one", time.Minute); waited <- m }()
	time.Sleep(100 * time.Millisecond)
	abort := &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: "one"}, Reason: "enough"}
	if _, err := c.Abort(as(t, theirs), abort); harness.ReasonOf(err) != "RESPONSE_NOT_FOUND" {
		t.Errorf("a stranger's Abort: %v", err)
	}
	receipt, err := c.Abort(as(t, mine), abort)
	if err != nil || receipt.GetAlreadyFinished() || receipt.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED {
		t.Fatalf("%v, %v", receipt, err)
	}
	events := <-streamed
	if e := last(events).GetAborted(); e.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_REQUESTED || e.GetReason() != "enough" {
		t.Errorf("the stream ended with %v", last(events))
	}
	if diff := cmp.Diff(last(events).GetAborted().GetMessage(), receipt.GetMessage(), protocmp.Transform()); diff != "" {
		t.Errorf("the receipt is not the stream's:\n%s", diff)
	}
	if diff := cmp.Diff(events, <-followed, protocmp.Transform()); diff != "" {
		t.Errorf("followed through another replica (-stream +attach):\n%s", diff)
	}
	if m := <-waited; m.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || m.GetExpireTime() == nil {
		t.Errorf("the long poll got %v", m)
	}
	// An abort that comes early, elsewhere.
	early := &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: "early"}, Reason: "never mind"}
	if _, err := b.Abort(as(t, mine), early); harness.ReasonOf(err) != "RESPONSE_NOT_FOUND" {
		t.Errorf("%v", err)
	}
	if e := last(<-begun(t, a, script("early", 100, 10*time.Millisecond, 0))).GetAborted(); e.GetReason() != "never mind" {
		t.Errorf("it ended with %v", e)
	}
}

// One request id is one response, wherever it is asked.
func TestRequestIDAcrossReplicas(t *testing.T) {
	s := start(t, longLease)
	got := make([][]*llmdv1.StreamResponse, 6)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			stream, err := s.replicas[i%3].Stream(as(t, mine), script("same", 50, 5*time.Millisecond, 0))
			if got[i], err = read(stream, err, everything); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for i := range got {
		if id := got[0][0].GetStarted().GetResponseId(); got[i][0].GetStarted().GetResponseId() != id {
			t.Errorf("%d is another response", i)
		}
		if diff := cmp.Diff(last(got[0]).GetDone(), last(got[i]).GetDone(), protocmp.Transform()); diff != "" || last(got[0]).GetDone() == nil {
			t.Errorf("%d ended otherwise:\n%s", i, diff)
		}
	}
	for _, r := range s.replicas {
		_, err := r.Complete(as(t, mine), &llmdv1.CompleteRequest{RequestId: "same", Generation: script("other", 1, 0, 0).GetGeneration()})
		if status.Code(err) != codes.AlreadyExists || harness.ReasonOf(err) != "REQUEST_ID_REUSED" {
			t.Errorf("another body: %v", err)
		}
	}
}

// kill -9: the answer so far is kept, and who follows it hears what happened.
func TestReplicaIsKilled(t *testing.T) {
	s := start(t, shortLease)
	a, b, c := s.replicas[0], s.replicas[1], s.replicas[2]
	stream, err := a.Stream(as(t, mine), script("lost", 5000, 5*time.Millisecond, time.Minute))
	seen, err := read(stream, err, 40)
	if err != nil {
		t.Fatal(err)
	}
	number := last(seen).GetSequenceNumber()
	eventually(t, "written", func() bool {
		m, err := get(b, as(t, mine), "lost", 0)
		return err == nil && len(textOf(m.GetMessage())) >= len(text(seen))
	})
	a.kill()
	if _, err := read(stream, nil, everything); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream ended with %v", err)
	}
	rest, err := attach(b, as(t, mine), "lost", number, everything)
	if status.Code(err) != codes.Unavailable || harness.ReasonOf(err) != "INSTANCE_LOST" {
		t.Errorf("the status is %v", err)
	}
	e := last(rest).GetAborted()
	if e.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_INSTANCE_LOST || rest[0].GetSequenceNumber() != number+1 {
		t.Fatalf("%v ... %v", rest[0], last(rest))
	}
	whole := text(append(seen, rest...))
	if got := textOf(e.GetMessage()); got != whole || !strings.HasPrefix(whole, secretText) {
		t.Errorf("%d bytes are in the message, the events had %d", len(got), len(whole))
	}
	m, err := get(c, as(t, mine), "lost", 0)
	if diff := cmp.Diff(e.GetMessage(), m.GetMessage(), protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("GetResponse (-event +message), %v:\n%s", err, diff)
	}
}

// A replica that is told to end aborts what nobody reads, too, and leaves it to others.
func TestReplicaIsStopped(t *testing.T) {
	s := start(t, longLease)
	a, b := s.replicas[0], s.replicas[1]
	ctx, cut := context.WithCancel(as(t, mine))
	stream, err := a.Stream(ctx, script("stopped", 5000, 5*time.Millisecond, time.Minute))
	seen, err := read(stream, err, 40)
	cut()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := attach(b, as(t, mine), "stopped", last(seen).GetSequenceNumber(), everything)
	if e := last(rest).GetAborted(); e.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN || harness.ReasonOf(err) != "SERVER_SHUTTING_DOWN" {
		t.Fatalf("%v, %v", last(rest), err)
	}
	if got, whole := textOf(last(rest).GetAborted().GetMessage()), text(append(seen, rest...)); got != whole {
		t.Errorf("%d bytes are in the message, the events had %d", len(got), len(whole))
	}
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// Redis stops and comes back, empty: streams go on as if nothing were; what cannot be
// known meanwhile is named; afterwards all is there again.
func TestRedisStopsAndComesBack(t *testing.T) {
	s := start(t, shortLease)
	a, b := s.replicas[0], s.replicas[1]
	quiet := begun(t, a, script("quiet", 300, 10*time.Millisecond, time.Minute))
	eventually(t, "seen", func() bool {
		m, err := get(b, as(t, mine), "quiet", 0)
		return err == nil && textOf(m.GetMessage()) != ""
	})
	s.redis.Kill()
	eventually(t, "named", func() bool {
		_, err := get(b, as(t, mine), "quiet", 0)
		return status.Code(err) == codes.Unavailable && harness.ReasonOf(err) == "RESPONSE_STORE_UNAVAILABLE"
	})
	began := time.Now()
	stream, err := a.Stream(as(t, mine), script("during", 20, 5*time.Millisecond, time.Minute))
	during, err := read(stream, err, everything)
	if err != nil || last(during).GetDone() == nil || time.Since(began) > 30*time.Second {
		t.Errorf("a stream without Redis took %v: %v, %v", time.Since(began), last(during), err)
	}
	s.redis.Run()
	rest, err := attach(b, as(t, mine), "quiet", -1, everything)
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		rest, err = attach(b, as(t, mine), "quiet", -1, everything)
	}
	events := <-quiet
	if err != nil || last(events).GetDone() == nil || last(rest).GetDone() == nil {
		t.Fatalf("%v, %v, %v", last(events), last(rest), err)
	}
	if diff := cmp.Diff(last(events), last(rest), protocmp.Transform()); diff != "" {
		t.Errorf("the end (-stream +attach):\n%s", diff)
	}
	k := rest[1].GetSequenceNumber()
	if diff := cmp.Diff(events[k+1:], rest[2:], protocmp.Transform()); diff != "" || rest[1].GetSnapshot() == nil {
		t.Errorf("behind the snapshot (-stream +attach):\n%s", diff)
	}
	eventually(t, "that of meanwhile", func() bool {
		m, err := get(b, as(t, mine), "during", 0)
		return err == nil && cmp.Diff(last(during).GetDone().GetMessage(), m.GetMessage(), protocmp.Transform()) == ""
	})
}

// Streams that are cut again and again, and taken up at any replica, have in all the
// very events of their response, and say what one says that was never cut.
func TestDisconnects(t *testing.T) {
	n := 60
	switch {
	case os.Getenv("LLMD_LONG") != "":
		n = 1000
	case testing.Short():
		n = 20
	}
	s := start(t, longLease)
	stream, err := s.replicas[0].Stream(as(t, mine), script("undisturbed", 60, 10*time.Millisecond, time.Minute))
	whole, err := read(stream, err, everything)
	if err != nil || last(whole).GetDone() == nil {
		t.Fatal(err, last(whole))
	}
	undisturbed := merged(whole)
	var wg sync.WaitGroup
	var cuts sync.Map
	for i := range n {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			time.Sleep(time.Duration(rnd.IntN(1+n*2)) * time.Millisecond)
			got, attached := disturbed(t, s, fmt.Sprint("cut", i), rnd)
			cuts.Store(i, attached)
			replay, err := attach(s.replicas[rnd.IntN(3)], as(t, mine), fmt.Sprint("cut", i), -1, everything)
			for tried := 0; tried < 2000 && notYet(err); tried++ {
				time.Sleep(20 * time.Millisecond)
				replay, err = attach(s.replicas[rnd.IntN(3)], as(t, mine), fmt.Sprint("cut", i), -1, everything)
			}
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
			if diff := cmp.Diff(replay, got, protocmp.Transform()); diff != "" {
				t.Errorf("%d (-read at once +in pieces):\n%s", i, diff)
			}
			same := merged(got)
			for _, e := range same { // the one argument that is the request's own
				if c := e.GetToolCallDelta(); c != nil {
					c.Delta, c.ValidPrefixBytes = strings.ReplaceAll(c.GetDelta(), fmt.Sprint("cut", i), "undisturbed"), 19
				}
			}
			want := merged(whole)
			if len(same) != len(want) || text(same) != text(want) || len(undisturbed) != len(want) {
				t.Errorf("%d has %d kinds of events and %d bytes of text, undisturbed %d and %d", i, len(same), len(text(same)), len(want), len(text(want)))
			}
		})
	}
	wg.Wait()
	all := 0
	cuts.Range(func(_, v any) bool { all += v.(int); return true }) //nolint:forcetypeassert // stored above
	t.Logf("%d streams were cut and taken up again %d times", n, all)
	if all < n {
		t.Errorf("only %d cuts", all)
	}
}

// notYet: what happened just now may not have come to the other processes, and on a
// machine that is as busy as this a round trip may take too long.
func notYet(err error) bool {
	reason := harness.ReasonOf(err)
	return reason == "RESPONSE_NOT_FOUND" || reason == "RESPONSE_STORE_UNAVAILABLE"
}

// disturbed reads a stream in pieces, each from some replica.
func disturbed(t *testing.T, s *site, request string, rnd *rand.Rand) (got []*llmdv1.StreamResponse, attached int) {
	t.Helper()
	ctx, cut := context.WithCancel(as(t, mine))
	stream, err := s.replicas[rnd.IntN(3)].Stream(ctx, script(request, 60, 10*time.Millisecond, time.Minute))
	got, err = read(stream, err, 1+rnd.IntN(40))
	cut()
	if err != nil {
		t.Errorf("%s: %v", request, err)
		return got, 0
	}
	for !ended(got) {
		if rnd.IntN(3) == 0 {
			time.Sleep(time.Duration(rnd.IntN(200)) * time.Millisecond)
		}
		ctx, cut := context.WithCancel(as(t, mine))
		most := 1 + rnd.IntN(30)
		piece, err := attach(s.replicas[rnd.IntN(3)], ctx, request, last(got).GetSequenceNumber(), most)
		cut()
		if err != nil && (attached > 1000 || !notYet(err)) {
			t.Errorf("%s: %v", request, err)
			return got, attached
		}
		got = append(got, piece...)
		attached++
	}
	return got, attached
}
