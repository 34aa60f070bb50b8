package upstream_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/internal/upstream"
)

// pemOf is the certificate of a TLS server, which signed it itself.
func pemOf(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

func bodyOf(t *testing.T, r *upstream.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestProxyOfTarget(t *testing.T) {
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, "via proxy to "+r.URL.Host+" "+r.Header.Get("Proxy-Authorization"))
	})
	direct := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "direct") })
	// The client's own proxy, as the environment would name it.
	environment := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "via the environment") })
	address, err := url.Parse(environment.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, upstream.Options{Proxy: http.ProxyURL(address)})
	password := base64.StdEncoding.EncodeToString([]byte("me:s3cret"))
	for _, tt := range []struct{ name, proxy, base, want string }{
		{"its own", proxy.URL, "http://provider.invalid", "via proxy to provider.invalid "},
		{"with a password", strings.Replace(proxy.URL, "://", "://me:s3cret@", 1), "http://provider.invalid", "via proxy to provider.invalid Basic " + password},
		{"none", upstream.Direct, direct.URL, "direct"},
		{"the environment's", "", "http://provider.invalid", "via the environment"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := mustDo(t, c, &upstream.Target{BaseURL: tt.base, Network: upstream.Network{Proxy: tt.proxy}})
			if got := bodyOf(t, r); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// A proxy only passes bytes on to an https host: whom to trust is the target's
// business all the same.
func TestProxyAndPrivateCA(t *testing.T) {
	provider := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	provider.Config.ErrorLog = nil
	t.Cleanup(provider.Close)
	var tunnels atomic.Int32
	proxy := tunnel(t, &tunnels)
	c := newClient(t, upstream.Options{Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }})

	_, err := c.Do(t.Context(), &upstream.Target{BaseURL: provider.URL, Network: upstream.Network{Proxy: proxy}}, request(""))
	_ = wantReason(t, err, adapters.ReasonUnreachable) // an authority that nobody trusts

	trusting := upstream.Network{Proxy: proxy, ExtraCAs: "# ours\n" + pemOf(provider)}
	r := mustDo(t, c, &upstream.Target{BaseURL: provider.URL, Network: trusting})
	if got := bodyOf(t, r); !strings.HasPrefix(got, "HTTP/") || tunnels.Load() != 2 {
		t.Errorf("%q through %d tunnels", got, tunnels.Load())
	}
	// Trust is the target's, not the client's.
	_, err = c.Do(t.Context(), &upstream.Target{BaseURL: provider.URL}, request(""))
	_ = wantReason(t, err, adapters.ReasonUnreachable)
}

// tunnel is a proxy that knows CONNECT alone.
func tunnel(t *testing.T, count *atomic.Int32) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				r, err := http.ReadRequest(in)
				if err != nil || r.Method != http.MethodConnect {
					return
				}
				far, err := net.Dial("tcp", r.Host)
				if err != nil {
					return
				}
				defer func() { _ = far.Close() }()
				count.Add(1)
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
				go func() { _, _ = io.Copy(far, in) }()
				_, _ = io.Copy(conn, far)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// A proxy that is not there is not the provider's fault.
func TestProxyUnreachable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for _, scheme := range []string{"http", "https"} {
		_, err := newClient(t, upstream.Options{}).Do(t.Context(), &upstream.Target{
			BaseURL: scheme + "://provider.example", Network: upstream.Network{Proxy: "http://user:s3cret@" + closed.Addr().String()},
		}, request(""))
		if e := wantReason(t, err, adapters.ReasonUnreachable); e.Message != "the proxy to provider.example could not be reached: connection refused" {
			t.Errorf("%s: %q", scheme, e.Message)
		}
	}
}

// A proxy that refuses to connect says why, in its status; its words are left out.
func TestProxyRefuses(t *testing.T) {
	for status, says := range map[int]string{
		http.StatusProxyAuthRequired: "the proxy to provider.example refused to connect with HTTP 407: it wants a user and a password",
		http.StatusForbidden:         "the proxy to provider.example refused to connect with HTTP 403",
	} {
		proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		_, err := newClient(t, upstream.Options{}).Do(t.Context(), &upstream.Target{
			BaseURL: "https://provider.example", Network: upstream.Network{Proxy: proxy.URL},
		}, request(""))
		if e := wantReason(t, err, adapters.ReasonUnreachable); e.Message != says {
			t.Errorf("%d: %q", status, e.Message)
		}
	}
}

// A host that accepts connections and says nothing holds up the TLS handshake.
func TestConnectTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c := newClient(t, upstream.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	began := time.Now()
	_, err = c.Do(ctx, &upstream.Target{
		BaseURL: "https://" + l.Addr().String(), Network: upstream.Network{Proxy: upstream.Direct, ConnectTimeout: 50 * time.Millisecond},
	}, request(""))
	_ = wantReason(t, err, adapters.ReasonUnreachable)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("gave up after %s", took)
	}
}

// Targets that agree on the way share connections, and only those.
func TestTargetsShareConnections(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RemoteAddr) })
	c := newClient(t, upstream.Options{})
	ask := func(n upstream.Network) string {
		r, err := c.Do(t.Context(), &upstream.Target{BaseURL: s.URL, Network: n}, request(""))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		return bodyOf(t, r)
	}
	direct := upstream.Network{Proxy: upstream.Direct}
	slow := upstream.Network{Proxy: upstream.Direct, ConnectTimeout: time.Minute}
	first := ask(direct)
	if again := ask(direct); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	if other := ask(slow); other == first {
		t.Error("another network has the same connection")
	}
	// Far more networks than are kept: all of them work.
	for i := range 200 {
		ask(upstream.Network{Proxy: upstream.Direct, ConnectTimeout: time.Minute + time.Duration(i)})
	}
}

func TestBadNetwork(t *testing.T) {
	c := newClient(t, upstream.Options{})
	for _, n := range []upstream.Network{
		{Proxy: "topsecret"}, {Proxy: "http://me:topsecret@ho st"}, {ExtraCAs: "topsecret"},
	} {
		_, err := c.Do(t.Context(), &upstream.Target{BaseURL: "http://127.0.0.1:1", Network: n}, request(""))
		if e := wantReason(t, err, adapters.ReasonPrecondition); strings.Contains(e.Err.Error(), "topsecret") {
			t.Errorf("%v", e.Err)
		}
	}
}
