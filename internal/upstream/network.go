package upstream

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/llmd-dev/llmd/adapters"
)

// Direct is the word for connections without a proxy, whatever the environment
// says.
const Direct = "none"

// maxPools bounds the pools that are kept. A configuration has a few; each reload
// may bring others, and those of old ones are forgotten.
const maxPools = 64

// The buffers of an HTTP/1 connection, which each open stream has one of. A few deltas
// fit into the first, the headers of a request into the second; bodies go past it.
const (
	readBufferBytes  = 1 << 10
	writeBufferBytes = 512
)

// streamBufferBytes is how much of an answer over HTTP/2 may wait unread. net/http would
// allow 4 MiB, which is what a client that stops reading would cost here.
const streamBufferBytes = 512 << 10

// Network is how connections to a target are made. The zero value is the client's
// own way. Targets with equal networks share their connections.
type Network struct {
	// Proxy is an http, https, socks5 or socks5h URL, which may hold a password,
	// or [Direct]; empty = the client's.
	Proxy string
	// ExtraCAs are PEM certificates of authorities that are trusted besides the
	// client's.
	ExtraCAs string
	// ConnectTimeout bounds each step of making a connection: the dialling and the
	// TLS handshake; 0 = the client's.
	ConnectTimeout time.Duration
}

var (
	errProxyURL     = errors.New("upstream: the provider's proxy is not a URL")
	errCertificates = errors.New("upstream: the provider's authorities are not PEM certificates")
)

// pools are the connections, apart by the way in which they are made.
type pools struct {
	options Options

	mu    sync.Mutex
	byWay map[Network]*http.Transport
}

// of finds the connections for a network.
func (p *pools) of(n Network) (*http.Transport, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.byWay[n]; t != nil {
		return t, nil
	}
	t, err := newTransport(p.options, n)
	if err != nil {
		// Only a configuration that was never checked gets here.
		return nil, &adapters.UpstreamError{Reason: adapters.ReasonPrecondition, Err: err}
	}
	if len(p.byWay) >= maxPools {
		p.forget()
	}
	p.byWay[n] = t
	return t, nil
}

// forget drops all pools; what is in use stays so until it ends.
func (p *pools) forget() {
	for _, t := range p.byWay {
		t.CloseIdleConnections()
	}
	clear(p.byWay)
}

func (p *pools) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget()
}

func newTransport(o Options, n Network) (*http.Transport, error) {
	proxy, err := proxyOf(o, n)
	if err != nil {
		return nil, err
	}
	trust, err := trustOf(o, n)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: cmp.Or(n.ConnectTimeout, o.DialTimeout, defaultDialTimeout)}
	return &http.Transport{
		Proxy:                  proxy,
		OnProxyConnectResponse: connected,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        trust,
		TLSHandshakeTimeout:    cmp.Or(n.ConnectTimeout, tlsTimeout),
		DisableCompression:     true,
		MaxIdleConnsPerHost:    cmp.Or(o.IdleConnsPerHost, defaultIdleConns),
		IdleConnTimeout:        defaultIdleConnTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      true,
		ReadBufferSize:         readBufferBytes,
		WriteBufferSize:        writeBufferBytes,
		// A dead HTTP/2 connection would hold all of its streams.
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter, MaxReceiveBufferPerStream: streamBufferBytes},
	}, nil
}

func proxyOf(o Options, n Network) (func(*http.Request) (*url.URL, error), error) {
	switch {
	case n.Proxy == Direct:
		return nil, nil
	case n.Proxy != "":
		u, err := url.Parse(n.Proxy)
		if err != nil || u.Host == "" {
			return nil, errProxyURL
		}
		return http.ProxyURL(u), nil
	case o.Proxy != nil:
		return o.Proxy, nil
	}
	return http.ProxyFromEnvironment, nil
}

func trustOf(o Options, n Network) (*tls.Config, error) {
	if n.ExtraCAs == "" && o.TLS == nil {
		return nil, nil
	}
	// A transport writes into its configuration, so that each needs one of its own.
	trust := &tls.Config{}
	if o.TLS != nil {
		trust = o.TLS.Clone()
	}
	if n.ExtraCAs == "" {
		return trust, nil
	}
	roots := trust.RootCAs
	if roots == nil {
		var err error
		if roots, err = x509.SystemCertPool(); err != nil {
			// No system roots: the ones that were named still hold.
			roots = x509.NewCertPool()
		}
	}
	roots = roots.Clone()
	if !roots.AppendCertsFromPEM([]byte(n.ExtraCAs)) {
		return nil, errCertificates
	}
	trust.RootCAs = roots
	return trust, nil
}
