package handoff

import (
	"bytes"
	"context"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/integration/providersim"
)

// upstream is the simulated providers on a socket, with the last body they were sent.
type upstream struct {
	*httptest.Server
	sim providersim.Server

	mu   sync.Mutex
	last []byte
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{}
	u.sim.Seen = func(_, _ string, body []byte, _ []providersim.Violation) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.last = body
	}
	u.Server = httptest.NewServer(&u.sim)
	t.Cleanup(u.Close)
	return u
}

// take gives the last body and forgets it.
func (u *upstream) take() []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	body := u.last
	u.last = nil
	return body
}

// The walks through real servers: the request on the wire is the one that the laws are
// checked of in the process, no provider refuses it, and the client is told of the
// changes.
func TestLawsThroughSockets(t *testing.T) {
	walks := uint64(30)
	if long() {
		walks = 500
	}
	u := newUpstream(t)
	l := harness.Start(t, Config(u.URL)) // the providers follow the section of the server
	w := newWorld(t)
	turns := 0
	for seed := uint64(1_000_000); seed < 1_000_000+walks; seed++ {
		k := NewWalk(w, seed)
		for {
			turn, more := k.Next()
			if !more {
				break
			}
			if m := throughSocket(t, l, u, w, turn); m != nil {
				turns++
				k.Take(m)
			}
			if t.Failed() {
				t.Fatalf("seed %d\n%s", seed, show(turn))
			}
		}
	}
	t.Logf("%d turns in %d conversations", turns, walks)
	if broken := u.sim.Broken(); len(broken) > 0 {
		t.Errorf("%d rejections, the first: %v", len(broken), broken[0])
	}
	if turns < int(walks)*3 {
		t.Errorf("only %d turns", turns)
	}
}

// throughSocket sends a turn and compares; nil = it is refused, as in the process.
func throughSocket(t *testing.T, l *harness.LLMD, u *upstream, w *World, turn Turn) *llmdv1.AssistantMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	p, b := judge(w, turn)
	if b != nil {
		t.Error(b)
		return nil
	}
	o := harness.Run(ctx, l, &llmdv1.StreamRequest{Generation: turn.Generation}, nil)
	for _, f := range o.Faults {
		t.Errorf("against the grammar: %s", f)
	}
	if p == nil {
		if code := o.Status.Code(); code != codes.InvalidArgument && code != codes.FailedPrecondition && code != codes.Unimplemented {
			t.Errorf("got %v, want a refusal", o.Status)
		}
		return nil
	}
	if o.Message == nil {
		t.Errorf("%v", o.Status)
		return nil
	}
	if body := u.take(); !bytes.Equal(body, p.Body) {
		t.Errorf("the wire has %s\nwant %s", body, p.Body)
	}
	told := p.Changes()[:min(len(p.Changes()), 200)]
	if !sameChanges(told, o.Started.GetHandoffChanges()) {
		t.Errorf("told %v\nwant %v", o.Started.GetHandoffChanges(), told)
	}
	return o.Message
}
