package faults

import (
	"slices"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
)

// onHTTP2 is the stream of an exchange over HTTP/2.
func onHTTP2(e *Exchange) *stream {
	s, ok := e.line.(*stream)
	if !ok {
		panic("faults: not an exchange over HTTP/2")
	}
	return s
}

// http2Faults are the faults of a provider that speaks HTTP/2: those of bodies and
// frames, and those that HTTP/1.1 does not have.
func http2Faults() []*providerFault {
	out := slices.DeleteFunc(providerFaults(), func(f *providerFault) bool { return f.name == "garbage instead of HTTP" })
	for _, code := range []http2.ErrCode{http2.ErrCodeNo, http2.ErrCodeInternal, http2.ErrCodeCancel, http2.ErrCodeEnhanceYourCalm} {
		out = append(out, streamReset(code))
	}
	return append(append(out, refusals()...), goAways()...)
}

// lost is the end of an answer whose connection or stream went.
func lost(p Phase) want {
	if p == beforeHeaders {
		return broken(p, []string{"PROVIDER_UNREACHABLE"}, nil)
	}
	return broken(p, truncated, truncated)
}

// streamReset: all that was sent before the reset counts, and nothing is asked for
// twice.
func streamReset(code http2.ErrCode) *providerFault {
	return &providerFault{
		name: "RST_STREAM " + code.String(), where: all, want: lost,
		do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool { onHTTP2(e).rst(code); return false },
	}
}

// answer plays a whole answer.
func (e *Exchange) answer(w *Wire, frames []Frame) bool {
	e.Head(200, "Content-Type: "+w.ContentType)
	e.Play(frames)
	return e.End()
}

// refusals: the provider says that it has not looked at the request, which may
// therefore be sent again (RFC 9113, 8.7).
func refusals() []*providerFault {
	return []*providerFault{
		{
			name: "RST_STREAM REFUSED_STREAM, once", where: []Phase{beforeHeaders},
			do: func(e *Exchange, w *Wire, _ Phase, rest []Frame) bool {
				if e.Number > 1 {
					return e.answer(w, rest)
				}
				onHTTP2(e).rst(http2.ErrCodeRefusedStream)
				return false
			},
			want: func(Phase) want { return want{last: "done", requests: 2} },
		},
		{
			name: "RST_STREAM REFUSED_STREAM, always", where: []Phase{beforeHeaders},
			do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool {
				onHTTP2(e).rst(http2.ErrCodeRefusedStream)
				return false
			},
			want: func(Phase) want {
				return want{code: codes.Unavailable, reasons: []string{"PROVIDER_UNREACHABLE"}, requests: 3}
			},
		},
		{
			name: "RST_STREAM REFUSED_STREAM, too late", where: inBody,
			do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool {
				onHTTP2(e).rst(http2.ErrCodeRefusedStream)
				return false
			},
			want: lost,
		},
		{
			name: "GOAWAY, request not processed", where: all, connection: true,
			do: func(e *Exchange, w *Wire, p Phase, rest []Frame) bool {
				if e.Number > 1 {
					return e.answer(w, rest)
				}
				s := onHTTP2(e)
				s.goAway(s.id-1, http2.ErrCodeNo)
				if p == afterMarker {
					e.Play(rest)
					return e.End()
				}
				return e.Hold()
			},
			want: func(p Phase) want {
				if p == beforeHeaders {
					return want{last: "done", requests: 2}
				}
				return lost(p) // it was processed after all: nothing is sent again
			},
		},
	}
}

// goAways: the connection ends, before or after its streams.
func goAways() []*providerFault {
	return []*providerFault{
		{
			name: "GOAWAY, streams may end", where: all, connection: true,
			do: func(e *Exchange, w *Wire, p Phase, rest []Frame) bool {
				s := onHTTP2(e)
				s.goAway(s.id, http2.ErrCodeNo)
				if !e.Pause(20 * time.Millisecond) {
					return false
				}
				if p == beforeHeaders {
					return e.answer(w, rest)
				}
				e.Play(rest)
				return e.End()
			},
			want: func(Phase) want { return whole },
		},
		{
			name: "GOAWAY twice, as a graceful server does", where: all, connection: true,
			do: func(e *Exchange, w *Wire, p Phase, rest []Frame) bool {
				s := onHTTP2(e)
				s.goAway(1<<31-1, http2.ErrCodeNo)
				if !e.Pause(20 * time.Millisecond) {
					return false
				}
				s.goAway(s.id, http2.ErrCodeNo)
				if p == beforeHeaders {
					return e.answer(w, rest)
				}
				e.Play(rest)
				return e.End()
			},
			want: func(Phase) want { return whole },
		},
		{
			name: "GOAWAY INTERNAL_ERROR, then closed", where: all, connection: true,
			do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool {
				s := onHTTP2(e)
				s.goAway(s.id, http2.ErrCodeInternal)
				return false
			},
			want: lost,
		},
		{
			name: "connection reset", where: all, connection: true,
			do: func(e *Exchange, _ *Wire, _ Phase, _ []Frame) bool {
				settle(e)
				onHTTP2(e).drop()
				return false
			},
			want: lost,
		},
	}
}
