package config

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// NoProxy is the word for a provider that is reached directly, whatever the
// environment says of proxies.
const NoProxy = "none"

// Timeouts bound what a provider may take before its first byte. Zero values were
// not written.
type Timeouts struct {
	// Connect bounds each step of making a connection: reaching the host, and the
	// TLS handshake.
	Connect time.Duration
	// Header bounds the time to the first event of an answer.
	Header time.Duration
}

// providerNetworkKeys are about the way to a host.
func providerNetworkKeys(p *Provider) []key {
	return []key{
		{
			name: "proxy", kind: "URL or none", def: "HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment",
			doc:  "The proxy to this provider: http, https, socks5 or socks5h. none: no proxy, whatever the environment says.",
			read: func(v value) { v.proxy(&p.Proxy) },
		},
		{
			name: "ca_file", kind: "path",
			doc:  "PEM certificates of authorities that are trusted for this provider, besides the system's. It is read with the configuration.",
			read: func(v value) { v.text(&p.CAFile) },
		},
		{
			name: "trace_context", kind: "true or false", def: "false",
			doc:  "Send the W3C trace context of a request (traceparent) to this provider.",
			read: func(v value) { v.boolean(&p.TraceContext) },
		},
		{
			name: "timeouts", kind: "mapping", doc: "How long the provider may take before its first byte.",
			read: func(v value) { v.object(timeoutKeys(&p.Timeouts)) }, below: func() []key { return timeoutKeys(&Timeouts{}) },
		},
	}
}

func timeoutKeys(t *Timeouts) []key {
	return []key{
		{
			name: "connect", kind: "duration", def: "10s", doc: "For each step of making a connection: reaching the host, and the TLS handshake.",
			read: func(v value) { v.duration(&t.Connect, time.Millisecond, 10*time.Minute) },
		},
		{
			name: "header", kind: "duration", def: "2m",
			doc:  "To the first event of an answer, where the request's watchdog sets no header_timeout. Engines that read long prompts slowly need more.",
			read: func(v value) { v.duration(&t.Header, time.Millisecond, time.Hour) },
		},
	}
}

// proxy reads a proxy's URL, which may hold a password.
func (v value) proxy(target *Secret) {
	var s string
	if !v.text(&s) {
		return
	}
	if s = strings.TrimSpace(s); s != NoProxy {
		if problem := checkProxy(s); problem != "" {
			v.bad("%s", problem)
			return
		}
	}
	*target = NewSecret(s)
}

// checkProxy says what is wrong with a proxy's URL without repeating it.
func checkProxy(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "must be a URL, or none"
	case !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme):
		return "must begin with http://, https://, socks5:// or socks5h://, or be none"
	case u.Hostname() == "":
		return "has no host"
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		return "must not have a path, a query or a fragment"
	case !validPort(u):
		return "has a port that is no number from 1 to 65535"
	}
	return ""
}
