package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// turns plays one answer for each request of a script, the last one for all others.
func turns(plays ...func(*Exchange) bool) func(*Exchange) bool {
	return func(e *Exchange) bool { return plays[min(e.Number, len(plays))-1](e) }
}

// fails is an error answer.
func fails(statusCode int, body string, header ...string) func(*Exchange) bool {
	return func(e *Exchange) bool {
		e.Head(statusCode, append([]string{"Content-Type: application/json"}, header...)...)
		e.Send([]byte(body))
		return e.End()
	}
}

func answers(w *Wire, a Answer) func(*Exchange) bool {
	return func(e *Exchange) bool {
		e.Head(200, "Content-Type: "+w.ContentType)
		e.Play(w.Frames(a))
		return e.End()
	}
}

const (
	limited    = `{"type":"error","error":{"type":"rate_limit_error","message":"Rate limit reached","code":"rate_limit_exceeded"}}`
	overloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded","code":503}}`
	quota      = `{"error":{"type":"insufficient_quota","message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}`
	overflow   = `{"error":{"type":"invalid_request_error","message":"This model's maximum context length is 1000 tokens. However, your messages resulted in 2000 tokens.","code":"context_length_exceeded"}}`
	badKey     = `{"error":{"type":"invalid_request_error","message":"Incorrect API key provided","code":"invalid_api_key"}}`
)

// TestRetries: one provider, its headers, and what the caller learns.
func TestRetries(t *testing.T) {
	w := chatWire()
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, []*Wire{w})...)
	whole := answers(w, Answer{ID: "x", Text: []string{"fine"}, In: 1, Out: 1})
	for _, c := range []struct {
		name     string
		play     func(*Exchange) bool
		retries  int32
		requests int32
		least    time.Duration
		reason   string
		attempts []string
		pushback string
	}{
		{name: "Retry-After in seconds", play: turns(fails(429, limited, "Retry-After: 1"), whole), retries: 1, requests: 2, least: time.Second, attempts: []string{"RATE_LIMITED 429 1s"}},
		{name: "Retry-After-Ms", play: turns(fails(429, limited, "Retry-After-Ms: 120", "Retry-After: 30"), whole), retries: 1, requests: 2, least: 120 * time.Millisecond, attempts: []string{"RATE_LIMITED 429 120ms"}},
		{name: "a date that is past", play: turns(fails(503, overloaded, "Retry-After: Mon, 30 Nov 2020 11:00:00 GMT"), whole), retries: 1, requests: 2, attempts: []string{"PROVIDER_OVERLOADED 503"}},
		{name: "two kinds of failure", play: turns(fails(503, overloaded, "Retry-After-Ms: 1"), fails(500, "", "Retry-After-Ms: 1"), whole), retries: 2, requests: 3, attempts: []string{"PROVIDER_OVERLOADED 503 1ms", "PROVIDER_ERROR 500 1ms"}},
		{name: "a reset", play: turns(func(e *Exchange) bool { return e.Reset() }, whole), retries: 1, requests: 2, least: 375 * time.Millisecond, attempts: []string{"PROVIDER_UNREACHABLE 0"}},
		{name: "an error in the first frame", play: turns(func(e *Exchange) bool { e.Head(200); e.Send(w.Overloaded); return e.End() }, whole), retries: 1, requests: 2, attempts: []string{"PROVIDER_OVERLOADED"}},
		{name: "an empty body", play: turns(func(e *Exchange) bool { e.Head(200); return e.End() }, whole), retries: 1, requests: 2, attempts: []string{"PROVIDER_STREAM_TRUNCATED 0"}},
		{name: "no retry asked for", play: turns(fails(429, limited, "Retry-After: 7"), whole), requests: 1, reason: "RATE_LIMITED", pushback: "7000"},
		{name: "too long a wait", play: turns(fails(429, limited, "Retry-After: 61"), whole), retries: 3, requests: 1, reason: "RATE_LIMITED", pushback: "-1"},
		{name: "X-Should-Retry: false", play: turns(fails(503, overloaded, "X-Should-Retry: false"), whole), retries: 3, requests: 1, reason: "PROVIDER_OVERLOADED", pushback: "-1"},
		{name: "X-Should-Retry: true", play: turns(fails(400, `{"error":{"message":"try again","type":"invalid_request_error"}}`, "X-Should-Retry: true", "Retry-After-Ms: 1"), whole), retries: 3, requests: 2, attempts: []string{"PROVIDER_REJECTED_REQUEST 400 1ms"}},
		{name: "quota", play: turns(fails(429, quota, "Retry-After: 1"), whole), retries: 3, requests: 1, reason: "QUOTA_EXHAUSTED", pushback: "-1"},
		{name: "overflow", play: turns(fails(400, overflow), whole), retries: 3, requests: 1, reason: "CONTEXT_LENGTH_EXCEEDED"},
		{name: "overflow under 500", play: turns(fails(500, overflow), whole), retries: 3, requests: 1, reason: "CONTEXT_LENGTH_EXCEEDED"},
		{name: "a bad key", play: turns(fails(401, badKey), whole), retries: 3, requests: 1, reason: "PROVIDER_CREDENTIALS_INVALID", pushback: "-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := p.Add(c.play)
			req := request(w, s, "")
			req.Generation.Retry = &llmdv1.RetryPolicy{MaxRetries: c.retries}
			o := harness.Run(harness.Limited(t, 20*time.Second), l, req, nil)
			for _, f := range o.Faults {
				t.Error(f)
			}
			if n := s.Requests.Load(); n != c.requests || fmt.Sprint(n) != o.Trailer.Get("llmd-attempts")[0] {
				t.Errorf("%d requests, %v are told, want %d", n, o.Trailer.Get("llmd-attempts"), c.requests)
			}
			if o.Took < c.least || o.Took > c.least+3*time.Second {
				t.Errorf("took %v, want %v", o.Took, c.least)
			}
			if c.reason == "" {
				if o.Stop() != "STOP" {
					t.Fatalf("%s: %s", o.Stop(), o.Words())
				}
			} else if o.Reason() != c.reason || len(o.Events) != 0 {
				t.Errorf("%s after %d events, want %s", o.Reason(), len(o.Events), c.reason)
			}
			if got := strings.Join(o.Trailer.Get("grpc-retry-pushback-ms"), ","); got != c.pushback {
				t.Errorf("pushback %q, want %q", got, c.pushback)
			}
			told := o.Started.GetAttempts()
			if len(told) != len(c.attempts) {
				t.Fatalf("attempts %v, want %v", told, c.attempts)
			}
			for i, a := range told {
				line := fmt.Sprintf("%s %d %v", a.GetReason(), a.GetProviderHttpStatus(), a.GetDelay().AsDuration())
				if !strings.HasPrefix(line, c.attempts[i]) || a.GetModel() != "p-openai-completions/m" {
					t.Errorf("attempt %s of %s, want %s", line, a.GetModel(), c.attempts[i])
				}
			}
		})
	}
}

// TestFallback: from one wire API to another, planned anew, and only for what may
// pass elsewhere.
func TestFallback(t *testing.T) {
	wires := []*Wire{anthropicWire(), chatWire(), geminiWire()}
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, wires)...)
	for _, from := range wires {
		for _, to := range wires {
			if from == to {
				continue
			}
			for _, c := range []struct {
				name   string
				fail   func(*Exchange) bool
				reason string // "" = falls back
			}{
				{name: "overloaded", fail: fails(503, overloaded)},
				{name: "too long a wait", fail: fails(429, limited, "Retry-After: 120")},
				{name: "unreachable", fail: func(e *Exchange) bool { return e.Reset() }},
				{name: "quota", fail: fails(429, quota), reason: "QUOTA_EXHAUSTED"},
				{name: "overflow", fail: fails(400, overflow), reason: "CONTEXT_LENGTH_EXCEEDED"},
				{name: "key", fail: fails(401, badKey), reason: "PROVIDER_CREDENTIALS_INVALID"},
				{name: "rejected", fail: fails(422, `{"error":{"message":"no such field","type":"invalid_request_error"}}`), reason: "PROVIDER_REJECTED_REQUEST"},
				{name: "after content", fail: func(e *Exchange) bool {
					e.Head(200, "Content-Type: "+from.ContentType)
					frames := from.Frames(Sample())
					e.Play(frames[:inText.sent(from, frames)])
					e.Send(from.Overloaded)
					return e.End()
				}, reason: "PROVIDER_OVERLOADED"},
			} {
				// Both candidates get the same prompt, so one script plays both: the first
				// request goes to the first.
				s := p.Add(turns(c.fail, answers(to, Sample())))
				req := request(from, s, "")
				req.Generation.FallbackModels = []string{"p-" + to.API + "/m"}
				o := harness.Run(harness.Limited(t, 20*time.Second), l, req, nil)
				name := fmt.Sprintf("%s to %s, %s", from.API, to.API, c.name)
				for _, f := range o.Faults {
					t.Errorf("%s: %s", name, f)
				}
				if c.reason != "" {
					if r := o.Reason(); r != c.reason && (c.name != "after content" || r != "PROVIDER_ERROR") || s.Requests.Load() != 1 {
						t.Errorf("%s: %s, %d requests", name, r, s.Requests.Load())
					}
					continue
				}
				m := o.Message
				if o.Stop() != "TOOL_USE" || m.GetApi() != to.API || o.Started.GetApi() != to.API || o.Started.GetProvider() != "p-"+to.API {
					t.Errorf("%s: %s by %s, started by %s: %s", name, o.Stop(), m.GetApi(), o.Started.GetApi(), o.Words())
					continue
				}
				if a := o.Started.GetAttempts(); len(a) != 1 || a[0].GetModel() != "p-"+from.API+"/m" || a[0].GetDelay() != nil {
					t.Errorf("%s: attempts %v", name, a)
				}
				for _, c := range m.GetContent() {
					if sig := c.GetThinking().GetSignature(); sig != nil && sig.GetApi() != to.API {
						t.Errorf("%s: a signature of %s", name, sig.GetApi())
					}
				}
			}
		}
	}
}

// serviceConfig is the one that the documentation recommends.
const serviceConfig = `{"methodConfig":[{"name":[{"service":"llmd.v1.InferenceService"}],"retryPolicy":{
	"maxAttempts":3,"initialBackoff":"0.05s","maxBackoff":"5s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE","RESOURCE_EXHAUSTED"]}}]}`

// TestClientRetryPolicy: a client library that retries by itself does so when llmd
// says so, not otherwise, and never pays twice.
func TestClientRetryPolicy(t *testing.T) {
	w := chatWire()
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, []*Wire{w})...)
	conn := l.Dial(t, grpc.WithDefaultServiceConfig(serviceConfig))
	t.Cleanup(func() { _ = conn.Close() }) // after the parallel tests
	c := llmdv1.NewInferenceServiceClient(conn)
	whole := answers(w, Answer{ID: "x", Text: []string{"fine"}, In: 1, Out: 1})
	frames := w.Frames(Sample())
	cut := func(e *Exchange) bool {
		e.Head(200, "Content-Type: "+w.ContentType)
		e.Play(frames[:inText.sent(w, frames)])
		return e.End()
	}
	for _, x := range []struct {
		name     string
		play     func(*Exchange) bool
		requests int32
		least    time.Duration
		code     codes.Code
	}{
		{name: "overloaded, once", play: turns(fails(503, overloaded, "Retry-After-Ms: 200"), whole), requests: 2, least: 200 * time.Millisecond},
		{name: "rate limited, once", play: turns(fails(429, limited, "Retry-After-Ms: 300"), whole), requests: 2, least: 300 * time.Millisecond},
		{name: "always overloaded", play: fails(503, overloaded, "Retry-After-Ms: 10"), requests: 3, code: codes.Unavailable},
		{name: "rate limited for long", play: turns(fails(429, limited, "Retry-After: 61"), whole), requests: 1, code: codes.ResourceExhausted},
		{name: "quota", play: turns(fails(429, quota), whole), requests: 1, code: codes.ResourceExhausted},
		{name: "told not to", play: turns(fails(503, overloaded, "X-Should-Retry: false"), whole), requests: 1, code: codes.Unavailable},
		{name: "unreadable", play: turns(func(e *Exchange) bool { e.Head(200); e.Send(w.Garbage); return e.End() }, whole), requests: 1, code: codes.Unavailable},
		{name: "after content", play: turns(cut, whole), requests: 1, code: codes.Unavailable},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			// The id is the same for all tries: failures before the commit point are
			// not remembered.
			s := p.Add(x.play)
			o := harness.Run(harness.Limited(t, 20*time.Second), c, request(w, s, "client "+s.key), nil)
			if o.Status.Code() != x.code || s.Requests.Load() != x.requests || o.Took < x.least {
				t.Errorf("%v after %v, %d requests; want %v after %v, %d", o.Status, o.Took, s.Requests.Load(), x.code, x.least, x.requests)
			}
			for _, f := range o.Faults {
				t.Error(f)
			}
		})
	}
	t.Run("an attempt of the library's own during the first", func(t *testing.T) {
		// What a proxy or a hedging client would do: the same id twice at once.
		s := p.Add(func(e *Exchange) bool {
			if !e.Wait() {
				return false
			}
			return whole(e)
		})
		req := request(w, s, "twice")
		done := make(chan *harness.Outcome, 2)
		for range 2 {
			go func() { done <- harness.Run(harness.Limited(t, 20*time.Second), c, req, nil) }()
		}
		<-s.Reached
		time.Sleep(50 * time.Millisecond)
		s.Open()
		a, b := <-done, <-done
		if a.Stop() != "STOP" || b.Stop() != "STOP" || a.Message.GetResponseId() != b.Message.GetResponseId() || s.Requests.Load() != 1 {
			t.Errorf("%s %s, %s %s, %d requests", a.Stop(), a.Message.GetResponseId(), b.Stop(), b.Message.GetResponseId(), s.Requests.Load())
		}
	})
}

// TestUnary: Complete says the same in its status and trailers.
func TestUnary(t *testing.T) {
	w := chatWire()
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, []*Wire{w})...)
	frames := w.Frames(Sample())
	for _, c := range []struct {
		name     string
		play     func(*Exchange) bool
		want     codes.Code
		reason   string
		pushback []string
	}{
		{name: "whole", play: answers(w, Sample())},
		{name: "overloaded", play: fails(503, overloaded), want: codes.Unavailable, reason: "PROVIDER_OVERLOADED", pushback: []string{"2000"}},
		{name: "cut", play: func(e *Exchange) bool {
			e.Head(200, "Content-Type: "+w.ContentType)
			e.Play(frames[:inTool.sent(w, frames)])
			return e.End()
		}, want: codes.Unavailable, reason: "PROVIDER_STREAM_TRUNCATED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := p.Add(c.play)
			var trailer metadata.MD
			req := request(w, s, "")
			resp, err := l.Complete(harness.Limited(t, 10*time.Second), &llmdv1.CompleteRequest{Generation: req.GetGeneration(), RequestId: "unary " + s.key}, grpc.Trailer(&trailer))
			if status.Code(err) != c.want || harness.ReasonOf(err) != c.reason || !slices.Equal(trailer.Get("grpc-retry-pushback-ms"), c.pushback) {
				t.Errorf("%v, pushback %v", err, trailer.Get("grpc-retry-pushback-ms"))
			}
			if c.want == codes.OK && resp.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_TOOL_USE {
				t.Errorf("%v", resp)
			}
			if c.name == "cut" {
				// The partial of a failed Complete can be fetched.
				kept, err := l.GetResponse(harness.Limited(t, 5*time.Second), &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_ResponseId{ResponseId: trailer.Get("llmd-response-id")[0]}})
				if err != nil || len(kept.GetMessage().GetContent()) != 3 || kept.GetMessage().GetStopReason() != llmdv1.StopReason_STOP_REASON_ERROR {
					t.Errorf("%v, %v", kept, err)
				}
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		s := p.Add(func(e *Exchange) bool { e.Head(200); e.Play(frames[:5]); e.Reach(); return e.Hold() })
		ctx, cancel := context.WithCancel(harness.Limited(t, 10*time.Second))
		go func() { <-s.Reached; cancel() }()
		_, err := l.Complete(ctx, &llmdv1.CompleteRequest{Generation: request(w, s, "").GetGeneration()})
		if status.Code(err) != codes.Canceled {
			t.Errorf("%v", err)
		}
		select {
		case <-s.Gone:
		case <-time.After(2 * time.Second):
			t.Error("the upstream connection stays open")
		}
	})
}
