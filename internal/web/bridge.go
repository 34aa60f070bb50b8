package web

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
)

// stopping is why the gRPC server would end a call without a status.
const stopping = "llmd is stopping"

const (
	// copyBytes is what a stream that waits holds ready.
	copyBytes = 4 << 10
	// fieldOverhead is what a header field counts besides its text, RFC 9113 6.5.2.
	fieldOverhead = 32
	// maxHeaderListBytes is the gRPC server's limit.
	maxHeaderListBytes = 64 << 10
)

// bridge hands gRPC requests to the gRPC server.
type bridge struct {
	transport *http.Transport
	// whole: requests are read before they are handed on, which runs the transcoder
	// here and on no other goroutine.
	whole bool
}

// ServeHTTP implements http.Handler.
func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, ok := b.request(r)
	if !ok {
		return // the transcoder has answered
	}
	if headerList(out.Header) > maxHeaderListBytes {
		end(w, codes.ResourceExhausted, "the request's headers are larger than 64 KiB")
		return
	}
	resp, err := b.transport.RoundTrip(out)
	if err != nil {
		if r.Context().Err() == nil {
			end(w, codes.Unavailable, stopping)
		}
		return
	}
	defer func() { _ = resp.Body.Close() }()
	answer(w, r, resp, b.whole)
}

// request is what the gRPC server gets; false if the body cannot be had.
func (b *bridge) request(r *http.Request) (*http.Request, bool) {
	of, _ := r.Context().Value(linkKey{}).(*link)
	if of == nil {
		return nil, false
	}
	out := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Scheme: "http", Host: of.id, Path: r.URL.Path}, Host: r.Host,
		Header: endToEnd(r.Header), Body: r.Body, ContentLength: -1,
	}
	if b.whole {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(body) < frameHeader { // what it cannot read it answers, and the body is at its end
			return nil, false
		}
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return out.WithContext(r.Context()), true
}

// endToEnd are the headers that concern the call: not those of the connection, nor
// those of browsers that llmd has no use for.
func endToEnd(h http.Header) http.Header {
	out := h.Clone()
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			out.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authorization", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings",
		"Expect", "Content-Length", "Cookie", "Accept", "Accept-Language", "Origin", "Referer", "Priority",
	} {
		out.Del(name)
	}
	for name := range out {
		if strings.HasPrefix(name, "Sec-") {
			delete(out, name)
		}
	}
	out.Set("Te", "trailers")
	return out
}

func headerList(h http.Header) int {
	n := 0
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v) + fieldOverhead
		}
	}
	return n
}

// answer copies what the gRPC server says, each piece as it comes. Trailers alone are
// headers on the wire; the transcoder wants them to be trailers all the same.
func answer(w http.ResponseWriter, r *http.Request, resp *http.Response, transcoded bool) {
	trailersOnly := resp.Header.Get("Grpc-Status") != ""
	for name, values := range resp.Header {
		if transcoded && trailersOnly && name != "Content-Type" {
			name = http.TrailerPrefix + name
		}
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	if trailersOnly {
		return
	}
	buf := make([]byte, copyBytes)
	flusher, _ := w.(http.Flusher)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			if _, failed := w.Write(buf[:n]); failed != nil {
				return // the client is gone, or the transcoder has ended the call
			}
			flusher.Flush() // the transcoder flushes by itself, at the end of each message
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if r.Context().Err() == nil {
				status(w.Header(), codes.Unavailable, stopping)
			}
			return
		}
	}
	for name, values := range resp.Trailer {
		w.Header()[http.TrailerPrefix+name] = values
	}
}

// end ends a call that the gRPC server did not begin.
func end(w http.ResponseWriter, code codes.Code, message string) {
	w.Header().Set("Content-Type", "application/grpc")
	w.WriteHeader(http.StatusOK)
	status(w.Header(), code, message)
}

// status puts a status into the trailers.
func status(h http.Header, code codes.Code, message string) {
	h.Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(int(code)))
	h.Set(http.TrailerPrefix+"Grpc-Message", message)
}
