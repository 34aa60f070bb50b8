package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// load is how much: LLMD_LOAD_STREAMS at a time for LLMD_LOAD_TIME.
func load(t *testing.T) (streams int, d time.Duration) {
	t.Helper()
	streams, d = number(t, "LLMD_LOAD_STREAMS", 100, 2000), 5*time.Second
	if long() {
		d = 5 * time.Minute
	}
	if s := os.Getenv("LLMD_LOAD_TIME"); s != "" {
		n, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		d = n
	}
	return streams, d
}

// TestLoad: many streams at once, each with what its seed says: an answer, a pace
// and perhaps a fault. Each must end as its seed says, with the text its seed says,
// and at the end nothing may be left.
func TestLoad(t *testing.T) {
	streams, d := load(t)
	goroutines, files, before := runtime.NumGoroutine(), openFiles(), heap()
	var most uint64
	tally := &tally{counts: map[string]int{}, faults: map[string]int{}}
	t.Run("run", func(t *testing.T) { most = runLoad(t, streams, d, tally) })
	// Everything is closed now.
	after := heap()
	for range 50 {
		if runtime.NumGoroutine() <= goroutines+5 && openFiles() <= files+2 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("%d streams at a time for %v: %d in all; %s", streams, d, tally.total, tally)
	t.Logf("faults: %v", tally.faults)
	t.Logf("heap %d KiB before, %d MiB at most, %d KiB after; goroutines %d and %d, files %d and %d",
		before>>10, most>>20, after>>10, goroutines, runtime.NumGoroutine(), files, openFiles())
	if g := runtime.NumGoroutine(); g > goroutines+5 {
		t.Errorf("%d goroutines are left of %d", g-goroutines, streams)
	}
	if f := openFiles(); f > files+2 {
		t.Errorf("%d files are left", f-files)
	}
	if after > before+8<<20 {
		t.Errorf("%d bytes are left", after-before)
	}
}

// tally counts ends.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
	faults map[string]int
	total  int
}

// fault counts what was done to a stream.
func (y *tally) fault(name string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.faults[name]++
}

func (y *tally) add(what string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.counts[what]++
	y.total++
}

func (y *tally) String() string { return strings.TrimPrefix(fmt.Sprint(y.counts), "map") }

func runLoad(t *testing.T, streams int, d time.Duration, y *tally) (most uint64) {
	t.Helper()
	wires := spoken(t)
	p, p2 := NewPlayer(t), NewHTTP2Player(t)
	l := harness.Start(t, "  log_level: error\n", append(hosts(p, wires), hostsAs(overHTTP2, p2, wires)...)...)
	clients := []llmdv1.InferenceServiceClient{l}
	for range streams / 500 {
		conn := l.Dial(t)
		t.Cleanup(func() { _ = conn.Close() })
		clients = append(clients, llmdv1.NewInferenceServiceClient(conn))
	}
	first := uint64(time.Now().UnixNano())
	t.Logf("seeds from %d", first)
	end := time.Now().Add(d)
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			// Not all at once: making thousands of connections is not what this is about.
			time.Sleep(time.Duration(i) * (d / 5) / time.Duration(streams))
			for n := uint64(0); time.Now().Before(end) && !t.Failed(); n++ {
				s := &load1{t: t, l: l, c: clients[i%len(clients)], player: p, seed: first + uint64(i)<<20 + n, y: y}
				if s.seed%4 == 0 {
					s.player, s.provider = p2, overHTTP2
				}
				s.run(wires)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return most
		case <-time.After(time.Second):
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}
	}
}

// overHTTP2 begins the ids of providers that speak HTTP/2.
const overHTTP2 = "h2-"

// load1 is one stream of the load.
type load1 struct {
	t        *testing.T
	l        *harness.LLMD
	c        llmdv1.InferenceServiceClient
	player   *Player
	provider string // begins the provider's id; empty = p-
	seed     uint64
	y        *tally

	rnd    *rand.Rand
	wire   *Wire
	frames []Frame
	answer Answer
	cut    int // frames sent before the fault
	fault  string
	// holds: an Abort or a cancel comes while the provider is silent, not while it
	// speaks.
	holds bool
}

func (s *load1) errorf(format string, args ...any) {
	s.t.Errorf("seed %d (%s, %s at frame %d of %d): %s", s.seed, s.wire.API, s.fault, s.cut, len(s.frames), fmt.Sprintf(format, args...))
}

// words are what answers are made of.
var words = []string{"word ", "another ", "é", "€uro ", "😀", "\n", "\"quoted\" ", "back\\slash ", "\t", "<tag> & ", "longer words that fill a frame ", "\u2028", "{\"a\":1} "}

func (s *load1) text(most int) []string {
	var out []string
	for range s.rnd.IntN(most) {
		var b strings.Builder
		for range 1 + s.rnd.IntN(6) {
			b.WriteString(words[s.rnd.IntN(len(words))])
		}
		out = append(out, b.String())
	}
	return out
}

// arguments are the fragments of an object.
func (s *load1) arguments() []string {
	object := map[string]any{"n": s.rnd.Int64(), "deep": []any{true, nil, map[string]string{"k": strings.Join(s.text(10), "")}}}
	for i := range s.rnd.IntN(8) {
		object[fmt.Sprint("key", i)] = strings.Join(s.text(6), "")
	}
	text, err := json.Marshal(object)
	if err != nil {
		s.errorf("%v", err)
	}
	var out []string
	for len(text) > 0 {
		n := min(1+s.rnd.IntN(20), len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		out = append(out, string(text[:n]))
		text = text[n:]
	}
	return out
}

// kinds are the faults with their weights.
var kinds = []struct {
	name   string
	weight int
}{
	{"none", 30},
	{"ends", 8},
	{"ends inside a frame", 6},
	{"reset", 6},
	{"error frame", 8},
	{"garbage", 6},
	{"cancel", 9},
	{"abort", 8},
	{"gzip", 5},
	{"overloaded first", 5},
	{"slow reader", 4},
	{"two readers", 5},
}

func (s *load1) pick() string {
	n := s.rnd.IntN(100)
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			return k.name
		}
	}
	return "none"
}

func (s *load1) run(wires []*Wire) {
	s.rnd = rand.New(rand.NewPCG(s.seed, 1))
	s.wire = wires[s.rnd.IntN(len(wires))]
	s.answer = Answer{ID: fmt.Sprint("a", s.seed), Thinking: s.text(20), Text: append(s.text(60), "end"), In: s.rnd.IntN(1000), Out: 1 + s.rnd.IntN(1000)}
	if s.rnd.IntN(2) == 0 {
		s.answer.Args = s.arguments()
	}
	s.frames = s.wire.Frames(s.answer)
	s.cut = s.rnd.IntN(len(s.frames))
	s.fault = s.pick()
	s.holds = (s.fault == "abort" || s.fault == "cancel") && s.rnd.IntN(3) > 0
	pace := s.rnd.IntN(3)
	seed := s.rnd.Uint64()
	script := s.player.Add(func(e *Exchange) bool { return s.play(e, pace, rand.New(rand.NewPCG(seed, 2))) })
	defer s.player.Forget(script)
	req := request(s.wire, script, fmt.Sprint("load-", s.seed))
	if s.provider != "" {
		req.Generation.Model = s.provider + s.wire.API + "/m"
	}
	if s.fault == "overloaded first" {
		req.Generation.Retry = &llmdv1.RetryPolicy{MaxRetries: 1}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // a busy machine is no fault
	defer cancel()
	at := 1 + s.rnd.IntN(max(3, len(s.frames)/2))
	second := make(chan *harness.Outcome, 1)
	act := func(target *llmdv1.AbortRequest) {
		if s.fault == "cancel" {
			cancel()
		} else if _, err := s.l.Abort(ctx, target); err != nil {
			s.errorf("Abort: %v", err)
		}
	}
	acted := make(chan struct{})
	go func() {
		defer close(acted)
		if !s.holds {
			return
		}
		select {
		case <-script.Reached:
			act(&llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: req.GetRequestId()}})
		case <-ctx.Done():
		}
	}()
	o := harness.Run(ctx, s.c, req, func(o *harness.Outcome, _ *llmdv1.StreamResponse) {
		switch {
		case s.fault == "slow reader" && len(o.Events)%10 == 0:
			time.Sleep(5 * time.Millisecond)
		case len(o.Events) != at || s.holds:
		case s.fault == "cancel", s.fault == "abort":
			act(&llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_ResponseId{ResponseId: o.Started.GetResponseId()}})
		case s.fault == "two readers":
			go func() { second <- harness.Run(ctx, s.c, req, nil) }()
		}
	})
	<-acted
	s.check(o)
	if s.fault == "two readers" && len(o.Events) >= at {
		if b := <-second; b.Stop() != o.Stop() || !proto.Equal(b.Message, o.Message) || len(b.Faults) > 0 {
			s.errorf("the second reader: %s, %v", b.Stop(), b.Faults)
		}
	}
	if n := script.Requests.Load(); n > 1 && s.fault != "overloaded first" {
		s.errorf("%d requests", n)
	}
}

func (s *load1) play(e *Exchange, pace int, rnd *rand.Rand) bool {
	if s.fault == "overloaded first" && e.Number == 1 {
		return fails(503, overloaded, "Retry-After-Ms: "+strconv.Itoa(rnd.IntN(30)))(e)
	}
	if s.fault == "gzip" {
		e.Head(200, "Content-Type: "+s.wire.ContentType, "Content-Encoding: gzip")
		e.Gzip()
	} else {
		e.Head(200, "Content-Type: "+s.wire.ContentType)
	}
	for i, f := range s.frames {
		if i == s.cut {
			if s.holds {
				e.Reach()
				return e.Hold()
			}
			switch s.fault {
			case "ends":
				return e.End()
			case "ends inside a frame":
				e.Send(f.Data[:rnd.IntN(len(f.Data))])
				return e.End()
			case "reset":
				return e.Reset()
			case "error frame":
				e.Send(s.wire.Overloaded)
				return e.Hold()
			case "garbage":
				e.Send(s.wire.Garbage)
				return e.Hold()
			}
		}
		if pace > 0 && rnd.IntN(4) == 0 && !e.Pause(time.Duration(rnd.IntN(pace*4))*time.Millisecond) {
			return false
		}
		if !e.Send(f.Data) {
			return false
		}
	}
	return e.End()
}

// check compares the end of a stream with its seed.
func (s *load1) check(o *harness.Outcome) {
	if s.fault == "cancel" && o.Message != nil && o.Status.Code() == codes.Canceled {
		s.y.add("cancelled") // between the last event and the status
		s.y.fault(s.fault)
		return
	}
	for _, f := range o.Faults {
		s.errorf("grammar: %s", f)
	}
	marker := 0
	for i, f := range s.frames {
		if f.Marker {
			marker = i
		}
	}
	m := o.Message
	switch s.fault {
	case "ends", "ends inside a frame", "reset", "error frame", "garbage":
		if s.cut > marker {
			if s.fault == "reset" && o.Stop() == "ERROR" {
				break // the reset took back what llmd had not read
			}
			s.whole(o)
			break
		}
		if s.fault == "ends inside a frame" && s.cut == marker && o.Stop() != "ERROR" {
			s.whole(o) // all but the frame's delimiter arrived
			break
		}
		s.broken(o)
	case "cancel":
		if o.Status.Code() == codes.OK {
			s.whole(o)
			break
		}
		s.y.add("cancelled")
		s.y.fault(s.fault)
		if o.Started != nil {
			s.kept(o)
		}
		return
	case "abort":
		if o.Aborted == nil {
			s.whole(o)
			break
		}
		if o.Status.Code() != codes.OK || o.Aborted.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_REQUESTED {
			s.errorf("%v, %v", o.Status, o.Aborted.GetCause())
		}
		s.prefix(m, nil)
	default:
		s.whole(o)
	}
	s.y.add(strings.ToLower(o.Stop()))
	s.y.fault(s.fault)
}

func (s *load1) whole(o *harness.Outcome) {
	want := "STOP"
	if len(s.answer.Args) > 0 {
		want = "TOOL_USE"
	}
	if o.Stop() != want || o.Status.Code() != codes.OK {
		s.errorf("%s, %v, want %s: %s", o.Stop(), o.Status.Code(), want, o.Words())
		return
	}
	got, wants := contents(o.Message), added(s.frames)
	for _, kind := range []string{Thinking, Text, ToolCall} {
		if got[kind] != wants[kind] {
			s.errorf("%s is %q, want %q", kind, got[kind], wants[kind])
		}
	}
	u := o.Message.GetUsage()
	if late := s.wire.API == "openai-completions" || s.wire.API == "bedrock-converse-stream"; late && u == nil {
		// Usage that follows the marker is waited for, but not for ever, and the
		// provider played here runs on the same busy machine.
		s.y.add("late usage")
		return
	}
	if cut := s.cut < len(s.frames) && s.fault != "none" && s.fault != "gzip"; !cut && (u.GetInputTokens() != int32(s.answer.In) || u.GetOutputTokens() != int32(s.answer.Out)) {
		s.errorf("usage %v, want %d and %d", u, s.answer.In, s.answer.Out)
	}
	if o.Message.GetProviderResponseId() != s.answer.ID && s.wire.API != "bedrock-converse-stream" {
		s.errorf("another response's id: %s", o.Message.GetProviderResponseId())
	}
}

// broken: a status before the first frame, an error event with the partial later.
func (s *load1) broken(o *harness.Outcome) {
	reasons := map[string]string{"error frame": "PROVIDER_", "garbage": "PROVIDER_PROTOCOL_ERROR"}
	want := reasons[s.fault]
	if want == "" {
		want = "PROVIDER_STREAM_TRUNCATED"
	}
	if o.Status.Code() != codes.Unavailable || !strings.HasPrefix(o.Reason(), want) {
		if s.fault != "reset" || o.Reason() != "PROVIDER_UNREACHABLE" { // a reset can overtake the headers
			s.errorf("%v %s, want %s: %s", o.Status.Code(), o.Reason(), want, o.Words())
		}
	}
	if o.Message == nil {
		if len(o.Events) > 0 {
			s.errorf("%d events and no terminal one", len(o.Events))
		}
		return
	}
	if s.fault == "reset" {
		s.prefix(o.Message, nil)
		return
	}
	s.prefix(o.Message, added(s.frames[:s.cut]))
}

// prefix: the text is the beginning of the seed's; exact says how much.
func (s *load1) prefix(m *llmdv1.AssistantMessage, exact map[string]string) {
	got, wants := contents(m), added(s.frames)
	for _, kind := range []string{Thinking, Text} {
		if !strings.HasPrefix(wants[kind], got[kind]) {
			s.errorf("%s is %q, no beginning of %q", kind, got[kind], wants[kind])
		}
		if exact != nil && got[kind] != exact[kind] && s.fault != "ends inside a frame" {
			s.errorf("%s is %q, want %q", kind, got[kind], exact[kind])
		}
	}
	if got[ToolCall] != "" && !json.Valid([]byte(got[ToolCall])) {
		s.errorf("partial arguments %q", got[ToolCall])
	}
}

// kept: what the client had seen of a response that it cancelled is kept.
func (s *load1) kept(o *harness.Outcome) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	resp, err := s.l.GetResponse(ctx, &llmdv1.GetResponseRequest{
		Target: &llmdv1.GetResponseRequest_ResponseId{ResponseId: o.Started.GetResponseId()}, WaitDuration: durationpb.New(10 * time.Second),
	})
	if err != nil {
		if harness.ReasonOf(err) != "RESPONSE_NOT_FOUND" { // the store is bounded, and busy
			s.errorf("GetResponse: %v", err)
		}
		return
	}
	m := resp.GetMessage()
	switch m.GetStopReason() {
	case llmdv1.StopReason_STOP_REASON_ABORTED, llmdv1.StopReason_STOP_REASON_STOP, llmdv1.StopReason_STOP_REASON_TOOL_USE:
	default:
		s.errorf("kept as %v", m.GetStopReason())
	}
	s.prefix(m, nil)
	got := contents(m)
	seen := map[string]string{}
	for _, b := range o.Fold {
		seen[b.Kind] += b.Raw.String()
	}
	for _, kind := range []string{Thinking, Text} {
		if !strings.HasPrefix(got[kind], seen[kind]) {
			s.errorf("%s kept is %q, seen %q", kind, got[kind], seen[kind])
		}
	}
}

func contents(m *llmdv1.AssistantMessage) map[string]string {
	out := map[string]string{}
	for _, c := range m.GetContent() {
		out[harness.KindOf(c)] += harness.TextOf(c)
	}
	return out
}
