package generation

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// attempts is "model reason status delay" of each.
func attemptsOf(s *llmdv1.StartedEvent) []string {
	var out []string
	for _, a := range s.GetAttempts() {
		line := a.GetModel() + " " + a.GetReason()
		if d := a.GetDelay(); d != nil {
			line += " " + d.AsDuration().String()
		}
		out = append(out, line)
	}
	return out
}

// TestCandidates: which failures lead to another try or another model, what was
// sent, how long that took, and what the caller is told.
func TestCandidates(t *testing.T) {
	yes := "true"
	for _, c := range []struct {
		name     string
		plays    map[string][]reply
		req      *Request
		sent     []string // paths
		took     [2]time.Duration
		reason   string
		attempts []string // prefix of each
		api      string
	}{
		{
			name: "no retry by default", plays: map[string][]reply{"a": {status(503), text("x")}}, req: ask("lab/a"),
			sent: []string{"/a"}, reason: "PROVIDER_OVERLOADED",
		},
		{
			name: "two retries with backoff", plays: map[string][]reply{"a": {status(503), status(500), text("x")}}, req: ask("lab/a").retries(2),
			sent: []string{"/a", "/a", "/a"}, took: [2]time.Duration{1125 * time.Millisecond, 1500 * time.Millisecond},
			attempts: []string{"lab/a PROVIDER_OVERLOADED", "lab/a PROVIDER_ERROR"},
		},
		{
			name: "retries used up", plays: map[string][]reply{"a": {status(503), status(503), status(500)}}, req: ask("lab/a").retries(2),
			sent: []string{"/a", "/a", "/a"}, took: [2]time.Duration{1125 * time.Millisecond, 1500 * time.Millisecond}, reason: "PROVIDER_ERROR",
		},
		{
			name: "Retry-After is kept to the instant", plays: map[string][]reply{"a": {status(429, "Retry-After", "17"), text("x")}}, req: ask("lab/a").retries(1),
			sent: []string{"/a", "/a"}, took: [2]time.Duration{17 * time.Second, 17 * time.Second}, attempts: []string{"lab/a RATE_LIMITED 17s"},
		},
		{
			name: "a wait over a minute is not waited for", plays: map[string][]reply{"a": {status(429, "Retry-After", "61"), text("x")}}, req: ask("lab/a").retries(5),
			sent: []string{"/a"}, reason: "RATE_LIMITED",
		},
		{
			name: "nor over the caller's limit", plays: map[string][]reply{"a": {status(429, "Retry-After-Ms", "2001"), text("x")}}, req: ask("lab/a").retries(5).within(2 * time.Second),
			sent: []string{"/a"}, reason: "RATE_LIMITED",
		},
		{
			name: "but leads to the next model", plays: map[string][]reply{"a": {status(429, "Retry-After", "61")}, "b": {text("x")}}, req: ask("lab/a").retries(5).fallback("lab/b"),
			sent: []string{"/a", "/b"}, attempts: []string{"lab/a RATE_LIMITED"},
		},
		{
			name: "fallback needs no retries", plays: map[string][]reply{"a": {status(503)}, "other": {text("x")}}, req: ask("lab/a").fallback("lab/other"),
			sent: []string{"/a", "/other"}, attempts: []string{"lab/a PROVIDER_OVERLOADED"}, api: "other",
		},
		{
			name:  "each candidate has its own retries",
			plays: map[string][]reply{"a": {status(503), status(503)}, "b": {status(500), status(500)}, "c": {status(503), text("x")}},
			req:   ask("lab/a").retries(1).fallback("lab/b", "lab/c"),
			sent:  []string{"/a", "/a", "/b", "/b", "/c", "/c"}, took: [2]time.Duration{1125 * time.Millisecond, 1500 * time.Millisecond},
			attempts: []string{"lab/a PROVIDER_OVERLOADED", "lab/a PROVIDER_OVERLOADED", "lab/b PROVIDER_ERROR", "lab/b PROVIDER_ERROR", "lab/c PROVIDER_OVERLOADED"},
		},
		{
			name: "the last failure is told", plays: map[string][]reply{"a": {status(503)}, "b": {status(500)}}, req: ask("lab/a").fallback("lab/b"),
			sent: []string{"/a", "/b"}, reason: "PROVIDER_ERROR",
		},
		{
			name: "quota", plays: map[string][]reply{"a": {status(402)}, "b": {text("x")}}, req: ask("lab/a").retries(3).fallback("lab/b"),
			sent: []string{"/a"}, reason: "QUOTA_EXHAUSTED",
		},
		{
			name: "quota at 429", plays: map[string][]reply{"a": {{status: 429, body: adapters.ReasonQuotaExhausted}}, "b": {text("x")}}, req: ask("lab/a").retries(3).fallback("lab/b"),
			sent: []string{"/a"}, reason: "QUOTA_EXHAUSTED",
		},
		{
			name: "overflow", plays: map[string][]reply{"a": {{status: 500, body: adapters.ReasonContextLengthExceeded}}, "b": {text("x")}}, req: ask("lab/a").retries(3).fallback("lab/b"),
			sent: []string{"/a"}, reason: "CONTEXT_LENGTH_EXCEEDED",
		},
		{
			name: "credentials", plays: map[string][]reply{"a": {status(401)}, "b": {text("x")}}, req: ask("lab/a").retries(3).fallback("lab/b"),
			sent: []string{"/a"}, reason: "PROVIDER_CREDENTIALS_INVALID",
		},
		{
			name: "permission", plays: map[string][]reply{"a": {status(403)}, "b": {text("x")}}, req: ask("lab/a").retries(3).fallback("lab/b"),
			sent: []string{"/a"}, reason: "PROVIDER_PERMISSION_DENIED",
		},
		{
			name: "not found", plays: map[string][]reply{"a": {status(404)}, "b": {text("x")}}, req: ask("lab/a").retries(3).fallback("lab/b"),
			sent: []string{"/a"}, reason: "MODEL_NOT_FOUND",
		},
		{
			name: "rejected", plays: map[string][]reply{"a": {status(400)}, "b": {text("x")}}, req: ask("lab/a").retries(3).fallback("lab/b"),
			sent: []string{"/a"}, reason: "PROVIDER_REJECTED_REQUEST",
		},
		{
			name: "told not to", plays: map[string][]reply{"a": {status(503, "X-Should-Retry", "false")}, "b": {text("x")}}, req: ask("lab/a").retries(3).fallback("lab/b"),
			sent: []string{"/a"}, reason: "PROVIDER_OVERLOADED",
		},
		{
			name: "told to", plays: map[string][]reply{"a": {status(400, "X-Should-Retry", yes, "Retry-After", "1"), text("x")}}, req: ask("lab/a").retries(1),
			sent: []string{"/a", "/a"}, took: [2]time.Duration{time.Second, time.Second}, attempts: []string{"lab/a PROVIDER_REJECTED_REQUEST 1s"},
		},
		{
			name: "unreachable", plays: map[string][]reply{"a": {{err: &adapters.UpstreamError{Reason: adapters.ReasonUnreachable}}, text("x")}}, req: ask("lab/a").retries(1),
			sent: []string{"/a", "/a"}, took: [2]time.Duration{375 * time.Millisecond, 500 * time.Millisecond}, attempts: []string{"lab/a PROVIDER_UNREACHABLE"},
		},
		{
			name: "no headers in time", plays: map[string][]reply{"a": {{delay: time.Hour, status: 200}, text("x")}}, req: ask("lab/a").retries(1),
			sent: []string{"/a", "/a"}, took: [2]time.Duration{120375 * time.Millisecond, 120500 * time.Millisecond}, attempts: []string{"lab/a PROVIDER_TIMEOUT"},
		},
		{
			name: "no frame in time", plays: map[string][]reply{"a": {ok(hang)}, "b": {text("x")}}, req: ask("lab/a").watch(time.Minute, 0, 3*time.Second).fallback("lab/b"),
			sent: []string{"/a", "/b"}, took: [2]time.Duration{3 * time.Second, 3 * time.Second}, attempts: []string{"lab/a PROVIDER_TIMEOUT"},
		},
		{
			name: "an error whose body does not end", plays: map[string][]reply{"a": {{status: 401, steps: []step{raw(adapters.ReasonCredentialsInvalid), hang}}}},
			req: ask("lab/a").watch(time.Minute, 0, 3*time.Second).retries(1).fallback("lab/b"), sent: []string{"/a"}, took: [2]time.Duration{3 * time.Second, 3 * time.Second},
			reason: adapters.ReasonCredentialsInvalid,
		},
		{
			name: "and one that says when to come again", plays: map[string][]reply{"a": {{status: 429, header: http.Header{"Retry-After": {"17"}}, steps: []step{hang}}, text("x")}},
			req: ask("lab/a").watch(time.Minute, 0, 3*time.Second).retries(1), sent: []string{"/a", "/a"}, took: [2]time.Duration{20 * time.Second, 20 * time.Second},
			attempts: []string{"lab/a RATE_LIMITED 17s"},
		},
		{
			name:  "comments are no frames",
			plays: map[string][]reply{"a": {ok(every(100*time.Millisecond, raw(": busy\n\n")))}}, req: ask("lab/a").watch(time.Minute, 0, 3*time.Second),
			sent: []string{"/a"}, took: [2]time.Duration{3 * time.Second, 3 * time.Second}, reason: "PROVIDER_TIMEOUT",
		},
		{
			name: "an empty body", plays: map[string][]reply{"a": {ok(), text("x")}}, req: ask("lab/a").retries(1),
			sent: []string{"/a", "/a"}, took: [2]time.Duration{375 * time.Millisecond, 500 * time.Millisecond}, attempts: []string{"lab/a PROVIDER_STREAM_TRUNCATED"},
		},
		{
			// An end before the commit point, as any other (contract 1.16).
			name: "a page instead of a stream", plays: map[string][]reply{"a": {ok(raw("<html>\n<body>Busy</body></html>\n"))}, "b": {text("x")}}, req: ask("lab/a").fallback("lab/b"),
			sent: []string{"/a", "/b"}, attempts: []string{"lab/a PROVIDER_STREAM_TRUNCATED"},
		},
		{
			name: "a body that breaks before a frame", plays: map[string][]reply{"a": {ok(raw(`data: {"te`), broke)}}, req: ask("lab/a"),
			sent: []string{"/a"}, reason: "PROVIDER_STREAM_TRUNCATED",
		},
		{
			name: "an error as first frame", plays: map[string][]reply{"a": {ok(say(fact{Error: adapters.ReasonOverloaded})), text("x")}}, req: ask("lab/a").retries(1),
			sent: []string{"/a", "/a"}, took: [2]time.Duration{375 * time.Millisecond, 500 * time.Millisecond}, attempts: []string{"lab/a PROVIDER_OVERLOADED"},
		},
		{
			name: "an unreadable first frame", plays: map[string][]reply{"a": {ok(say(fact{Bad: true})), text("x")}, "b": {text("x")}}, req: ask("lab/a").retries(1).fallback("lab/b"),
			sent: []string{"/a"}, reason: "PROVIDER_PROTOCOL_ERROR",
		},
		{
			name: "nothing is tried again after the commit point", plays: map[string][]reply{"a": {ok(say(fact{Text: "x"}, fact{Error: adapters.ReasonOverloaded})), text("y")}, "b": {text("z")}},
			req: ask("lab/a").retries(3).fallback("lab/b"), sent: []string{"/a"}, reason: "PROVIDER_OVERLOADED",
		},
		{
			name: "a ping commits", plays: map[string][]reply{"a": {ok(say(fact{Ping: true}, fact{Error: adapters.ReasonOverloaded})), text("y")}},
			req: ask("lab/a").retries(3), sent: []string{"/a"}, reason: "PROVIDER_OVERLOADED",
		},
		{
			name: "an idle provider is not asked again", plays: map[string][]reply{"a": {ok(say(fact{Text: "x"}), hang), text("y")}, "b": {text("z")}},
			req: ask("lab/a").retries(3).fallback("lab/b"), sent: []string{"/a"}, reason: "PROVIDER_STREAM_IDLE", took: [2]time.Duration{300 * time.Second, 300 * time.Second},
		},
		{
			name: "a fallback without a key is left out", plays: map[string][]reply{"a": {status(503), status(503)}, "b": {unconfigured}, "c": {text("x")}}, req: ask("lab/a").retries(1).fallback("lab/b", "lab/c"),
			sent: []string{"/a", "/a", "/c"}, took: [2]time.Duration{375 * time.Millisecond, 500 * time.Millisecond},
			attempts: []string{"lab/a PROVIDER_OVERLOADED", "lab/a PROVIDER_OVERLOADED", "lab/b PROVIDER_CREDENTIALS_INVALID"},
		},
		{
			name: "the last one without a key is told", plays: map[string][]reply{"a": {status(503)}, "b": {unconfigured}}, req: ask("lab/a").fallback("lab/b"),
			sent: []string{"/a"}, reason: "PROVIDER_CREDENTIALS_INVALID",
		},
		{
			name: "the first one without a key is told", plays: map[string][]reply{"a": {unconfigured}, "b": {text("x")}}, req: ask("lab/a").fallback("lab/b"),
			reason: "PROVIDER_CREDENTIALS_INVALID",
		},
		{
			name: "a fallback whose key is refused", plays: map[string][]reply{"a": {status(503)}, "b": {status(401)}, "c": {text("x")}}, req: ask("lab/a").fallback("lab/b", "lab/c"),
			sent: []string{"/a", "/b"}, reason: "PROVIDER_CREDENTIALS_INVALID",
		},
		{
			name: "a fallback that cannot be asked", plays: map[string][]reply{"a": {status(503)}}, req: ask("lab/a").fallback("lab/unable"),
			sent: []string{"/a"}, reason: "adapters: everything unsupported: it can do nothing",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, c.plays)
				defer l.registry.Close()
				s := l.run(t, c.req)
				var paths []string
				for _, r := range l.host.sent {
					path, api, _ := strings.Cut(r, " ")
					if strings.HasPrefix(path, "/other") != (api == "other") {
						t.Errorf("%s was planned for %s", path, api)
					}
					paths = append(paths, path)
				}
				if !slices.Equal(paths, c.sent) {
					t.Errorf("sent %v, want %v", paths, c.sent)
				}
				if s.reason() != c.reason {
					t.Errorf("reason %q, want %q", s.reason(), c.reason)
				}
				if s.took < c.took[0] || s.took > c.took[1] {
					t.Errorf("took %v, want %v to %v", s.took, c.took[0], c.took[1])
				}
				if _, _, n := s.reader.Facts(); n != len(c.sent) {
					t.Errorf("%d attempts are told, want %d", n, len(c.sent))
				}
				if c.reason == "" {
					got := attemptsOf(s.started())
					if len(got) != len(c.attempts) {
						t.Fatalf("attempts %v, want %v", got, c.attempts)
					}
					for i, a := range got {
						if !strings.HasPrefix(a, c.attempts[i]) {
							t.Errorf("attempt %q, want %q", a, c.attempts[i])
						}
					}
					last := c.sent[len(c.sent)-1]
					if s.text() != "x" || "/"+s.started().GetModel() != last || s.last().GetDone().GetMessage().GetModel() != s.started().GetModel() {
						t.Errorf("%q by %s, want the answer of %s", s.text(), s.started().GetModel(), last)
					}
					if c.api != "" && (s.started().GetApi() != c.api || s.started().GetEffective().GetToolNames()[0] != c.api) {
						t.Errorf("started says %s, %v", s.started().GetApi(), s.started().GetEffective())
					}
				} else if f := failureOf(t, s.err); f.Attempts != len(c.sent) || f.Model == nil || f.ResponseID == "" {
					t.Errorf("failure %+v", f)
				}
				synctest.Wait()
				if l.host.connections() != 0 {
					t.Errorf("%d connections stay open", l.host.connections())
				}
			})
		})
	}
}

// A delay that is not waited for is told to the caller.
func TestLongDelayIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {status(429, "Retry-After", "3600")}})
		defer l.registry.Close()
		s := l.run(t, ask("lab/a").retries(1))
		if u := asUpstream(s.err); u == nil || u.RetryDelay == nil || *u.RetryDelay != time.Hour {
			t.Errorf("%v", s.err)
		}
	})
}

// Cerebras tells of a prompt that is too long by the status alone; of other providers
// nothing is guessed.
func TestWordlessOverflow(t *testing.T) {
	for _, c := range []struct{ provider, body, reason string }{
		{"cerebras", "", adapters.ReasonContextLengthExceeded},
		{"cerebras", adapters.ReasonRejectedRequest, adapters.ReasonRejectedRequest}, // the lab reads a body as the reason
		{"lab", "", adapters.ReasonRejectedRequest},
	} {
		synctest.Test(t, func(t *testing.T) {
			refusal := status(400)
			refusal.body = c.body
			l := newLab(t, map[string][]reply{"a": {refusal}})
			defer l.registry.Close()
			s := l.run(t, ask(c.provider+"/a"))
			if u := asUpstream(s.err); u == nil || u.Reason != c.reason {
				t.Errorf("%s %q: %v, want %s", c.provider, c.body, s.err, c.reason)
			}
		})
	}
}

// An abort while llmd waits to try again ends the wait, and no request follows.
func TestAbortDuringSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {status(429, "Retry-After", "50"), text("x")}})
		defer l.registry.Close()
		rd, err := l.Start(t.Context(), ask("lab/a").retries(1))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(3*time.Second, func() { rd.run.Abort("enough") })
		s := read(t.Context(), rd, nil)
		time.Sleep(time.Minute)
		ab := s.last().GetAborted()
		if s.err != nil || len(s.events) != 2 || ab.GetReason() != "enough" || ab.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_REQUESTED {
			t.Errorf("%v, %v", s.events, s.err)
		}
		if s.took != 3*time.Second || l.host.requests() != 1 {
			t.Errorf("took %v, %d requests", s.took, l.host.requests())
		}
		if got := attemptsOf(s.started()); len(got) != 1 {
			t.Errorf("attempts %v", got)
		}
		if s.started().GetProviderResponseId() != "" {
			t.Error("started has ids of a provider that never answered")
		}
	})
}

// The client that leaves during a wait takes it along; the receipt is kept.
func TestCancelDuringSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {status(503, "Retry-After", "50"), text("x")}})
		defer l.registry.Close()
		ctx, cancel := context.WithCancel(t.Context())
		rd, err := l.Start(ctx, ask("lab/a").retries(1))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, cancel)
		s := read(ctx, rd, nil)
		synctest.Wait()
		if !errors.Is(s.err, context.Canceled) || s.took != time.Second || l.host.requests() != 1 {
			t.Errorf("%v after %v, %d requests", s.err, s.took, l.host.requests())
		}
		<-rd.run.Done()
		if m := rd.run.Snapshot(); m.GetStopReason() != llmdv1.StopReason_STOP_REASON_ABORTED {
			t.Errorf("kept as %v", m.GetStopReason())
		}
	})
}

// Unknown models are told before anything is sent.
func TestPlanFails(t *testing.T) {
	l := newLab(t, nil)
	defer l.registry.Close()
	for _, model := range []string{"lab/unknown", "lab/unable"} {
		if s := l.run(t, ask(model).retries(2)); s.err == nil || l.host.requests() != 0 {
			t.Errorf("%s: %v, %d requests", model, s.err, l.host.requests())
		}
	}
}

// The facts of a failure.
func TestFailureFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {status(503), ok(say(fact{ID: "r", Text: "x"}, fact{Error: adapters.ReasonProviderError}))}})
		defer l.registry.Close()
		req := ask("lab/a").retries(1)
		req.RequestID, req.Keys = "mine", map[string]string{"lab": "the caller's"}
		s := l.run(t, req)
		f := failureOf(t, s.err)
		if f.Model.Name() != "lab/a" || f.RequestID != "mine" || f.ProviderRequestID != "req-a" || f.Attempts != 2 || !f.Committed || !f.CallerKey || f.ResponseID != s.started().GetResponseId() {
			t.Errorf("%+v", f)
		}
		if !strings.HasSuffix(l.host.sent[0], "the caller's") {
			t.Errorf("sent %q", l.host.sent[0])
		}
		e := s.last().GetError()
		if e.GetError().GetReason() != "PROVIDER_ERROR" || e.GetMessage().GetContent()[0].GetText().GetText() != "x" || !e.GetMessage().GetContent()[0].GetText().GetIncomplete() {
			t.Errorf("%v", e)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {status(503)}})
		defer l.registry.Close()
		f := failureOf(t, l.run(t, ask("lab/a")).err)
		if f.Committed || f.CallerKey || f.Attempts != 1 || f.RequestID != "" {
			t.Errorf("%+v", f)
		}
	})
}

// The ends of a body after the commit point.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []step
		why   string // "" = a whole answer
		took  time.Duration
	}{
		{name: "complete", steps: []step{say(fact{Text: "x"}, fact{Stop: "end"}, fact{Done: true}), hang}},
		{name: "complete, with the marker in one frame", steps: []step{say(fact{Text: "x", Stop: "end", Done: true}), hang}},
		{name: "everything in the first frame, and an end", steps: []step{say(fact{Text: "x", Stop: "end"})}},
		{name: "held open after the marker", steps: []step{say(fact{Text: "x", Stop: "end"}), hang}, took: time.Second},
		{name: "comments after the marker", steps: []step{say(fact{Text: "x", Stop: "end"}), every(10*time.Millisecond, raw(": x\n\n"))}, took: time.Second},
		{name: "frames after the marker", steps: []step{say(fact{Text: "x", Stop: "end"}), every(10*time.Millisecond, say(fact{Ping: true}))}, took: time.Second},
		{name: "reset after the marker", steps: []step{say(fact{Text: "x", Stop: "end"}), broke}},
		{name: "an error after the marker", steps: []step{say(fact{Text: "x", Stop: "end"}, fact{Error: adapters.ReasonOverloaded})}},
		{name: "garbage after the marker", steps: []step{say(fact{Text: "x", Stop: "end"}, fact{Bad: true})}},
		{name: "text after the marker", steps: []step{say(fact{Text: "x"}, fact{Stop: "end"}, fact{Text: "more"}, fact{Think: "more"}, fact{Call: "more", Args: "{}"})}},
		{name: "a second marker", steps: []step{say(fact{Text: "x", Stop: "end"}, fact{Fail: adapters.ReasonContentFiltered})}, why: "CONTENT_FILTERED"},
		{name: "markers that go on", steps: []step{say(fact{Stop: "end"}), wait(900 * time.Millisecond), say(fact{Text: "x", Stop: "end"}), wait(900 * time.Millisecond), say(fact{Usage: 1, Done: true})}, took: 1800 * time.Millisecond},
		{name: "markers without content", steps: []step{say(fact{Text: "x", Stop: "end"}), every(10*time.Millisecond, say(fact{Stop: "end"}))}, took: time.Second},
		{name: "a late marker's usage", steps: []step{say(fact{Text: "x", Stop: "end"}), wait(900 * time.Millisecond), say(fact{Usage: 9}, fact{Done: true})}, took: 900 * time.Millisecond},
		{name: "no marker", steps: []step{say(fact{Text: "x"})}, why: "PROVIDER_STREAM_TRUNCATED"},
		{name: "a cut frame", steps: []step{say(fact{Text: "x"}), raw(`data: {"Stop":"e`)}, why: "PROVIDER_STREAM_TRUNCATED"},
		{name: "reset", steps: []step{say(fact{Text: "x"}), broke}, why: "PROVIDER_STREAM_TRUNCATED"},
		{name: "an unreadable frame", steps: []step{say(fact{Text: "x"}, fact{Bad: true}), hang}, why: "PROVIDER_PROTOCOL_ERROR"},
		{name: "held back, no marker", steps: []step{say(fact{Held: "x"})}, why: "PROVIDER_STREAM_TRUNCATED"},
		{name: "held back, a cut frame", steps: []step{say(fact{Held: "x"}), raw(`data: {"Stop":"e`)}, why: "PROVIDER_STREAM_TRUNCATED"},
		{name: "held back, an unreadable frame", steps: []step{say(fact{Held: "x"}, fact{Bad: true}), hang}, why: "PROVIDER_PROTOCOL_ERROR"},
		{name: "held back, an error", steps: []step{say(fact{Held: "x"}, fact{Error: adapters.ReasonOverloaded}), hang}, why: "PROVIDER_OVERLOADED"},
		{name: "a refusal", steps: []step{say(fact{Text: "x"}, fact{Fail: adapters.ReasonContentFiltered, Done: true})}, why: "CONTENT_FILTERED"},
		{name: "DONE without a marker", steps: []step{say(fact{Text: "x"}, fact{Done: true}), hang}, why: "PROVIDER_STREAM_TRUNCATED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, map[string][]reply{"a": {ok(c.steps...)}})
				defer l.registry.Close()
				s := l.run(t, ask("lab/a").retries(3))
				if s.reason() != c.why || s.took != c.took {
					t.Errorf("%q after %v, want %q after %v", s.reason(), s.took, c.why, c.took)
				}
				terminal := 0
				for _, e := range s.events {
					if e.GetDone() != nil || e.GetError() != nil || e.GetAborted() != nil {
						terminal++
					}
				}
				m := s.last().GetDone().GetMessage()
				if c.why != "" {
					m = s.last().GetError().GetMessage()
				}
				if terminal != 1 || len(m.GetContent()) != 1 || m.GetContent()[0].GetText().GetText() != "x" || m.GetContent()[0].GetText().GetIncomplete() != (c.why != "") {
					t.Errorf("%d terminal events, %v", terminal, m)
				}
				if strings.Contains(c.name, "usage") && m.GetUsage().GetOutputTokens() != 9 {
					t.Errorf("usage %v", m.GetUsage())
				}
				synctest.Wait()
				if l.host.connections() != 0 {
					t.Error("the connection stays open")
				}
			})
		})
	}
}

// The end of the body is not waited for where usage is complete, and the soft
// deadline leaves the partial.
func TestSoftDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {ok(say(fact{Think: "hm"}), every(time.Second, say(fact{Text: "x"})))}})
		defer l.registry.Close()
		req := ask("lab/a")
		req.SoftDeadline = time.Now().Add(3500 * time.Millisecond)
		s := l.run(t, req)
		ab := s.last().GetAborted()
		if ab.GetCause() != llmdv1.AbortCause_ABORT_CAUSE_DEADLINE || s.took != 3500*time.Millisecond || s.text() != "xxx" || s.reason() != "ABORT_CAUSE_DEADLINE" {
			t.Errorf("%v after %v, %v", s.last(), s.took, s.err)
		}
		c := ab.GetMessage().GetContent()
		if len(c) != 2 || c[0].GetThinking().GetIncomplete() || !c[1].GetText().GetIncomplete() {
			t.Errorf("%v", c)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {{delay: time.Minute, status: 200}}})
		defer l.registry.Close()
		req := ask("lab/a")
		req.SoftDeadline = time.Now().Add(time.Second)
		if s := l.run(t, req); len(s.events) != 2 || s.started() == nil || s.last().GetAborted() == nil || s.took != time.Second {
			t.Errorf("before the commit point: %v after %v", s.events, s.took)
		}
	})
}

// Of those who read one response the latest soft deadline counts, and none while one
// of them has none.
func TestSoftDeadlineOfMany(t *testing.T) {
	const never = 100 * time.Second
	for _, c := range []struct {
		name string
		// soft deadlines; 0 = none. The second joins after a second.
		first, second time.Duration
		leave         time.Duration // when the first leaves; 0 = it stays
		want          time.Duration
	}{
		{"the second is later", 3 * time.Second, 9 * time.Second, 0, 9 * time.Second},
		{"the second is earlier", 9 * time.Second, 3 * time.Second, 0, 9 * time.Second},
		{"the second has none", 3 * time.Second, 0, 0, never},
		{"the first has none", 0, 3 * time.Second, 0, never},
		{"the first has none, and leaves", 0, 3 * time.Second, 5 * time.Second, 5 * time.Second},
		{"the later one leaves", 9 * time.Second, 3 * time.Second, 2 * time.Second, 3 * time.Second},
		{"the later one leaves when it is late", 9 * time.Second, 3 * time.Second, 5 * time.Second, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			l := newLab(t, map[string][]reply{"a": {ok(say(fact{Text: "x"}), wait(never), say(fact{Stop: "end", Done: true}))}})
			defer l.registry.Close()
			req := func(soft time.Duration) *Request {
				r := ask("lab/a")
				if r.RequestID = "one"; soft > 0 {
					r.SoftDeadline = began.Add(soft)
				}
				return r
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.leave > 0 {
				time.AfterFunc(c.leave, cancel)
			}
			one, err := l.Start(ctx, req(c.first))
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan *seen)
			go func() { done <- read(ctx, one, nil) }()
			time.Sleep(time.Second)
			s := l.run(t, req(c.second))
			first := <-done
			if took := time.Since(began); took != c.want && c.leave == 0 || s.took != c.want-time.Second {
				t.Errorf("%s: ended after %v, the second after %v, want %v", c.name, took, s.took, c.want)
			}
			if aborted := s.last().GetAborted().GetCause() == llmdv1.AbortCause_ABORT_CAUSE_DEADLINE; aborted != (c.want < never) {
				t.Errorf("%s: %v", c.name, s.last())
			}
			if c.leave > 0 && !errors.Is(first.err, context.Canceled) {
				t.Errorf("%s: the first: %v", c.name, first.err)
			}
		})
	}
}

// A panic ends its own response, and says nothing of what it was about.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, map[string][]reply{"a": {ok(say(fact{Text: "x"}, fact{Panic: true})), ok(say(fact{Panic: true}))}, "b": {text("y")}})
		defer l.registry.Close()
		seen := &watches{}
		l.cfg.Observer = seen
		s := l.run(t, ask("lab/a"))
		if !errors.Is(s.err, errPanic) || s.last().GetError().GetError().GetReason() != "INTERNAL" || len(l.panics) != 1 || l.panics[0] != "string" {
			t.Errorf("%v, %v, %v", s.err, s.last(), l.panics)
		}
		if s := l.run(t, ask("lab/a")); !errors.Is(s.err, errPanic) || len(s.events) != 0 {
			t.Errorf("before the commit point: %v, %v", s.err, s.events)
		}
		if s := l.run(t, ask("lab/b")); s.err != nil {
			t.Errorf("the next response: %v", s.err)
		}
		synctest.Wait()
		if l.host.connections() != 0 {
			t.Error("a connection stays open")
		}
		if want := []string{"INTERNAL", "INTERNAL", ""}; !slices.Equal(seen.ended, want) || len(l.panics) != 2 {
			t.Errorf("the attempts ended with %q, want %q; %d panics", seen.ended, want, len(l.panics))
		}
	})
}

// watches is an Observer that keeps how attempts ended.
type watches struct {
	limitsMet
	ended  []string
	unsent []bool
}

func (w *watches) Ask(ctx context.Context, _ *Try) (context.Context, Watch) { return ctx, w }
func (*watches) Chunk(time.Time)                                            {}

func (w *watches) End(e *End) {
	w.ended, w.unsent = append(w.ended, e.Reason), append(w.unsent, e.Unsent)
}
