package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// patience bounds everything that should take no time, on a machine that has none.
const patience = time.Minute

// trial is one stream with one fault in one phase.
type trial struct {
	t      *testing.T
	l      *harness.LLMD
	player *Player
	wire   *Wire
	phase  Phase
	name   string
	id     string

	script *Script
	frames []Frame
	sent   []Frame
	long   context.Context //nolint:containedctx // one trial, one context
	cancel context.CancelFunc
	conn   *grpc.ClientConn

	mu      sync.Mutex
	decided time.Time
	failed  bool
}

func newTrial(t *testing.T, l *harness.LLMD, p *Player, w *Wire, phase Phase, name string, n int) *trial {
	t.Helper()
	x := &trial{t: t, l: l, player: p, wire: w, phase: phase, name: name, id: fmt.Sprintf("%s %s %s %d", w.API, name, phase, n)}
	x.frames = w.Frames(Sample())
	x.sent = x.frames[:phase.sent(w, x.frames)]
	return x
}

func (x *trial) errorf(format string, args ...any) {
	x.mu.Lock()
	x.failed = true
	x.mu.Unlock()
	x.t.Errorf("%s: %s", x.id, fmt.Sprintf(format, args...))
}

// decide notes the time from which closing the upstream connection is measured.
func (x *trial) decide() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.decided = time.Now()
}

// play sends the head and the frames of the phase.
func (x *trial) play(e *Exchange, head func(*Exchange, *Wire)) {
	if x.phase == beforeHeaders {
		return
	}
	if head != nil {
		head(e, x.wire)
	} else {
		e.Head(200, "Content-Type: "+x.wire.ContentType)
	}
	e.Play(x.sent)
}

// provider runs a fault of the provider.
func (x *trial) provider(f *providerFault) bool {
	var playing atomic.Int64
	x.script = x.player.Add(func(e *Exchange) bool {
		playing.Add(1)
		defer playing.Add(-1)
		x.play(e, f.head)
		return e.Wait() && f.do(e, x.wire, x.phase, x.frames[len(x.sent):])
	})
	tune := func(r *llmdv1.StreamRequest) {
		if f.tune != nil {
			f.tune(r, x.phase)
		}
	}
	o := x.run(context.Background(), tune, x.l, x.script.Open)
	if f.gone {
		x.gone()
	}
	x.check(o, f.want(x.phase))
	if f.name == "stall, then on" {
		x.stalls(o)
	}
	if f.connection { // llmd may have all it needs before the connection is struck for the last time
		within(patience, func() bool { return playing.Load() == 0 })
	}
	return x.passed()
}

// client runs a fault of the client, and returns how long llmd took to close the
// connection to the provider.
func (x *trial) client(f *clientFault) (closed time.Duration, ok bool) {
	x.script = x.player.Add(func(e *Exchange) bool {
		x.play(e, nil)
		if !f.resume {
			e.Reach()
			return e.Hold()
		}
		if !e.Wait() {
			return false
		}
		if x.phase == beforeHeaders {
			e.Head(200, "Content-Type: "+x.wire.ContentType)
		}
		e.Play(x.frames[len(x.sent):])
		return e.End()
	})
	var c llmdv1.InferenceServiceClient = x.l
	if f.own {
		x.conn = x.l.Dial(x.t)
		defer func() { _ = x.conn.Close() }()
		c = llmdv1.NewInferenceServiceClient(x.conn)
	}
	ctx := context.Background()
	if f.ctx != nil {
		var cancel context.CancelFunc
		ctx, cancel = f.ctx(ctx)
		defer cancel()
	}
	o := x.run(ctx, f.tune, c, func() {
		if f.act != nil {
			f.act(x)
		}
	})
	w := f.want(x.phase)
	if x.phase == afterMarker && o.Stop() == "TOOL_USE" {
		w = whole // the end was on its way
	}
	if !f.resume {
		x.gone()
		x.mu.Lock()
		if w.last != "done" && !x.decided.IsZero() && !x.failed {
			closed = x.script.GoneAt.Sub(x.decided)
		}
		x.mu.Unlock()
	}
	switch {
	case f.want(x.phase).code == codes.Canceled && w.last == "done" && o.Status.Code() == codes.Canceled:
		// The client went between the last event and the status.
	case w.code == codes.Canceled:
		x.cancelled(o, f.stored)
	default:
		x.check(o, w)
	}
	return closed, x.passed()
}

func (x *trial) passed() bool {
	x.player.Forget(x.script)
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.failed
}

// run streams; act happens once, when the client has seen all that was sent.
func (x *trial) run(ctx context.Context, tune func(*llmdv1.StreamRequest), c llmdv1.InferenceServiceClient, act func()) *harness.Outcome {
	var end context.CancelFunc
	x.long, end = context.WithTimeout(context.Background(), 2*patience)
	defer end()
	if _, limited := ctx.Deadline(); !limited {
		ctx, x.cancel = context.WithCancel(x.long)
		defer x.cancel()
	}
	req := request(x.wire, x.script, x.id)
	if tune != nil {
		tune(req)
	}
	want := added(x.sent)
	var once sync.Once
	seen := make(chan struct{})
	if len(want) == 0 {
		go func() {
			defer close(seen)
			select {
			case <-x.script.Reached:
				once.Do(act)
			case <-x.long.Done():
			}
		}()
	} else {
		close(seen)
	}
	o := harness.Run(ctx, c, req, func(o *harness.Outcome, _ *llmdv1.StreamResponse) {
		if len(want) > 0 && sees(o, want) {
			once.Do(act)
		}
	})
	x.script.Open()
	select {
	case <-seen:
	case <-time.After(patience):
		x.errorf("the provider was never reached")
		end()
		<-seen
	}
	return o
}

// sees says whether the events have given all of want.
func sees(o *harness.Outcome, want map[string]string) bool {
	have := map[string]int{}
	for _, b := range o.Fold {
		have[b.Kind] += b.Raw.Len()
	}
	for kind, s := range want {
		if have[kind] < len(s) {
			return false
		}
	}
	return true
}

// gone waits until llmd has closed its side.
func (x *trial) gone() {
	select {
	case <-x.script.Gone:
	case <-time.After(patience):
		x.errorf("the upstream connection stays open")
	}
}

// check looks at the end of a stream that the client saw.
func (x *trial) check(o *harness.Outcome, w want) {
	for _, f := range o.Faults {
		x.errorf("grammar: %s", f)
	}
	last := ""
	switch {
	case o.Err != nil:
		last = "error"
	case o.Aborted != nil:
		last = "aborted"
	case o.Message != nil:
		last = "done"
	}
	if last != w.last || o.Status.Code() != w.code {
		x.errorf("ends with %q, %v; want %q, %v (%s %s)", last, o.Status.Code(), w.last, w.code, o.Reason(), o.Words())
		return
	}
	if n := x.script.Requests.Load(); n != max(w.requests, 1) {
		x.errorf("%d requests went to the provider, want %d", n, max(w.requests, 1))
	}
	reason := o.Reason()
	if o.Aborted != nil {
		reason = o.Message.GetError().GetReason()
	}
	if len(w.reasons) > 0 && !slices.Contains(w.reasons, reason) {
		x.errorf("reason %s, want %v", reason, w.reasons)
	}
	if strings.Contains(o.Words(), "secret-page") || strings.Contains(o.Words(), "<html") {
		x.errorf("a page got into the error: %s", o.Words())
	}
	kept, err := x.l.GetResponse(harness.Limited(x.t, patience), &llmdv1.GetResponseRequest{
		Target: &llmdv1.GetResponseRequest_RequestId{RequestId: x.id}, WaitDuration: durationpb.New(5 * time.Second),
	})
	if w.last == "" {
		if len(o.Events) > 0 {
			x.errorf("%d events before the commit point", len(o.Events))
		}
		if harness.ReasonOf(err) != "RESPONSE_NOT_FOUND" {
			x.errorf("a failure before the commit point is remembered: %v", err)
		}
		return
	}
	if err != nil || !proto.Equal(kept.GetMessage(), o.Message) {
		x.errorf("what is kept is not what was sent: %v", err)
	}
	if w.last == "done" {
		x.content(o.Message, added(x.frames), true)
		if o.Stop() != "TOOL_USE" {
			x.errorf("stop reason %s", o.Stop())
		}
		return
	}
	x.content(o.Message, added(x.sent), false)
}

// content compares a message with what the frames added to it.
func (x *trial) content(m *llmdv1.AssistantMessage, want map[string]string, complete bool) {
	got := map[string]string{}
	for _, c := range m.GetContent() {
		got[harness.KindOf(c)] += harness.TextOf(c)
		if complete && harness.Incomplete(c) {
			x.errorf("a %s is marked incomplete", harness.KindOf(c))
		}
	}
	for _, kind := range []string{Thinking, Text} {
		if got[kind] != want[kind] {
			x.errorf("%s is %q, want %q", kind, got[kind], want[kind])
		}
	}
	switch {
	case complete && got[ToolCall] != want[ToolCall]:
		x.errorf("arguments are %q, want %q", got[ToolCall], want[ToolCall])
	case complete:
	case want[ToolCall] != "":
		x.partial(m, got[ToolCall], want[ToolCall])
	case got[ToolCall] != "":
		x.errorf("arguments from nowhere: %q", got[ToolCall])
	case len(m.GetContent()) > 0:
		if c := m.GetContent()[len(m.GetContent())-1]; x.phase == inText && !harness.Incomplete(c) {
			x.errorf("the last %s is not marked incomplete", harness.KindOf(c))
		}
	}
}

// partial: arguments that were cut are an object all the same, begin as they came,
// and are marked.
func (x *trial) partial(m *llmdv1.AssistantMessage, got, sent string) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(got), &object); err != nil {
		x.errorf("partial arguments %q: %v", got, err)
	}
	if len(m.GetContent()) == 0 {
		x.errorf("the call is lost")
		return
	}
	n := 0
	for n < len(got) && n < len(sent) && got[n] == sent[n] {
		n++
	}
	if x.wire.Fragments && n < len(sent)*2/3 {
		x.errorf("partial arguments %q, sent %q", got, sent)
	}
	c := m.GetContent()[len(m.GetContent())-1]
	if ended := x.phase == afterMarker; x.wire.Fragments && !ended && !harness.Incomplete(c) {
		x.errorf("a cut call is not marked incomplete")
	}
}

// cancelled looks at a stream whose client went away: the partial is kept.
func (x *trial) cancelled(o *harness.Outcome, reason string) {
	if c := o.Status.Code(); c != codes.Canceled && c != codes.Unavailable {
		x.errorf("the client sees %v", o.Status)
	}
	kept, err := x.l.GetResponse(harness.Limited(x.t, patience), &llmdv1.GetResponseRequest{
		Target: &llmdv1.GetResponseRequest_RequestId{RequestId: x.id}, WaitDuration: durationpb.New(5 * time.Second),
	})
	m := kept.GetMessage()
	switch {
	case err != nil:
		x.errorf("nothing is kept: %v", err)
	case x.phase == afterMarker && m.GetStopReason() == llmdv1.StopReason_STOP_REASON_TOOL_USE:
		x.content(m, added(x.frames), true)
	case m.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED || m.GetError().GetReason() != reason:
		x.errorf("kept as %v, %v", m.GetStopReason(), m.GetError().GetReason())
	default:
		x.content(m, added(x.sent), false)
	}
}

// stalls: the silence was reported, and its end before what ended it. A machine in
// use may have added silences of its own.
func (x *trial) stalls(o *harness.Outcome) {
	var states []llmdv1.StallState
	alternate := true
	for _, e := range o.Events {
		if s := e.GetStall(); s != nil {
			alternate = alternate && (s.GetState() == llmdv1.StallState_STALL_STATE_DETECTED) == (len(states)%2 == 0)
			states = append(states, s.GetState())
			if d := s.GetIdleDuration().AsDuration(); d < 250*time.Millisecond || d > 30*time.Second {
				x.errorf("a stall of %v", d)
			}
		}
	}
	if len(states) == 0 || len(states)%2 != 0 || !alternate {
		x.errorf("stalls %v", states)
	}
}
