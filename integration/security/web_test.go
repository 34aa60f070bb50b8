package security

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/emptypb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

const (
	page  = "https://app.example.com"
	hello = `{"generation": {"model": "faux/echo", "context": {"messages": [{"user": {"content": [{"text": {"text": "Hello."}}]}}]}}}`
)

// onWeb adds listeners for the web to a configuration.
func onWeb(t *testing.T, text, more string) string {
	t.Helper()
	return strings.Replace(text, "server:\n", "server:\n  web:\n    listen: ['tcp://127.0.0.1:0', 'unix://"+filepath.Join(t.TempDir(), "w")+"']\n    allowed_origins: ['"+page+"']\n"+more, 1)
}

// browser is an HTTP client of one protocol version; a nil config is no TLS.
func (l *lab) browser(t *testing.T, http2, socket bool, c *tls.Config) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	protocols.SetUnencryptedHTTP2(http2)
	transport := &http.Transport{Protocols: protocols, TLSClientConfig: c.Clone()} // a transport writes into it
	if socket {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", l.webSocket)
		}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// webCall makes one call of any method with an empty message.
func webCall(ctx context.Context, t *testing.T, client *http.Client, url string, streams bool, h http.Header, options ...connect.ClientOption) *connect.Error {
	t.Helper()
	c := connect.NewClient[emptypb.Empty, emptypb.Empty](client, url, options...)
	req := connect.NewRequest(&emptypb.Empty{})
	maps.Copy(req.Header(), h)
	var err error
	if streams {
		s, problem := c.CallServerStream(ctx, req)
		if err = problem; err == nil {
			for s.Receive() {
				continue
			}
			err = s.Err()
			_ = s.Close()
		}
	} else {
		_, err = c.CallUnary(ctx, req)
	}
	if err == nil {
		return nil
	}
	e := new(connect.Error)
	if !errors.As(err, &e) {
		t.Fatalf("%s: %v", url, err)
	}
	return e
}

func reasonOfWeb(err *connect.Error) string {
	if err == nil {
		return ""
	}
	for _, d := range err.Details() {
		if v, problem := d.Value(); problem == nil {
			if info, ok := v.(*errdetails.ErrorInfo); ok {
				return info.GetReason()
			}
		}
	}
	return ""
}

// refusedOnWeb: the call was not let in.
func refusedOnWeb(err *connect.Error) bool {
	return err != nil && err.Code() == connect.CodeUnauthenticated && reasonOfWeb(err) == "UNAUTHENTICATED"
}

// Every method wants credentials on the web, too, whatever it is called by.
func TestWebEveryMethod(t *testing.T) {
	a := newAuthority(t, "ca")
	l := start(t, onWeb(t, guarded(t, a, ""), ""))
	protocols := map[string][]connect.ClientOption{
		"Connect": nil, "Connect JSON": {connect.WithProtoJSON()}, "gRPC-Web": {connect.WithGRPCWeb()}, "gRPC-Web JSON": {connect.WithGRPCWeb(), connect.WithProtoJSON()}, "gRPC": {connect.WithGRPC()},
	}
	credentials := map[string]http.Header{
		"none": nil, "a wrong token": {"Authorization": {"Bearer x"}}, "the digest": {"Authorization": {"Bearer " + digest(aliceToken)}},
		"another scheme": {"Authorization": {"Basic " + aliceToken}}, "two tokens": {"Authorization": {"Bearer " + aliceToken, "Bearer " + aliceToken}},
		"a cookie": {"Cookie": {"authorization=Bearer " + aliceToken}}, "a provider's key": {"Llmd-Provider-Key-Faux": {aliceToken}},
	}
	right := http.Header{"Authorization": {"Bearer " + aliceToken}}
	for name, options := range protocols {
		for _, http2 := range []bool{true, false} {
			if name == "gRPC" && !http2 {
				continue
			}
			client := l.browser(t, http2, false, a.trusts())
			for _, d := range []grpc.ServiceDesc{llmdv1.InferenceService_ServiceDesc, llmdv1.ModelService_ServiceDesc} {
				methods := map[string]bool{}
				for _, m := range d.Methods {
					methods[m.MethodName] = false
				}
				for _, m := range d.Streams {
					methods[m.StreamName] = true
				}
				for method, streams := range methods {
					url := "https://" + l.web + "/" + d.ServiceName + "/" + method
					for which, h := range credentials {
						err := webCall(limited(t), t, client, url, streams, h, options...)
						if !refusedOnWeb(err) {
							t.Errorf("%s, HTTP/2 %v, %s with %s: %v", name, http2, method, which, err)
						} else if got := err.Meta().Get("grpc-retry-pushback-ms"); got != "-1" {
							t.Errorf("%s, %s with %s: pushback %q", name, method, which, got)
						}
					}
					if err := webCall(limited(t), t, client, url, streams, right, options...); err != nil && err.Code() == connect.CodeUnauthenticated {
						t.Errorf("%s, %s with the right token: %v", name, method, err)
					}
				}
			}
			if err := webCall(limited(t), t, client, "https://"+l.web+healthv1.Health_Check_FullMethodName, false, nil, options...); err != nil {
				t.Errorf("%s: health: %v", name, err)
			}
		}
	}
}

// Client certificates and Unix sockets count as they do for gRPC.
func TestWebCertificatesAndSockets(t *testing.T) {
	a, other := newAuthority(t, "ca"), newAuthority(t, "ca")
	l := start(t, onWeb(t, guarded(t, a, ""), ""))
	url := "https://" + l.web + llmdv1.ModelService_ListModels_FullMethodName
	for _, http2 := range []bool{true, false} {
		for name, cert := range map[string]tls.Certificate{"a URI": a.client(t, batchURI, time.Time{}), "a name": a.client(t, "ops", time.Time{})} {
			if err := webCall(limited(t), t, l.browser(t, http2, false, a.trusts(cert)), url, false, nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			wrong := http.Header{"Authorization": {"Bearer x"}}
			if err := webCall(limited(t), t, l.browser(t, http2, false, a.trusts(cert)), url, false, wrong); !refusedOnWeb(err) {
				t.Errorf("%s and a wrong token: %v", name, err)
			}
		}
		if err := webCall(limited(t), t, l.browser(t, http2, false, a.trusts(a.client(t, "nobody", time.Time{}))), url, false, nil); !refusedOnWeb(err) {
			t.Errorf("nobody's: %v", err)
		}
		strange := other.client(t, "ops", time.Time{})
		c := a.trusts()
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &strange, nil }
		if err := webCall(limited(t), t, l.browser(t, http2, false, c), url, false, nil); err == nil || err.Code() == connect.CodeUnauthenticated {
			t.Errorf("another authority's: %v", err)
		}
		socket := "http://localhost" + llmdv1.ModelService_ListModels_FullMethodName
		if err := webCall(limited(t), t, l.browser(t, http2, true, nil), socket, false, nil); err != nil {
			t.Errorf("an open socket: %v", err)
		}
		if err := webCall(limited(t), t, l.browser(t, http2, true, nil), socket, false, http.Header{"Authorization": {"Bearer x"}}); !refusedOnWeb(err) {
			t.Errorf("an open socket and a wrong token: %v", err)
		}
	}
	closed := start(t, onWeb(t, guarded(t, a, "    unix_socket: required\n"), ""))
	if err := webCall(limited(t), t, closed.browser(t, false, true, nil), "http://localhost"+llmdv1.ModelService_ListModels_FullMethodName, false, nil); !refusedOnWeb(err) {
		t.Errorf("a socket that is not open: %v", err)
	}
}

// Responses and models of one caller are not another's, by whatever they came.
func TestWebOthersResponses(t *testing.T) {
	a := newAuthority(t, "ca")
	l := start(t, onWeb(t, guarded(t, a, ""), ""))
	native := llmdv1.NewInferenceServiceClient(dial(t, l.tcp, a.trusts()))
	if _, err := native.Complete(with(t, aliceToken), &llmdv1.CompleteRequest{RequestId: "mine", Generation: harness.Ask("faux/echo", "Hello.")}); err != nil {
		t.Fatal(err)
	}
	client := l.browser(t, true, false, a.trusts())
	get := func(token string) *connect.Error {
		c := connect.NewClient[llmdv1.GetResponseRequest, llmdv1.GetResponseResponse](client, "https://"+l.web+llmdv1.InferenceService_GetResponse_FullMethodName)
		req := connect.NewRequest(&llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_RequestId{RequestId: "mine"}})
		req.Header().Set("Authorization", "Bearer "+token)
		_, err := c.CallUnary(limited(t), req)
		e := new(connect.Error)
		errors.As(err, &e)
		return e
	}
	if err := get(bobToken); err.Code() != connect.CodeNotFound || reasonOfWeb(err) != "RESPONSE_NOT_FOUND" {
		t.Errorf("a stranger reads: %v", err)
	}
	if err := get(aliceToken); reasonOfWeb(err) != "" {
		t.Errorf("the owner reads: %v", err)
	}
	c := connect.NewClient[llmdv1.CompleteRequest, llmdv1.CompleteResponse](client, "https://"+l.web+llmdv1.InferenceService_Complete_FullMethodName)
	req := connect.NewRequest(&llmdv1.CompleteRequest{Generation: harness.Ask("faux/agent", "Hello.")})
	req.Header().Set("Authorization", "Bearer "+bobToken)
	_, err := c.CallUnary(limited(t), req)
	e := new(connect.Error)
	if !errors.As(err, &e) || reasonOfWeb(e) != "MODEL_NOT_ALLOWED" {
		t.Errorf("bob's model: %v", err)
	}
}

// A caller's limits are the same by whatever it comes.
func TestWebLimits(t *testing.T) {
	a := newAuthority(t, "ca")
	l := start(t, onWeb(t, guarded(t, a, "  limits: {per_caller: {concurrent_calls: 1}}\n"), ""))
	native, err := llmdv1.NewInferenceServiceClient(dial(t, l.tcp, a.trusts())).Stream(with(t, aliceToken),
		&llmdv1.StreamRequest{Generation: harness.Ask("faux/echo", `faux: [{"text": "ten"}, {"text": " nine", "delay_ms": 50000}]`)})
	if err == nil {
		_, err = native.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	url := "https://" + l.web + llmdv1.ModelService_ListModels_FullMethodName
	for _, option := range []connect.ClientOption{connect.WithProtoJSON(), connect.WithGRPCWeb(), connect.WithGRPC()} {
		client := l.browser(t, true, false, a.trusts())
		no := webCall(limited(t), t, client, url, false, http.Header{"Authorization": {"Bearer " + aliceToken}}, option)
		if no == nil || no.Code() != connect.CodeResourceExhausted || reasonOfWeb(no) != "TENANT_QUOTA" {
			t.Errorf("alice's second call: %v", no)
		}
		if err := webCall(limited(t), t, client, url, false, http.Header{"Authorization": {"Bearer " + bobToken}}, option); err != nil {
			t.Errorf("bob's first: %v", err)
		}
	}
}

// post is what a page, or a name that was made to point here, would send.
func (l *lab) post(t *testing.T, client *http.Client, method, scheme string, header map[string][]string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(limited(t), method, scheme+"://"+l.web+llmdv1.InferenceService_Complete_FullMethodName, strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}}
	maps.Copy(r.Header, header)
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
		r.Header.Del("Host")
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatalf("%v: %v", header, err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// Pages call only if they are named, exactly, and never with what a browser adds by
// itself.
func TestWebOrigins(t *testing.T) {
	l := start(t, onWeb(t, "server:\n  drain_timeout: 1s\n  listen: ['tcp://127.0.0.1:0']\n  caller_keys: {allow: true}\n", ""))
	for _, http2 := range []bool{true, false} {
		client := l.browser(t, http2, false, nil)
		for origin, ok := range map[string]bool{
			page: true, page + ":443": false, page + "/": false, "http://app.example.com": false, "https://app.example.com.evil.test": false,
			"https://evil.test": false, "https://APP.example.com": false, "null": false, "": false, "*": false, "https://sub.app.example.com": false,
			"http://" + l.web: false, "http://localhost": false,
		} {
			resp := l.post(t, client, http.MethodPost, "http", map[string][]string{"Origin": {origin}})
			allowed := resp.Header.Get("Access-Control-Allow-Origin")
			if (resp.StatusCode == http.StatusOK) != ok || (allowed == origin && origin != "") != ok || !ok && (resp.StatusCode != http.StatusForbidden || allowed != "") {
				t.Errorf("%q: %d, %v", origin, resp.StatusCode, resp.Header)
			}
			ask := map[string][]string{"Origin": {origin}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"authorization,content-type,llmd-provider-key-openai,x-other"}}
			resp = l.post(t, client, http.MethodOptions, "http", ask)
			allowed = resp.Header.Get("Access-Control-Allow-Origin")
			headers := strings.ToLower(resp.Header.Get("Access-Control-Allow-Headers"))
			if origin == "" {
				continue // browsers do not ask without an origin
			}
			if ok && (resp.StatusCode != http.StatusNoContent || allowed != origin || resp.Header.Get("Access-Control-Allow-Methods") != "POST" ||
				!strings.Contains(headers, "authorization") || !strings.Contains(headers, "connect-protocol-version") ||
				!strings.Contains(headers, "llmd-provider-key-openai") || strings.Contains(headers, "x-other")) {
				t.Errorf("preflight of %q: %d, %v", origin, resp.StatusCode, resp.Header)
			}
			if !ok && (resp.StatusCode != http.StatusForbidden || allowed != "") {
				t.Errorf("preflight of %q: %d, %v", origin, resp.StatusCode, resp.Header)
			}
		}
		two := l.post(t, client, http.MethodPost, "http", map[string][]string{"Origin": {page, "https://evil.test"}})
		if two.StatusCode != http.StatusForbidden {
			t.Errorf("two origins: %d", two.StatusCode)
		}
		good := l.post(t, client, http.MethodPost, "http", map[string][]string{"Origin": {page}})
		expose := strings.ToLower(good.Header.Get("Access-Control-Expose-Headers"))
		if good.Header.Get("Access-Control-Allow-Credentials") != "" || !slices.Contains(good.Header.Values("Vary"), "Origin") ||
			!strings.Contains(expose, "grpc-status-details-bin") || !strings.Contains(expose, "trailer-llmd-response-id") {
			t.Errorf("headers: %v", good.Header)
		}
		for _, types := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
			// What a form can send needs no preflight; it is no call.
			if resp := l.post(t, client, http.MethodPost, "http", map[string][]string{"Content-Type": {types}}); resp.StatusCode != http.StatusUnsupportedMediaType {
				t.Errorf("%s: %d", types, resp.StatusCode)
			}
		}
	}
	if strings.Contains(l.log.String(), "evil.test") || !strings.Contains(l.log.String(), "reason=ORIGIN_NOT_ALLOWED") {
		t.Errorf("the log:\n%.2000s", l.log)
	}
}

// A name that was made to point to this machine is not one of its own.
func TestWebHosts(t *testing.T) {
	plain := "server:\n  drain_timeout: 1s\n  listen: ['tcp://127.0.0.1:0']\n"
	a := newAuthority(t, "ca")
	for name, c := range map[string]struct {
		text  string
		tls   *tls.Config
		hosts map[string]bool
	}{
		"none named": {onWeb(t, plain, ""), nil, map[string]bool{
			"": true, "localhost": true, "localhost:1": true, "LOCALHOST": true, "127.0.0.1:1": true, "[::1]:1": true, "[::1]": true, "10.0.0.7": true,
			"evil.test": false, "evil.test:80": false, "localhost.evil.test": false, "127.0.0.1.evil.test": false, "localhost:80:80": false, "llmd.example.com": false,
		}},
		"one named": {onWeb(t, plain, "    allowed_hosts: [llmd.example.com]\n"), nil, map[string]bool{
			"llmd.example.com": true, "llmd.example.com:8443": true, "LLMD.example.com.": true, "localhost": true, "x.llmd.example.com": false, "evil.test": false,
		}},
		"with authentication": {onWeb(t, guarded(t, a, ""), ""), a.trusts(), map[string]bool{"localhost": true, "evil.test": false}},
	} {
		l := start(t, c.text)
		scheme := "http"
		if c.tls != nil {
			scheme = "https"
		}
		for _, http2 := range []bool{true, false} {
			client := l.browser(t, http2, false, c.tls)
			for host, ok := range c.hosts {
				resp := l.post(t, client, http.MethodPost, scheme, map[string][]string{"Host": {host}, "Authorization": {"Bearer " + aliceToken}})
				body, _ := io.ReadAll(resp.Body)
				want := 200
				if !ok {
					want = 403
				}
				if c.tls == nil && ok && resp.StatusCode == http.StatusUnauthorized {
					t.Errorf("%s: %q is asked for a token", name, host)
				}
				if resp.StatusCode != want || !ok && !strings.Contains(string(body), "HOST_NOT_ALLOWED") {
					t.Errorf("%s, HTTP/2 %v: %q: %d %s", name, http2, host, resp.StatusCode, body)
				}
			}
		}
	}
}

// TLS is that of the other listener: 1.3, and new files reach new connections.
func TestWebTLS(t *testing.T) {
	old, next := newAuthority(t, "old"), newAuthority(t, "next")
	dir := t.TempDir()
	old.files(t, dir)
	in := func(name string) string { return filepath.Join(dir, name) }
	l := start(t, onWeb(t, fmt.Sprintf("server:\n  listen: ['tcp://127.0.0.1:0']\n  drain_timeout: 1s\n  tls: {cert_file: %s, key_file: %s}\n", in("tls.crt"), in("tls.key")), ""))
	for version, ok := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS12: false, tls.VersionTLS13: true} {
		c := old.trusts()
		c.MinVersion, c.MaxVersion = version, version
		conn, err := tls.Dial("tcp", l.web, c)
		if err == nil {
			_ = conn.Close()
		}
		if ok != (err == nil) {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
	ask := func(a *authority) error {
		r, err := http.NewRequestWithContext(limited(t), http.MethodPost, "https://"+l.web+llmdv1.InferenceService_Complete_FullMethodName, strings.NewReader(hello))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := l.browser(t, true, false, a.trusts()).Do(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	if err := ask(old); err != nil {
		t.Fatal(err)
	}
	next.files(t, dir)
	for deadline := time.Now().Add(10 * time.Second); ask(next) != nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the new files are not used: %v\n%s", ask(next), l.log)
		}
	}
	if ask(old) == nil {
		t.Error("the old certificate is still shown")
	}
}
