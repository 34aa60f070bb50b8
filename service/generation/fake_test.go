package generation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/upstream"
	"github.com/llmd-dev/llmd/service/responses"
)

// tiny is a wire API of one JSON object for each fact, so that tests can say what a
// provider says.
type tiny struct{ api string }

func (a tiny) API() string                                   { return a.api }
func (tiny) Framing() frame.Kind                             { return frame.SSE }
func (tiny) Constraints(*profile.Model) adapters.Constraints { return adapters.Constraints{} }
func (a tiny) NewDecoder(*adapters.Call) adapters.Decoder    { return &tinyDecoder{} }
func (a tiny) Encode(c *adapters.Call) (*adapters.Request, error) {
	if strings.HasPrefix(c.Model.ID, "unable") {
		return nil, &adapters.CapabilityError{Capability: "everything", Field: "generation.model", Detail: "it can do nothing"}
	}
	body := a.api
	for _, tool := range c.Options.Tools {
		if strict := strings.TrimPrefix(tool.GetStrict().String(), "STRICT_MODE_"); strict == "PREFER" || strict == "REQUIRE" {
			body += " " + tool.GetName() + ":" + strict
		}
	}
	return &adapters.Request{Path: "/" + c.Model.ID, Body: []byte(body), Effective: &llmdv1.EffectiveOptions{ToolNames: []string{a.api}}}, nil
}

// tooLarge is the body of an error about schemas.
const tooLarge = "the schemas are too large"

// DecodeError gives the reason that the body names, else one by the status.
func (tiny) DecodeError(status int, _ http.Header, body []byte) *adapters.UpstreamError {
	if string(body) == tooLarge {
		return &adapters.UpstreamError{Reason: adapters.ReasonRejectedRequest, Status: status, SchemaRefused: true}
	}
	u := &adapters.UpstreamError{Reason: string(body), Status: status}
	if len(body) == 0 {
		u.Reason = map[int]string{
			400: adapters.ReasonRejectedRequest, 401: adapters.ReasonCredentialsInvalid, 402: adapters.ReasonQuotaExhausted,
			403: adapters.ReasonPermissionDenied, 404: adapters.ReasonModelNotFound, 413: adapters.ReasonRequestTooLarge,
			429: adapters.ReasonRateLimited, 500: adapters.ReasonProviderError, 503: adapters.ReasonOverloaded,
		}[status]
	}
	return u
}

type tinyDecoder struct {
	stopped bool
	held    string
}

// fact is one frame.
type fact struct {
	Text, Think, Args, Call, Stop, Error, Fail, ID string
	Held                                           string // told at the end
	Usage                                          int32
	Done, Ping, Panic, Bad                         bool
	ArgsKey                                        int
}

func (d *tinyDecoder) Decode(f frame.Frame, s *adapters.Sink) error {
	var x fact
	if err := json.Unmarshal(f.Data, &x); err != nil || x.Bad {
		return errors.New("tiny: unreadable")
	}
	switch {
	case x.Panic:
		panic("the prompt is secret")
	case x.Error != "":
		return &adapters.UpstreamError{Reason: x.Error, Message: "the words"}
	}
	d.held += x.Held
	s.Hold(len(x.Held))
	if x.ID != "" {
		s.IDs(x.ID, "answered-by")
	}
	if x.Think != "" {
		s.Thinking(0, x.Think)
	}
	if x.Text != "" {
		s.End(0)
		s.Text(1, x.Text)
	}
	if x.Call != "" {
		s.ToolCall(2, "id", x.Call, "")
	}
	if x.Args != "" {
		s.Arguments(2, x.Args)
	}
	if x.Usage != 0 {
		s.Usage(&llmdv1.Usage{OutputTokens: x.Usage})
	}
	if x.Stop != "" {
		d.stopped = true
		s.Stop(llmdv1.StopReason_STOP_REASON_STOP, x.Stop)
	}
	if x.Fail != "" {
		d.stopped = true
		s.Fail("refused", &adapters.UpstreamError{Reason: x.Fail})
	}
	if x.Done {
		s.Complete()
	}
	return nil
}

func (d *tinyDecoder) Finish(s *adapters.Sink) error {
	if d.held != "" {
		s.Text(1, d.held)
	}
	if d.stopped {
		return nil
	}
	return adapters.ErrTruncated
}

// step is what a provider does next: it says a fact, waits, or breaks off.
type step func(ctx context.Context, w *io.PipeWriter) error

func say(facts ...fact) step {
	return func(_ context.Context, w *io.PipeWriter) error {
		for _, f := range facts {
			text, err := json.Marshal(f)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil {
				return err
			}
		}
		return nil
	}
}

func raw(s string) step {
	return func(_ context.Context, w *io.PipeWriter) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func wait(d time.Duration) step {
	return func(ctx context.Context, _ *io.PipeWriter) error { return sleep(ctx, d) }
}

func every(d time.Duration, s step) step {
	return func(ctx context.Context, w *io.PipeWriter) error {
		for {
			if err := sleep(ctx, d); err != nil {
				return err
			}
			if err := s(ctx, w); err != nil {
				return err
			}
		}
	}
}

// hang says nothing until llmd goes.
func hang(ctx context.Context, _ *io.PipeWriter) error { <-ctx.Done(); return ctx.Err() }

// broke ends the body with an error.
func broke(context.Context, *io.PipeWriter) error { return io.ErrUnexpectedEOF }

// reply is one answer of a provider.
type reply struct {
	delay  time.Duration // before the headers
	status int
	header http.Header
	body   string // of an error
	err    error  // instead of headers
	steps  []step
}

// unconfigured is what comes instead of an answer where there is no key.
var unconfigured = reply{err: &adapters.UpstreamError{Reason: adapters.ReasonCredentialsInvalid, Err: ErrNotConfigured}}

func ok(steps ...step) reply { return reply{status: 200, steps: steps} }

// text is a whole answer.
func text(s string) reply {
	return ok(say(fact{ID: "r1"}, fact{Text: s}, fact{Stop: "end", Usage: 3}, fact{Done: true}))
}

func status(n int, header ...string) reply {
	p := reply{status: n, header: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		p.header.Set(header[i], header[i+1])
	}
	return p
}

// host plays the providers: each model's answers, one after another.
type host struct {
	mu      sync.Mutex
	plays   map[string][]reply
	sent    []string // "path body key", in order
	times   []time.Time
	open    int // bodies that are not closed
	playing sync.WaitGroup
}

func (h *host) Do(ctx context.Context, m *profile.Model, key string, r *adapters.Request) (*upstream.Response, error) {
	h.mu.Lock()
	if next := h.plays[m.ID]; len(next) > 0 && errors.Is(next[0].err, ErrNotConfigured) {
		h.plays[m.ID] = next[1:]
		h.mu.Unlock()
		return nil, next[0].err
	}
	h.sent = append(h.sent, strings.TrimSpace(r.Path+" "+string(r.Body)+" "+key))
	h.times = append(h.times, time.Now())
	if len(h.plays[m.ID]) == 0 {
		h.mu.Unlock()
		return nil, fmt.Errorf("no answer is left for %s", m.ID)
	}
	p := h.plays[m.ID][0]
	h.plays[m.ID] = h.plays[m.ID][1:]
	h.mu.Unlock()
	if err := sleep(ctx, p.delay); err != nil {
		return nil, err
	}
	if p.err != nil {
		return nil, p.err
	}
	if p.header == nil {
		p.header = http.Header{}
	}
	resp := &upstream.Response{Status: p.status, Header: p.header, RequestID: "req-" + m.ID}
	if p.status != 200 && len(p.steps) == 0 {
		resp.Body = io.NopCloser(strings.NewReader(p.body))
		return resp, nil
	}
	pr, pw := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	h.mu.Lock()
	h.open++
	h.mu.Unlock()
	h.playing.Go(func() {
		defer cancel()
		for _, s := range p.steps {
			if err := s(ctx, pw); err != nil {
				_ = pw.CloseWithError(err)
				return
			}
		}
		_ = pw.Close()
	})
	body := &hostBody{PipeReader: pr, host: h, cancel: cancel}
	// As with a real connection, the end of the context closes it.
	context.AfterFunc(ctx, func() {
		_ = pr.CloseWithError(context.Cause(ctx))
		_ = body.Close()
	})
	resp.Body = body
	return resp, nil
}

type hostBody struct {
	*io.PipeReader
	host   *host
	cancel context.CancelFunc
	once   sync.Once
}

// Read spoils the buffer first: nothing of what was read before may be in use.
func (b *hostBody) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '?'
	}
	return b.PipeReader.Read(p)
}

func (b *hostBody) Close() error {
	b.once.Do(func() {
		b.host.mu.Lock()
		b.host.open--
		b.host.mu.Unlock()
		b.cancel()
	})
	return b.PipeReader.Close()
}

// connections is how many bodies are not closed.
func (h *host) connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

func (h *host) requests() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sent)
}

// lab is an engine with played providers. It is for use in a synctest bubble: its
// times are the contract's own.
type lab struct {
	*Engine
	host     *host
	registry *responses.Registry
	panics   []string
}

func newLab(t *testing.T, plays map[string][]reply) *lab {
	t.Helper()
	l := &lab{host: &host{plays: plays}, registry: responses.New(true)}
	l.Engine = New(Config{
		Models: func(_ context.Context, name string) (*profile.Model, error) {
			provider, id, ok := strings.Cut(name, "/")
			if !ok || strings.HasPrefix(id, "unknown") {
				return nil, fmt.Errorf("no model %s", name)
			}
			api := "tiny"
			if strings.HasPrefix(id, "other") {
				api = "other"
			}
			return &profile.Model{ID: id, Provider: provider, API: api}, nil
		},
		Adapters: func(api string) (adapters.Adapter, bool) { return tiny{api: api}, api == "tiny" || api == "other" },
		Upstream: l.host,
		Price:    func(*profile.Model, *llmdv1.Usage, string) *llmdv1.Cost { return nil },
		ErrorOf: func(err error) *llmdv1.Error {
			if ab, ok := errors.AsType[*Abort](err); ok {
				return &llmdv1.Error{Reason: ab.Cause.String()}
			}
			if u := asUpstream(err); u != nil {
				return &llmdv1.Error{Reason: u.Reason, Message: u.Message}
			}
			return &llmdv1.Error{Reason: "INTERNAL"}
		},
		Store:    l.registry,
		Instance: "test",
		Panicked: func(kind string, _ []byte) { l.panics = append(l.panics, kind) },
	})
	return l
}

func ask(model string) *Request {
	return &Request{Generation: &llmdv1.Generation{Model: model, Context: &llmdv1.Context{Messages: []*llmdv1.Message{
		{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{
			{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: "hello"}}},
		}}}},
	}}}}
}

func (r *Request) retries(n int32) *Request {
	r.Generation.Retry = &llmdv1.RetryPolicy{MaxRetries: n}
	return r
}

func (r *Request) within(d time.Duration) *Request {
	r.Generation.Retry.MaxDelay = durationpb.New(d)
	return r
}

func (r *Request) fallback(models ...string) *Request {
	r.Generation.FallbackModels = models
	return r
}

func (r *Request) watch(idle, stall, header time.Duration) *Request {
	r.Generation.Watchdog = &llmdv1.Watchdog{IdleTimeout: durationpb.New(idle), StallWarning: durationpb.New(stall), HeaderTimeout: durationpb.New(header)}
	return r
}

// seen is what one reader got.
type seen struct {
	events []*llmdv1.StreamResponse
	err    error
	took   time.Duration
	reader *Reader
}

// run starts a request and reads it to its end.
func (l *lab) run(t *testing.T, req *Request) *seen {
	t.Helper()
	rd, err := l.Start(t.Context(), req)
	if err != nil {
		return &seen{err: err}
	}
	return read(t.Context(), rd, nil)
}

func read(ctx context.Context, rd *Reader, each func(*llmdv1.StreamResponse)) *seen {
	s := &seen{reader: rd}
	began := time.Now()
	s.err = rd.Deliver(ctx, func(e *llmdv1.StreamResponse) error {
		s.events = append(s.events, e)
		if each != nil {
			each(e)
		}
		return nil
	})
	s.took = time.Since(began)
	return s
}

func (s *seen) started() *llmdv1.StartedEvent {
	if len(s.events) == 0 {
		return nil
	}
	return s.events[0].GetStarted()
}

func (s *seen) last() *llmdv1.StreamResponse {
	if len(s.events) == 0 {
		return nil
	}
	return s.events[len(s.events)-1]
}

// text is what the text deltas say.
func (s *seen) text() string {
	var b strings.Builder
	for _, e := range s.events {
		b.WriteString(e.GetTextDelta().GetDelta())
	}
	return b.String()
}

// folded is text with snapshots, which replace what came before.
func (s *seen) folded() string {
	var b strings.Builder
	for _, e := range s.events {
		if snap := e.GetSnapshot(); snap != nil {
			b.Reset()
			for _, c := range snap.GetMessage().GetContent() {
				b.WriteString(c.GetText().GetText())
			}
		}
		b.WriteString(e.GetTextDelta().GetDelta())
	}
	return b.String()
}

// reason is the reason of a failed run; "" for a success.
func (s *seen) reason() string {
	if u := asUpstream(s.err); u != nil {
		return u.Reason
	}
	if ab, ok := errors.AsType[*Abort](s.err); ok {
		return ab.Cause.String()
	}
	if s.err != nil {
		return s.err.Error()
	}
	return ""
}

func failureOf(t *testing.T, err error) *Failure {
	t.Helper()
	var f *Failure
	if !errors.As(err, &f) {
		t.Fatalf("%v is no Failure", err)
	}
	return f
}

// known is a response of the registry.
func (l *lab) known(k responses.Key) (*responses.Known, bool) {
	f, err := l.registry.Known(context.Background(), k)
	if err != nil {
		return &responses.Known{}, false
	}
	return f, true
}
