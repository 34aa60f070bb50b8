package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard decides who may call by which name, and tells browsers so. Only exact origins
// are let in, and never with cookies or other credentials that a browser would add
// by itself.
type guard struct {
	origins, hosts []string
	// anyHost: calls that come from other machines may name any host.
	anyHost bool
	// callerKeys: calls may bring provider keys.
	callerKeys bool
}

// preflightAge is how long browsers remember a preflight's answer, in seconds; more
// than two hours none of them does.
const preflightAge = "7200"

// requestHeaders may come with a call of a page: those of Connect and gRPC-Web (as
// https://connectrpc.com/docs/cors lists them), credentials, and trace context.
const requestHeaders = "Content-Type, Connect-Protocol-Version, Connect-Timeout-Ms, Grpc-Timeout, X-Grpc-Web, X-User-Agent, " +
	"Authorization, Traceparent, Tracestate, Baggage"

// responseHeaders may be read by a page. In unary calls of Connect trailers are
// headers.
const responseHeaders = "Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin, Grpc-Retry-Pushback-Ms, " +
	"Llmd-Request-Id, Llmd-Response-Id, Llmd-Provider-Request-Id, Llmd-Attempts, " +
	"Trailer-Grpc-Retry-Pushback-Ms, Trailer-Llmd-Request-Id, Trailer-Llmd-Response-Id, Trailer-Llmd-Provider-Request-Id, Trailer-Llmd-Attempts"

// callerKeyPrefix begins headers with provider keys.
const callerKeyPrefix = "llmd-provider-key-"

// knowsHost says whether the client calls llmd by a name that it has. An address is
// none that an attacker's DNS could have made; browsers cannot open Unix sockets.
func (g *guard) knowsHost(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil && local.Network() == "unix" {
		return true
	}
	host := hostname(r.Host)
	if host == "localhost" || isIP(host) || slices.Contains(g.hosts, host) {
		return true
	}
	return g.anyHost && len(g.hosts) == 0 && !loopback(local)
}

// hostname is a Host header without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// origin says whether a page may call; a request that no page made has no origin.
func (g *guard) origin(r *http.Request) (origin string, ok bool) {
	all := r.Header["Origin"]
	if len(all) == 0 {
		return "", true
	}
	return all[0], len(all) == 1 && slices.Contains(g.origins, all[0])
}

// cors tells the browser whether the page may read the answer.
func (g *guard) cors(h http.Header, origin string, ok bool) {
	h.Add("Vary", "Origin")
	if origin == "" || !ok {
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", responseHeaders)
}

// preflight answers a browser that asks before it calls.
func (g *guard) preflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", http.MethodPost)
	h.Set("Access-Control-Allow-Headers", strings.Join(append([]string{requestHeaders}, g.keysAskedFor(r)...), ", "))
	h.Set("Access-Control-Max-Age", preflightAge)
	w.WriteHeader(http.StatusNoContent)
}

// keysAskedFor are the headers with provider keys that the page wants to send.
func (g *guard) keysAskedFor(r *http.Request) []string {
	var all []string
	if !g.callerKeys {
		return nil
	}
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if strings.HasPrefix(name, callerKeyPrefix) {
			all = append(all, name)
		}
	}
	return all
}

// isPreflight tells a browser's question from any other request.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}
