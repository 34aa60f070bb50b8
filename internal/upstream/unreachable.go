package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
)

// unreachable says for people which host could not be reached and why. It is made
// of known words: the error's own text may hold a URL with a key in it.
func unreachable(t *Target, err error) string {
	host := hostOf(t)
	if refused, ok := errors.AsType[*proxyError](err); ok {
		return "the proxy to " + host + " " + refused.Error()
	}
	// So net/http calls all that goes wrong on the way to a proxy.
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		host = "the proxy to " + host
	}
	return host + " could not be reached: " + whyUnreachable(err)
}

// proxyError is a proxy's refusal to connect.
type proxyError struct{ status int }

func (e *proxyError) Error() string {
	why := ""
	if e.status == http.StatusProxyAuthRequired {
		why = ": it wants a user and a password"
	}
	return fmt.Sprintf("refused to connect with HTTP %d%s", e.status, why)
}

// connected sees the answer of a proxy to CONNECT. net/http alone would keep its words
// and forget its status.
func connected(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
	if r.StatusCode != http.StatusOK {
		return &proxyError{status: r.StatusCode}
	}
	return nil
}

// hostOf is who is asked, for people.
func hostOf(t *Target) string {
	if u, err := url.Parse(t.BaseURL); err == nil && u.Host != "" {
		return u.Host
	}
	return "the provider"
}

// brokenHead is how net/http begins what it says of the head of an HTTP/1 answer that
// did not come, or that it cannot read. The latter has no type of its own.
const brokenHead = "net/http: HTTP/1.x transport connection broken: "

// cutHead is what net/http says of a head that ends in the middle of a line: it takes
// the piece for a line, and does not say that the connection is over.
var cutHead = regexp.MustCompile(`: malformed (HTTP response "H(T(T(P(/(1(\.\d?)?)?)?)?)?)?"|HTTP status code "\d{0,2}"|` +
	`MIME header: missing colon: "([-\w]+|\\r)"|MIME header line: ".*\\r")$`)

// malformed: an answer came, but what came is no HTTP. Who speaks something else at that
// address will do so the next time, too.
func malformed(err error) bool {
	var network net.Error
	if errors.As(err, &network) || ended(err) {
		return false
	}
	return strings.HasPrefix(err.Error(), brokenHead)
}

// ended: the connection was closed before the head of an answer was whole.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || cutHead.MatchString(err.Error())
}

func whyUnreachable(err error) string {
	var (
		lookup   *net.DNSError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		record   tls.RecordHeaderError
		network  net.Error
	)
	switch {
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "there is no such host"
	case errors.Is(err, errRefused):
		return "it refused the request"
	case errors.As(err, &lookup):
		return "its name could not be looked up"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to it"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "llmd has as many files open as it may"
	case errors.As(err, &unknown):
		return "its certificate is signed by an unknown authority"
	case errors.As(err, &hostname):
		return "its certificate is for another host"
	case errors.As(err, &invalid):
		return "its certificate is invalid or has expired"
	case errors.As(err, &record):
		return "it does not speak TLS"
	case ended(err):
		return "it closed the connection without an answer"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "connecting took too long"
	}
	return "the connection failed"
}
