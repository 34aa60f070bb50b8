package faults

import (
	"bytes"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Phase is how far an answer has come when the fault strikes.
type Phase int

// The phases, in order.
const (
	beforeHeaders Phase = iota
	beforeFrame
	inText
	inTool
	afterMarker
	phases
)

func (p Phase) String() string {
	return [...]string{"before headers", "before a frame", "in text", "in tool call", "after marker"}[p]
}

// sent is how many frames an answer has sent in a phase.
func (p Phase) sent(w *Wire, frames []Frame) int {
	texts, tools := 0, 0
	for i, f := range frames {
		switch f.Kind {
		case Text:
			texts++
			if p == inText && texts == 3 {
				return i + 1
			}
		case ToolCall:
			tools++
			if p == inTool && (tools == 3 || !w.Fragments) {
				return i + 1
			}
		}
		if p == afterMarker && f.Marker {
			return i + 1
		}
	}
	return 0
}

// want is how a stream must end. With last "" the status is all there is.
type want struct {
	last    string // done, error, aborted
	code    codes.Code
	reasons []string
	// requests is how many went to the provider; 0 = one.
	requests int32
}

var (
	whole     = want{last: "done"}
	truncated = []string{"PROVIDER_STREAM_TRUNCATED"}
	protocol  = []string{"PROVIDER_PROTOCOL_ERROR"}
)

// broken is the end of an answer that the provider broke: a status before the
// commit point, an error event after it, and nothing at all after the marker.
func broken(p Phase, before, after []string) want {
	switch {
	case p < inText:
		return want{code: codes.Unavailable, reasons: before}
	case p == afterMarker:
		return whole
	}
	return want{last: "error", code: codes.Unavailable, reasons: after}
}

// providerFault is what a provider does wrong once it has sent the frames of a
// phase. rest are the frames that it would have sent.
type providerFault struct {
	name string
	// where lists the phases in which it makes sense.
	where []Phase
	// not excludes wires.
	not func(*Wire) bool
	// head replaces the usual head of an answer.
	head func(*Exchange, *Wire)
	do   func(e *Exchange, w *Wire, p Phase, rest []Frame) bool
	want func(Phase) want
	// tune changes the request.
	tune func(*llmdv1.StreamRequest, Phase)
	// gone: llmd must close the connection by itself.
	gone bool
	// heavy ones run in one phase only in the short form.
	heavy bool
	// connection: over HTTP/2 it strikes other streams too.
	connection bool
}

var (
	all       = []Phase{beforeHeaders, beforeFrame, inText, inTool, afterMarker}
	inBody    = []Phase{beforeFrame, inText, inTool, afterMarker}
	committed = []Phase{inText, inTool}
)

// impatient makes a silent provider a fault soon, and no other one.
func impatient(r *llmdv1.StreamRequest, p Phase) {
	r.Generation.Watchdog = &llmdv1.Watchdog{IdleTimeout: durationpb.New(time.Second), StallWarning: durationpb.New(0)}
	if p < inText {
		r.Generation.Watchdog.HeaderTimeout = durationpb.New(1500 * time.Millisecond)
	}
}

// watchful reports a silence soon and waits for its end.
func watchful(r *llmdv1.StreamRequest, _ Phase) {
	r.Generation.Watchdog = &llmdv1.Watchdog{IdleTimeout: durationpb.New(time.Minute), StallWarning: durationpb.New(300 * time.Millisecond)}
}

// settle gives llmd the time to read what was sent, which a reset would take back.
func settle(e *Exchange) { e.Pause(50 * time.Millisecond) }

func noComments(w *Wire) bool { return w.Comment == nil }

func providerFaults() []*providerFault {
	return append(endings(), append(badFrames(), oddities()...)...)
}

// endings: the body ends, or does not.
func endings() []*providerFault {
	return []*providerFault{
		{
			name: "reset", where: all,
			do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool { settle(e); return e.Reset() },
			want: func(p Phase) want {
				if p == beforeHeaders {
					return broken(p, []string{"PROVIDER_UNREACHABLE"}, nil)
				}
				return broken(p, truncated, truncated)
			},
		},
		{
			name: "connection closed", where: all, connection: true,
			do: func(*Exchange, *Wire, Phase, []Frame) bool { return false },
			want: func(p Phase) want {
				if p == beforeHeaders {
					return broken(p, []string{"PROVIDER_UNREACHABLE"}, nil)
				}
				return broken(p, truncated, truncated)
			},
		},
		{
			name: "body ends at a frame", where: inBody,
			do:   func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool { return e.End() },
			want: func(p Phase) want { return broken(p, truncated, truncated) },
		},
		{
			name: "body ends inside a frame", where: inBody,
			do: func(e *Exchange, _ *Wire, _ Phase, rest []Frame) bool {
				if len(rest) > 0 {
					e.Send(rest[0].Data[:len(rest[0].Data)*2/3])
				}
				return e.End()
			},
			want: func(p Phase) want { return broken(p, truncated, truncated) },
		},
		{
			name: "silence", where: all, tune: impatient, gone: true,
			do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool { return e.Hold() },
			want: func(p Phase) want {
				return broken(p, []string{"PROVIDER_TIMEOUT"}, []string{"PROVIDER_STREAM_IDLE"})
			},
		},
		{
			name: "keep-alive comments only", where: inBody, not: noComments, tune: impatient, gone: true,
			do: func(e *Exchange, w *Wire, _ Phase, _ []Frame) bool {
				for e.Pause(50*time.Millisecond) && e.Send(w.Comment) {
				}
				return e.Hold()
			},
			want: func(p Phase) want {
				return broken(p, []string{"PROVIDER_TIMEOUT"}, []string{"PROVIDER_STREAM_IDLE"})
			},
		},
		{
			name: "pings only", where: inBody, not: func(w *Wire) bool { return w.Ping == nil }, tune: impatient, gone: true,
			do: func(e *Exchange, w *Wire, _ Phase, _ []Frame) bool {
				for e.Pause(50*time.Millisecond) && e.Send(w.Ping) {
				}
				return e.Hold()
			},
			want: func(p Phase) want {
				if p == beforeFrame {
					p = inText // a ping is a frame, and no error: it commits
				}
				return broken(p, nil, []string{"PROVIDER_STREAM_IDLE"})
			},
		},
		{
			name: "stall, then on", where: committed, tune: watchful,
			do: func(e *Exchange, _ *Wire, _ Phase, rest []Frame) bool {
				if !e.Pause(time.Second) {
					return false
				}
				e.Play(rest)
				return e.End()
			},
			want: func(Phase) want { return whole },
		},
	}
}

// badFrames: something comes that should not.
func badFrames() []*providerFault {
	return []*providerFault{
		{
			name: "garbage instead of HTTP", where: []Phase{beforeHeaders},
			do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool {
				e.Raw([]byte("\x16\x03\x01 no HTTP at all\r\n\r\n"))
				return false
			},
			want: func(p Phase) want { return broken(p, []string{"PROVIDER_PROTOCOL_ERROR"}, nil) },
		},
		{
			name: "garbage frame", where: inBody, gone: true,
			do:   func(e *Exchange, w *Wire, _ Phase, _ []Frame) bool { e.Send(w.Garbage); return e.Hold() },
			want: func(p Phase) want { return broken(p, protocol, protocol) },
		},
		{
			name: "oversize frame", where: []Phase{inText, beforeFrame, inTool, afterMarker}, heavy: true, gone: true,
			do: func(e *Exchange, w *Wire, _ Phase, _ []Frame) bool {
				e.Send(w.Oversize)
				piece := bytes.Repeat([]byte("x"), 1<<20)
				for n := 0; n < 17 && e.Send(piece); n++ {
				}
				return e.Hold()
			},
			want: func(p Phase) want { return broken(p, protocol, protocol) },
		},
		{
			name: "error status", where: []Phase{beforeHeaders},
			do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool {
				e.Head(503, "Content-Type: application/json")
				e.Send([]byte(`{"error":{"type":"overloaded_error","message":"Overloaded","status":"UNAVAILABLE"}}`))
				return e.End()
			},
			want: func(p Phase) want { return broken(p, []string{"PROVIDER_OVERLOADED"}, nil) },
		},
		{
			name: "error frame", where: inBody, gone: true,
			do: func(e *Exchange, w *Wire, _ Phase, _ []Frame) bool { e.Send(w.Overloaded); return e.Hold() },
			want: func(p Phase) want {
				overloaded := []string{"PROVIDER_OVERLOADED", "PROVIDER_ERROR"}
				return broken(p, overloaded, overloaded)
			},
		},
		{
			name: "HTML error page", where: []Phase{beforeHeaders},
			do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool {
				e.Head(502, "Content-Type: text/html")
				e.Send([]byte("<html><head><title>502 Bad Gateway</title></head><body><center>secret-page</center></body></html>"))
				return e.End()
			},
			want: func(p Phase) want { return broken(p, []string{"PROVIDER_ERROR", "PROVIDER_OVERLOADED"}, nil) },
		},
		{
			name: "HTML page with status 200", where: []Phase{beforeHeaders},
			do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool {
				e.Head(200, "Content-Type: text/html")
				e.Send([]byte("<html><body>\n<h1>Welcome to the proxy</h1>\n</body></html>\n"))
				return e.End()
			},
			want: func(p Phase) want {
				// In binary framing it is a corrupt frame.
				return broken(p, []string{"PROVIDER_STREAM_TRUNCATED", "PROVIDER_PROTOCOL_ERROR"}, nil)
			},
		},
		{
			name: "200 with an error inside", where: []Phase{beforeHeaders},
			do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool {
				e.Head(200, "Content-Type: application/json")
				e.Send([]byte(`{"type":"error","error":{"code":503,"type":"overloaded_error","message":"Overloaded","status":"UNAVAILABLE"}}`))
				return e.End()
			},
			want: func(p Phase) want { return broken(p, []string{"PROVIDER_OVERLOADED", "PROVIDER_ERROR"}, nil) },
		},
	}
}

// oddities are no faults, or come after the end: the answer is whole.
func oddities() []*providerFault {
	fine := func(Phase) want { return whole }
	zipped := func(e *Exchange, w *Wire) {
		e.Head(200, "Content-Type: "+w.ContentType, "Content-Encoding: gzip")
		e.Gzip()
	}
	return []*providerFault{
		{
			name: "slow trickle", where: inBody,
			do: func(e *Exchange, _ *Wire, _ Phase, rest []Frame) bool {
				for b := range bytes.SplitSeq(body(rest), nil) {
					if !e.Send(b) {
						return false
					}
				}
				return e.End()
			},
			want: fine,
		},
		{
			name: "gzip", where: inBody, head: zipped,
			do:   func(e *Exchange, _ *Wire, _ Phase, rest []Frame) bool { e.Play(rest); return e.End() },
			want: fine,
		},
		{
			name: "gzip cut", where: inBody, head: zipped,
			do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool {
				return e.Cut() // the body ends well, the compressed stream in it does not
			},
			want: func(p Phase) want { return broken(p, truncated, truncated) },
		},
		{
			name: "held open after the marker", where: []Phase{afterMarker}, gone: true,
			do:   func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool { return e.Hold() },
			want: fine,
		},
		{
			name: "held open after the whole body", where: []Phase{afterMarker}, gone: true,
			do:   func(e *Exchange, _ *Wire, _ Phase, rest []Frame) bool { e.Play(rest); return e.Hold() },
			want: fine,
		},
		{
			name: "two markers", where: []Phase{afterMarker},
			do: func(e *Exchange, w *Wire, _ Phase, rest []Frame) bool {
				e.Play(markers(w.Frames(Answer{ID: "answer-2", Text: []string{"x"}, In: 1, Out: 1})))
				e.Play(rest)
				return e.End()
			},
			want: fine,
		},
		{
			name: "content after the marker", where: []Phase{afterMarker},
			do: func(e *Exchange, w *Wire, _ Phase, rest []Frame) bool {
				for _, f := range w.Frames(Answer{ID: "answer-1", Text: []string{"more", " and more"}}) {
					if f.Kind == Text {
						e.Send(f.Data)
					}
				}
				e.Play(rest)
				return e.End()
			},
			want: fine,
		},
	}
}

func markers(frames []Frame) []Frame {
	var out []Frame
	for _, f := range frames {
		if f.Marker {
			out = append(out, f)
		}
	}
	return out
}
