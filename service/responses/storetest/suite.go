package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

// Open makes two views of one store: two processes, where a store is shared.
type Open func(t *testing.T) (here, there responses.Store)

// Run is the suite. What happens here must be seen there.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, responses.Store, responses.Store){
		"life": life, "owners": owners, "follow": follow, "follow the end": followEnd, "abort": abort, "early abort": earlyAbort,
		"request id": requestID, "one claim wins": claimRace, "failure": failure, "failure while waiting": failureWhileWaiting, "wait": waiting, "hold": hold, "many": many,
	} {
		t.Run(name, func(t *testing.T) {
			here, there := open(t)
			test(t, here, there)
		})
	}
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func begin(t *testing.T, s responses.Store, owner, id, request string) *Live {
	t.Helper()
	l, c, err := Begin(limited(t), s, owner, id, request)
	if err != nil || c.Known != nil || c.Aborted {
		t.Fatalf("%+v, %v", c, err)
	}
	return l
}

// eventually waits for what takes a moment to be seen elsewhere.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not %s", what)
}

func byID(owner, id string) responses.Key { return responses.Key{Owner: owner, ResponseID: id} }

func byRequest(owner, id string) responses.Key { return responses.Key{Owner: owner, RequestID: id} }

func known(t *testing.T, s responses.Store, k responses.Key) {
	t.Helper()
	eventually(t, fmt.Sprintf("known: %v", k), func() bool { _, err := s.Known(limited(t), k); return err == nil })
}

func life(t *testing.T, here, there responses.Store) {
	l := begin(t, here, "me", "a.1", "q")
	l.Say("Hello", " world")
	for _, k := range []responses.Key{byID("me", "a.1"), byRequest("me", "q")} {
		known(t, there, k)
		eventually(t, "the message so far", func() bool {
			m, err := there.Message(limited(t), k, 0)
			return err == nil && m.ExpireTime.IsZero() && cmp.Diff(l.message(), m.Message, protocmp.Transform()) == ""
		})
		if n, err := there.Known(limited(t), k); err != nil || n.ResponseID != "a.1" || n.Hash != [32]byte{7} {
			t.Errorf("%+v, %v", n, err)
		}
	}
	if n := len(here.Running()); n != 1 {
		t.Errorf("%d run", n)
	}
	l.End()
	for _, k := range []responses.Key{byID("me", "a.1"), byRequest("me", "q")} {
		eventually(t, "the final message", func() bool {
			m, err := there.Message(limited(t), k, 0)
			if err != nil || m.ExpireTime.IsZero() {
				return false
			}
			left := time.Until(m.ExpireTime)
			return cmp.Diff(l.message(), m.Message, protocmp.Transform()) == "" && left > 4*time.Minute && left <= 5*time.Minute+time.Second
		})
		r, err := there.Abort(limited(t), k, "too late")
		if err != nil || !r.Finished || cmp.Diff(l.message(), r.Message, protocmp.Transform()) != "" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if n := len(here.Running()); n != 0 {
		t.Errorf("%d run after the end", n)
	}
}

func owners(t *testing.T, here, there responses.Store) {
	l := begin(t, here, "me", "a.1", "q")
	begin(t, there, "you", "a.2", "q") // another owner's id is another id
	known(t, there, byID("me", "a.1"))
	for _, k := range []responses.Key{byID("you", "a.1"), byID("", "a.1"), byRequest("", "q")} {
		for _, s := range []responses.Store{here, there} {
			if _, err := s.Known(limited(t), k); !errors.Is(err, responses.ErrNotFound) {
				t.Errorf("%v is known to a stranger: %v", k, err)
			}
			if _, err := s.Message(limited(t), k, 0); !errors.Is(err, responses.ErrNotFound) {
				t.Errorf("the message of %v: %v", k, err)
			}
			if _, err := s.Follow(limited(t), k, -1); !errors.Is(err, responses.ErrNotFound) {
				t.Errorf("the events of %v: %v", k, err)
			}
			if _, err := s.Abort(limited(t), k, ""); !errors.Is(err, responses.ErrNotFound) {
				t.Errorf("an abort of %v: %v", k, err)
			}
		}
	}
	select {
	case <-l.Done():
		t.Error("a stranger ended it")
	default:
	}
}

// read follows to the end, or until so many events have come.
func read(ctx context.Context, s responses.Store, k responses.Key, after int32, most int) ([]*llmdv1.StreamResponse, error) {
	trail, err := s.Follow(ctx, k, after)
	if err != nil {
		return nil, err
	}
	defer trail.Close()
	var all []*llmdv1.StreamResponse
	for len(all) < most {
		events, err := trail.Next(ctx)
		all = append(all, events...)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

const all = 1 << 30

func same(t *testing.T, what string, want, got []*llmdv1.StreamResponse) {
	t.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Followers see every event, whenever they come and from wherever they go on.
func follow(t *testing.T, here, there responses.Store) {
	l := begin(t, here, "me", "a.1", "q")
	known(t, there, byID("me", "a.1"))
	const words = 60
	go func() {
		for i := range words {
			l.Say(Word(i))
			time.Sleep(time.Millisecond)
		}
		l.End()
	}()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 0)) //nolint:gosec // a test
			var got []*llmdv1.StreamResponse
			for len(got) == 0 || !responses.Terminal(got[len(got)-1]) {
				after := int32(len(got) - 1)
				events, err := read(limited(t), there, byRequest("me", "q"), after, 1+rnd.IntN(20))
				if err != nil {
					t.Error(err)
					return
				}
				got = append(got, events...)
			}
			same(t, "in pieces", l.Events(), got)
		})
	}
	wg.Wait()
}

func followEnd(t *testing.T, here, there responses.Store) {
	l := begin(t, here, "me", "a.1", "")
	l.Say("a", "b", "c")
	l.End()
	k, events := byID("me", "a.1"), l.Events()
	known(t, there, k)
	for after := int32(-1); after <= int32(len(events)); after++ {
		got, err := read(limited(t), there, k, after, all)
		switch last := int32(len(events) - 1); {
		case after < last:
			same(t, fmt.Sprint("behind ", after), events[after+1:], got)
		case after == last:
			same(t, "once more", events[last:], got)
		default:
			var beyond *responses.BeyondEndError
			if !errors.As(err, &beyond) || beyond.Last != last {
				t.Errorf("behind the end: %v, %v", got, err)
			}
		}
	}
}

func abort(t *testing.T, here, there responses.Store) {
	l := begin(t, here, "me", "a.1", "q")
	l.Say("partial")
	known(t, there, byRequest("me", "q"))
	r, err := there.Abort(limited(t), byRequest("me", "q"), "enough")
	if err != nil || r.Finished || r.Message.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || r.Message.GetContent()[0].GetText().GetText() != "partial" {
		t.Errorf("%+v, %v", r, err)
	}
	<-l.Done()
	events := l.Events()
	if a := events[len(events)-1].GetAborted(); a.GetReason() != "enough" {
		t.Errorf("%v", a)
	}
	eventually(t, "a second receipt", func() bool {
		r, err := there.Abort(limited(t), byRequest("me", "q"), "again")
		return err == nil && r.Finished
	})
}

func earlyAbort(t *testing.T, here, there responses.Store) {
	if _, err := there.Abort(limited(t), byRequest("me", "early"), "changed my mind"); !errors.Is(err, responses.ErrNotFound) {
		t.Fatal(err)
	}
	if _, c, err := Begin(limited(t), here, "you", "a.0", "early"); err != nil || c.Aborted {
		t.Errorf("a stranger's: %+v, %v", c, err)
	}
	l, c, err := Begin(limited(t), here, "me", "a.1", "early")
	if err != nil || c.Known != nil || !c.Aborted || c.Reason != "changed my mind" {
		t.Errorf("%+v, %v", c, err)
	}
	l.Fail()
	if _, c, err = Begin(limited(t), here, "me", "a.2", "early"); err != nil || c.Aborted {
		t.Errorf("a tombstone works twice: %+v, %v", c, err)
	}
}

func requestID(t *testing.T, here, there responses.Store) {
	l := begin(t, here, "me", "a.1", "q")
	for range 2 {
		_, c, err := Begin(limited(t), there, "me", "a.2", "q")
		if err != nil || c.Known == nil || c.Known.ResponseID != "a.1" || c.Known.Hash != [32]byte{7} {
			t.Fatalf("%+v, %v", c, err)
		}
		if _, err := there.Known(limited(t), byID("me", "a.2")); !errors.Is(err, responses.ErrNotFound) {
			t.Errorf("what was not registered is known: %v", err)
		}
		select {
		case <-l.Done():
		default:
			l.End()
		}
	}
	if n := len(there.Running()); n != 0 {
		t.Errorf("%d run", n)
	}
}

// Of many claims to one request id exactly one wins, and the others find it.
func claimRace(t *testing.T, here, there responses.Store) {
	for round := range 10 {
		request := fmt.Sprint("q", round)
		var mu sync.Mutex
		var won, found []string
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				s, id := here, fmt.Sprintf("a.%d.%d", round, i)
				if i%2 == 1 {
					s = there
				}
				_, c, err := Begin(limited(t), s, "me", id, request)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if c.Known == nil {
					won = append(won, id)
				} else {
					found = append(found, c.Known.ResponseID)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%v won", won)
		}
		for _, id := range found {
			if id != won[0] {
				t.Errorf("%s is found, %s won", id, won[0])
			}
		}
	}
}

// A failure before the first event is not remembered (contract 1.18).
func failure(t *testing.T, here, there responses.Store) {
	l := &Live{ID: "a.1", store: here, owner: "me", done: make(chan struct{}), news: make(chan struct{})}
	if _, err := here.Claim(limited(t), &responses.Claim{Owner: "me", ResponseID: "a.1", RequestID: "q", Live: l}); err != nil {
		t.Fatal(err)
	}
	l.Fail()
	eventually(t, "forgotten", func() bool {
		_, c, err := Begin(limited(t), there, "me", "a.2", "q")
		return err == nil && c.Known == nil
	})
}

// Who waits for the end of such a response, or aborts it just then, hears that it is not
// known; the next try of an aborted one starts aborted.
func failureWhileWaiting(t *testing.T, here, there responses.Store) {
	reason := "" // the abort comes too late
	l := &Live{ID: "a.1", store: here, owner: "me", done: make(chan struct{}), news: make(chan struct{}), reason: &reason}
	if _, err := here.Claim(limited(t), &responses.Claim{Owner: "me", ResponseID: "a.1", RequestID: "q", Live: l}); err != nil {
		t.Fatal(err)
	}
	known(t, there, byRequest("me", "q"))
	var wg sync.WaitGroup
	for _, s := range []responses.Store{here, there} {
		wg.Go(func() {
			if m, err := s.Message(limited(t), byID("me", "a.1"), time.Minute); !errors.Is(err, responses.ErrNotFound) {
				t.Errorf("message %v, %v", m, err)
			}
		})
		wg.Go(func() {
			if r, err := s.Abort(limited(t), byRequest("me", "q"), "too much"); !errors.Is(err, responses.ErrNotFound) {
				t.Errorf("receipt %v, %v", r, err)
			}
		})
	}
	time.Sleep(50 * time.Millisecond) // they wait by then; if not, nothing fails
	l.Fail()
	wg.Wait()
	if _, c, err := Begin(limited(t), there, "me", "a.2", "q"); err != nil || c.Known != nil || !c.Aborted || c.Reason != "too much" {
		t.Errorf("the next try %+v, %v", c, err)
	}
}

func waiting(t *testing.T, here, there responses.Store) {
	l := begin(t, here, "me", "a.1", "q")
	known(t, there, byID("me", "a.1"))
	began := time.Now()
	m, err := there.Message(limited(t), byID("me", "a.1"), 100*time.Millisecond)
	if d := time.Since(began); err != nil || d < 100*time.Millisecond || m.Message.GetStopReason() != llmdv1.StopReason_STOP_REASON_PENDING {
		t.Errorf("%v after %v, %v", m, d, err)
	}
	go func() { time.Sleep(50 * time.Millisecond); l.Say("x"); l.End() }()
	m, err = there.Message(limited(t), byID("me", "a.1"), time.Minute)
	if err != nil || m.Message.GetStopReason() != llmdv1.StopReason_STOP_REASON_STOP {
		t.Errorf("%v, %v", m, err)
	}
	begin(t, here, "me", "a.2", "")
	known(t, there, byID("me", "a.2"))
	ctx, cancel := context.WithTimeout(limited(t), 50*time.Millisecond)
	defer cancel()
	if _, err := there.Message(ctx, byID("me", "a.2"), time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// Who follows a response keeps it going.
func hold(t *testing.T, here, there responses.Store) {
	l := begin(t, here, "me", "a.1", "")
	known(t, there, byID("me", "a.1"))
	trail, err := there.Follow(limited(t), byID("me", "a.1"), -1)
	if err != nil {
		t.Fatal(err)
	}
	defer trail.Close()
	if _, err := trail.Next(limited(t)); err != nil {
		t.Fatal(err)
	}
	if _, fake := here.(*responses.Registry); fake {
		return // the response's own trail holds it
	}
	// The owner hears it again and again, but only while somebody reads: what is said to
	// one that does not listen yet is lost.
	ctx, cancel := context.WithCancel(limited(t))
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = trail.Next(ctx) })
	defer reading.Wait()
	defer cancel()
	eventually(t, "held", func() bool { return l.Holds() > 0 })
}

func many(t *testing.T, here, there responses.Store) {
	const n = 200
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			id := fmt.Sprint("a.", i)
			l, c, err := Begin(limited(t), here, "me", id, "")
			if err != nil || c.Known != nil {
				t.Errorf("%+v, %v", c, err)
				return
			}
			for w := range 20 {
				l.Say(Word(w))
			}
			l.End()
			k := byID("me", id)
			for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				if _, err := there.Known(limited(t), k); err == nil || time.Now().After(end) {
					break
				}
			}
			got, err := read(limited(t), there, k, -1, all)
			if err != nil {
				t.Error(err)
			}
			same(t, id, l.Events(), got)
		})
	}
	wg.Wait()
}
