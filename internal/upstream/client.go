package upstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/llmd-dev/llmd/adapters"
)

// Defaults of [Options].
const (
	defaultDialTimeout     = 10 * time.Second
	defaultIdleConns       = 256
	defaultIdleConnTimeout = 90 * time.Second
	defaultLinger          = 100 * time.Millisecond

	tlsTimeout     = 10 * time.Second
	pingAfter      = 15 * time.Second // of silence on an HTTP/2 connection
	maxHeaderBytes = 256 << 10
)

// Options is what a [Client] is made of. The zero value is usable.
type Options struct {
	// UserAgent is sent with each request, such as "llmd/1.2.3".
	UserAgent string
	// Trace puts the trace context of a request on its headers; nil = there is none.
	Trace func(context.Context, http.Header)
	// Proxy finds the proxy for a request; nil = by the environment (HTTPS_PROXY
	// and the like). A target's own proxy wins.
	Proxy func(*http.Request) (*url.URL, error)
	// DialTimeout bounds the making of a connection; 0 = 10 s.
	DialTimeout time.Duration
	// IdleConnsPerHost is how many connections without a request are kept for each
	// host; 0 = 256.
	IdleConnsPerHost int
	// Linger is how long a provider may take to end the exchange of a whole answer; 0 =
	// 100 ms. See [Response.Finish].
	Linger time.Duration
	// TLS is the TLS configuration; nil = the system's roots.
	TLS *tls.Config
}

// Client sends requests to providers. It is safe for concurrent use.
type Client struct {
	userAgent string
	trace     func(context.Context, http.Header)
	pools     *pools
	linger    time.Duration
}

// New makes a client.
func New(o Options) *Client {
	return &Client{
		userAgent: o.UserAgent, trace: o.Trace, pools: &pools{options: o, byWay: map[Network]*http.Transport{}},
		linger: cmp.Or(o.Linger, defaultLinger),
	}
}

// Close closes the connections that no request uses.
func (c *Client) Close() { c.pools.close() }

// Response is a provider's answer, once its headers are here.
type Response struct {
	// Status is the HTTP status: 2xx, or an error's from 400 up.
	Status int
	// Header holds the headers, without those about encoding and length.
	Header http.Header
	// Body is the decoded body. It must be closed; closing it ends the exchange at
	// once. A compressed body that was cut ends with io.ErrUnexpectedEOF.
	Body io.ReadCloser
	// RequestID is the provider's id of the request; empty = it named none.
	RequestID string
}

var errRedirect = errors.New("upstream: the provider answered with a redirect")

// Finish closes the body of an answer that is whole, once the provider has ended it, and
// does not wait for that: a provider has [Options.Linger] for it, and may say some more. It
// does not matter that the context of the request ends. What llmd breaks off costs its
// connection, or over HTTP/2 a reset, of which servers take only so many
// (https://www.cve.org/CVERecord?id=CVE-2023-44487).
func (r *Response) Finish() {
	if b, ok := r.Body.(*body); ok {
		b.finish()
		return
	}
	_ = r.Body.Close()
}

// Do sends a request and returns once the headers of the answer are here. It sets
// no time limit on them. Redirects are errors.
func (c *Client) Do(ctx context.Context, t *Target, r *adapters.Request) (*Response, error) {
	// The exchange ends with ctx, until [Response.Finish] lets it outlive that.
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x := &exchange{cancel: cancel, leave: context.AfterFunc(ctx, cancel), linger: c.linger}
	response, err := c.do(own, x, t, r)
	if err == nil {
		return response, nil
	}
	x.end()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if e, ok := errors.AsType[*adapters.UpstreamError](err); ok {
		return nil, e
	}
	if malformed(err) {
		return nil, &adapters.UpstreamError{Reason: adapters.ReasonProtocolError, Message: hostOf(t) + " answered with something that cannot be read as HTTP: see base_url", Err: err}
	}
	return nil, &adapters.UpstreamError{Reason: adapters.ReasonUnreachable, Message: unreachable(t, err), Err: err}
}

func (c *Client) do(ctx context.Context, x *exchange, t *Target, r *adapters.Request) (*Response, error) {
	sent := &sentBody{text: r.Text()}
	defer sent.forget()
	request, err := c.request(ctx, t, r, sent)
	if err != nil {
		return nil, err
	}
	// Not http.Client: it would follow redirects and put URLs into its errors.
	network := t.Transport
	if network == nil {
		if network, err = c.pools.of(t.Network); err != nil {
			return nil, err
		}
	}
	answer, err := network.RoundTrip(request) //nolint:bodyclose // the caller closes it
	if err != nil {
		return nil, err
	}
	body, ok := newBody(answer, x)
	id := requestID(answer.Header)
	switch {
	case answer.StatusCode < http.StatusOK || answer.StatusCode >= 300 && answer.StatusCode < 400:
		_ = body.Close()
		return nil, &adapters.UpstreamError{
			Reason: adapters.ReasonProviderError, Status: answer.StatusCode, RequestID: id, Err: errRedirect,
			Message: fmt.Sprintf("the provider answered HTTP %d, a redirect, which is not followed: see base_url", answer.StatusCode),
		}
	case !ok && answer.StatusCode < 400:
		_ = body.Close()
		return nil, &adapters.UpstreamError{
			Reason: adapters.ReasonProtocolError, RequestID: id, Err: errEncoding,
			Message: "the provider's answer has an unknown Content-Encoding",
		}
	}
	header := answer.Header
	header.Del("Content-Encoding")
	header.Del("Content-Length")
	// net/http holds the answer until its body ends, which may take an hour, and with it
	// a KiB or more that nobody asks for.
	answer.Header, answer.Request = nil, nil
	return &Response{Status: answer.StatusCode, Header: header, Body: body, RequestID: id}, nil
}

// request builds the HTTP request with headers, credentials and body on.
func (c *Client) request(ctx context.Context, t *Target, r *adapters.Request, sent *sentBody) (*http.Request, error) {
	address, err := t.url(r)
	if err != nil {
		return nil, &adapters.UpstreamError{Reason: adapters.ReasonPrecondition, Err: err}
	}
	request, err := http.NewRequestWithContext(ctx, method(r), address.String(), http.NoBody)
	if err != nil {
		return nil, &adapters.UpstreamError{Reason: adapters.ReasonPrecondition, Err: errBaseURL}
	}
	sent.attach(request)
	request.Header = c.header(t, r)
	if t.TraceContext && c.trace != nil {
		c.trace(ctx, request.Header)
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
		request.Header.Del("Host")
	}
	if t.Credentials == nil {
		return request, nil
	}
	if err := t.Credentials.Apply(ctx, request, r.Text()); err != nil {
		return nil, err
	}
	return request, nil
}
