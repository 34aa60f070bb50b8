package sharedtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/accumulate"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/service/responses"
)

// viewer is a client that follows one response to its end, whatever happens.
type viewer struct {
	request string
	rnd     *rand.Rand
	fold    accumulate.Accumulator
	last    int32 // the number of the last event, -1 = none
	seen    map[int32]*llmdv1.StreamResponse
	end     *llmdv1.StreamResponse
}

// take adds an event; what it returns is wrong.
func (v *viewer) take(e *llmdv1.StreamResponse) string {
	n := e.GetSequenceNumber()
	switch {
	case e.GetStarted() != nil:
		v.fold = accumulate.Accumulator{}
	case e.GetSnapshot() != nil:
	case n != v.last+1 && (n != v.last || !responses.Terminal(e)) && e.GetAborted().GetCause() != llmdv1.AbortCause_ABORT_CAUSE_INSTANCE_LOST:
		return fmt.Sprintf("event %d follows %d", n, v.last)
	case v.seen[n] == nil:
		v.seen[n] = e
	default:
		if diff := cmp.Diff(v.seen[n], e, protocmp.Transform()); diff != "" && e.GetAborted() == nil {
			return fmt.Sprintf("two events have the number %d:\n%s", n, diff)
		}
	}
	v.fold.Add(e)
	v.last = n
	if responses.Terminal(e) {
		v.end = e
	}
	return ""
}

// follow reads the response to its end; false if there is none any more.
func (v *viewer) follow(t *testing.T, s *site) bool {
	t.Helper()
	for missing, end := 0, time.Now().Add(2*time.Minute); v.end == nil; {
		ctx, cut := context.WithTimeout(as(t, mine), time.Duration(1+v.rnd.IntN(5))*time.Second)
		req := &llmdv1.AttachRequest{Target: &llmdv1.AttachRequest_RequestId{RequestId: v.request}}
		if v.last >= 0 {
			req.LastSequenceNumber = &v.last
		}
		stream, err := s.replica(v.rnd.IntN(3)).Attach(ctx, req)
		for err == nil && v.end == nil {
			var e *llmdv1.StreamResponse
			if e, err = stream.Recv(); err == nil {
				if wrong := v.take(e); wrong != "" {
					t.Errorf("%s: %s", v.request, wrong)
					cut()
					return false
				}
			}
		}
		cut()
		switch code := status.Code(err); {
		case v.end != nil:
		case code == codes.NotFound:
			if missing++; missing > 100 {
				return false // its llmd was killed, and Redis was emptied
			}
		case code == codes.Unavailable, code == codes.DeadlineExceeded:
			missing = 0
		default:
			t.Errorf("%s behind %d: %v (%s)", v.request, v.last, err, harness.ReasonOf(err))
			return false
		}
		if time.Now().After(end) {
			t.Errorf("%s has no end behind %d: %v", v.request, v.last, err)
			return false
		}
		time.Sleep(50 * time.Millisecond)
	}
	return true
}

// Processes are killed and come back, Redis hangs, is full and is emptied, all at random
// moments. Every response comes to one end for all who follow it, and what they have read
// makes its message.
func TestTurmoil(t *testing.T) {
	streams, rounds := 24, 8
	switch {
	case os.Getenv("LLMD_LONG") != "":
		streams, rounds = 300, 100
	case testing.Short():
		t.Skip("it takes a while")
	}
	s := start(t, 5*time.Second)
	admin := redis.NewClient(&redis.Options{Addr: s.redis.Addr})
	defer func() { _ = admin.Close() }()
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	var readers, viewers sync.WaitGroup
	var mu sync.Mutex
	ends := map[string]int{}
	for i := range streams {
		request := fmt.Sprint("turmoil", i)
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		readers.Go(func() { // it may be cut, by a kill; its caller asks again, and finds it or makes it anew
			time.Sleep(time.Duration(rnd.IntN(rounds*500)) * time.Millisecond)
			ctx, cut := context.WithTimeout(as(t, mine), time.Minute)
			defer cut()
			owner := s.replica(i % 3)
			stream, err := owner.Stream(ctx, script(request, 100, 30*time.Millisecond, time.Minute))
			first, err := read(stream, err, 1)
			if err != nil {
				return // to a replica that is just not there
			}
			id := first[0].GetStarted().GetResponseId()
			viewers.Go(func() {
				v := &viewer{request: request, rnd: rnd, last: -1, seen: map[int32]*llmdv1.StreamResponse{}}
				what := "lost"
				if v.follow(t, s) {
					what = fmt.Sprintf("%T", v.end.GetEvent())
				}
				lost := what == "lost" || v.end.GetAborted() != nil
				if lost && s.replica(i%3) == owner && first[0].GetStarted().GetInstance() == fmt.Sprint("replica-", i%3) {
					t.Errorf("%s is %s, and its llmd was there all the time: %v", request, what, v.end)
				}
				mu.Lock()
				ends[what]++
				mu.Unlock()
				m, _ := responses.Final(v.end)
				if got := v.fold.Message(); v.end.GetDone() != nil && (textOf(got) != textOf(m) || m.GetResponseId() != id) {
					t.Errorf("%s: the events make %d bytes, the message has %d; it is %s, and was %s", request, len(textOf(got)), len(textOf(m)), m.GetResponseId(), id)
				}
				if v.end != nil {
					again := &viewer{request: request, rnd: rnd, last: -1, seen: v.seen}
					if again.follow(t, s) && v.end.GetDone() != nil {
						if diff := cmp.Diff(v.end, again.end, protocmp.Transform()); diff != "" || textOf(again.fold.Message()) != textOf(m) {
							t.Errorf("%s, read again (-first +again):\n%s", request, diff)
						}
					}
				}
			})
			_, _ = read(stream, nil, everything)
		})
	}
	rnd := rand.New(rand.NewPCG(seed, 1<<32))
	for range rounds {
		time.Sleep(time.Duration(300+rnd.IntN(500)) * time.Millisecond)
		switch what := rnd.IntN(5); what {
		case 0:
			s.restart(t, rnd.IntN(3))
		case 1:
			s.redis.Freeze()
			time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
			s.redis.Thaw()
		case 2, 3:
			policy := []string{"noeviction", "allkeys-random"}[what-2]
			admin.ConfigSet(t.Context(), "maxmemory-policy", policy)
			admin.ConfigSet(t.Context(), "maxmemory", "1100kb")
			time.Sleep(time.Duration(rnd.IntN(1500)) * time.Millisecond)
			admin.ConfigSet(t.Context(), "maxmemory", "0")
		case 4:
			admin.FlushAll(t.Context())
		}
	}
	readers.Wait()
	viewers.Wait()
	t.Logf("%v", ends)
}
