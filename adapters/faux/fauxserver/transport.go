package fauxserver

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// Transport answers requests with [Handler] inside the process. The body of an
// answer comes as it is written; it fails with the context's error as soon as the
// request's context ends, and closing it ends the answer. It is safe for
// concurrent use and opens no socket.
func Transport() http.RoundTripper { return &transport{handler: Handler()} }

type transport struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper]. It returns when the headers are known.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	read, write := io.Pipe()
	w := &pipeWriter{header: http.Header{}, pipe: write, ready: make(chan struct{})}
	// A reader that waits must wake up when the context ends.
	unhook := context.AfterFunc(ctx, func() { write.CloseWithError(context.Cause(ctx)) })

	in := r.Clone(ctx)
	if in.Body == nil {
		in.Body = http.NoBody
	}
	go func() {
		defer cancel()
		defer unhook()
		defer func() { _ = in.Body.Close() }() // it was only read
		err := w.serve(t.handler, in)
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx) // the handler may be done before the pipe hears of it
		}
		write.CloseWithError(err)
	}()

	select {
	case <-w.ready:
	case <-ctx.Done():
		if r.Context().Err() != nil {
			return nil, context.Cause(r.Context())
		}
		<-w.ready // an answer without a body is over at once
	}
	return &http.Response{
		Status:        strconv.Itoa(w.status) + " " + http.StatusText(w.status),
		StatusCode:    w.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        w.sent,
		Body:          &body{PipeReader: read, cancel: cancel},
		ContentLength: -1,
		Request:       r,
	}, nil
}

// body is the body of an answer. Closing it tells the handler to end.
type body struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close implements [io.Closer].
func (b *body) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// pipeWriter is the handler's side of an answer.
type pipeWriter struct {
	header http.Header
	pipe   *io.PipeWriter

	once   sync.Once
	ready  chan struct{} // closed when status and sent are set
	status int
	sent   http.Header
}

// serve runs the handler to its end. Its error is how the body ends; nil is EOF.
func (w *pipeWriter) serve(h http.Handler, r *http.Request) (err error) {
	defer w.WriteHeader(http.StatusOK)
	defer func() {
		// http.ErrAbortHandler is how a handler breaks a connection. Any other
		// panic of this package's own handlers would do no less to a socket.
		if recover() != nil {
			err = io.ErrUnexpectedEOF
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// Header implements [http.ResponseWriter].
func (w *pipeWriter) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter]; only the first call counts.
func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.ready)
	})
}

// Write implements [http.ResponseWriter]. It waits for the reader.
func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(p)
}
