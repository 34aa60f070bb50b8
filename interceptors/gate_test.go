package interceptors

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/llmd-dev/llmd/internal/config"
)

var auth = config.Auth{
	Tokens: []config.Token{
		{Grants: config.Grants{Name: "alice"}, SHA256: sha256.Sum256([]byte("a-token"))},
		{Grants: config.Grants{Name: "bob"}, SHA256: sha256.Sum256([]byte("b-token"))},
	},
	MTLS: []config.Identity{
		{Grants: config.Grants{Name: "batch"}, URISAN: "spiffe://x/batch"},
		{Grants: config.Grants{Name: "ops"}, CommonName: "ops"},
	},
	UnixSocket: "open",
}

// from is the context of a call over TCP by whoever has this certificate.
func from(leaf *x509.Certificate) context.Context {
	p := &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	if leaf != nil {
		p.AuthInfo = credentials.TLSInfo{State: tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf}}}}
	}
	return peer.NewContext(context.Background(), p)
}

func named(name, uri string, left time.Duration) *x509.Certificate {
	c := &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(left)}
	if u, err := url.Parse(uri); err == nil && uri != "" {
		c.URIs = []*url.URL{u}
	}
	return c
}

func bearing(ctx context.Context, values ...string) context.Context {
	return metadata.NewIncomingContext(ctx, metadata.MD{"authorization": values})
}

func TestIdentify(t *testing.T) {
	socket := peer.NewContext(context.Background(), &peer.Peer{Addr: &net.UnixAddr{Net: "unix"}})
	unverified := peer.NewContext(context.Background(), &peer.Peer{
		Addr:     &net.TCPAddr{},
		AuthInfo: credentials.TLSInfo{State: tls.ConnectionState{PeerCertificates: []*x509.Certificate{named("ops", "", time.Hour)}}},
	})
	for _, c := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // of one call
		want string          // "-" = refused, "" = a caller without a name
	}{
		{"nothing", from(nil), "-"},
		{"no peer", context.Background(), "-"},
		{"a token", bearing(from(nil), "Bearer a-token"), "alice"},
		{"the last token", bearing(from(nil), "bearer  b-token "), "bob"},
		{"half a token", bearing(from(nil), "Bearer a-toke"), "-"},
		{"no token", bearing(from(nil), "Bearer"), "-"},
		{"two tokens", bearing(from(nil), "Bearer a-token", "Bearer b-token"), "-"},
		{"basic", bearing(from(nil), "Basic a-token"), "-"},
		{"a URI", from(named("x", "spiffe://x/batch", time.Hour)), "batch"},
		{"a name", from(named("ops", "", time.Hour)), "ops"},
		{"the URI decides", from(named("ops", "spiffe://x/batch", time.Hour)), "batch"},
		{"the end of a URI", from(named("x", "spiffe://x/batch/", time.Hour)), "-"},
		{"run out", from(named("ops", "", -time.Second)), "-"},
		{"not verified", unverified, "-"},
		{"a certificate and a wrong token", bearing(from(named("ops", "", time.Hour)), "Bearer x"), "-"},
		{"a certificate and a token", bearing(from(named("ops", "", time.Hour)), "Bearer a-token"), "alice"},
		{"a socket", socket, ""},
		{"a socket and a wrong token", bearing(socket, "Bearer x"), "-"},
		{"a socket and a token", bearing(socket, "Bearer a-token"), "alice"},
	} {
		found, no := NewGate(config.Server{Auth: auth}, nil).callers.Load().identify(c.ctx)
		got := "-"
		switch {
		case no != nil:
			if no.code != codes.Unauthenticated || no.reason != "UNAUTHENTICATED" || no.wait != 0 {
				t.Errorf("%s: %+v", c.name, no)
			}
		case found.principal == nil:
			got = ""
		default:
			got = found.principal.Name
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	closed := auth
	closed.UnixSocket = "required"
	if _, no := NewGate(config.Server{Auth: closed}, nil).callers.Load().identify(socket); no == nil {
		t.Error("a socket that is not open lets callers in")
	}
	if found, no := NewGate(config.Server{}, nil).callers.Load().identify(bearing(from(nil), "whatever")); no != nil || found.principal != nil {
		t.Errorf("without authentication: %v, %v", found, no)
	}
}

// What a caller uses up, on a clock of the test's own.
func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meter{}
		m.set(config.CallerLimits{ConcurrentCalls: 3, RequestsPerSecond: 2})
		ok := func(want bool) *refusal {
			t.Helper()
			no := m.begin()
			if (no == nil) != want {
				t.Fatalf("%+v, want %v", no, want)
			}
			return no
		}
		ok(true)
		ok(true) // a second's worth
		for range 3 {
			// Being refused costs nothing: the wait does not grow.
			if no := ok(false); no.wait != 500*time.Millisecond || no.quota != limitRate {
				t.Errorf("%+v", no)
			}
		}
		time.Sleep(500 * time.Millisecond)
		ok(true)
		time.Sleep(time.Minute)
		if no := ok(false); no.quota != limitCalls || no.wait != callEnds {
			t.Errorf("%+v", no)
		}
		m.end()
		ok(true)
		// New limits hold for what is counted already.
		m.set(config.CallerLimits{ConcurrentCalls: 2})
		m.end()
		ok(false)
		m.end()
		ok(true)
		m.set(config.CallerLimits{})
		for range 1000 {
			ok(true)
		}
		m.set(config.CallerLimits{RequestsPerSecond: 0.001, Burst: 1})
		ok(true)
		if no := ok(false); no.wait != 1000*time.Second {
			t.Errorf("%+v", no)
		}
	})
}

func TestLoad(t *testing.T) {
	l := &load{limits: config.Limits{ConcurrentCalls: 1, RequestBytes: 100}}
	if l.begin() != nil || l.begin() == nil {
		t.Error("calls are not counted")
	}
	l.end()
	if l.begin() != nil {
		t.Error("an end makes no room")
	}
	if l.hold(1000) != nil {
		t.Error("the only request is refused")
	}
	if no := l.hold(1); no == nil || no.reason != "SERVER_OVERLOADED" || no.code != codes.Unavailable ||
		no.wait < 100*time.Millisecond || no.wait > time.Second {
		t.Errorf("%+v", no)
	}
	l.release(1000)
	if l.hold(60) != nil || l.hold(40) != nil || l.hold(1) == nil || l.bytes.Load() != 100 {
		t.Errorf("%d bytes are held", l.bytes.Load())
	}
	open := &load{}
	for range 100 {
		if open.begin() != nil || open.hold(1<<40) != nil {
			t.Fatal("there is a limit")
		}
	}
}

// A caller's own limits win, one by one; a reload forgets nothing.
func TestOwnLimits(t *testing.T) {
	a := config.Auth{Tokens: []config.Token{{Grants: config.Grants{Name: "alice", Limits: config.CallerLimits{ConcurrentCalls: 2}}}}}
	g := NewGate(config.Server{Auth: a, Limits: config.Limits{PerCaller: config.CallerLimits{ConcurrentCalls: 1, RequestsPerSecond: 5, Burst: 7}}}, nil)
	alice := g.callers.Load().tokens[0].caller.meter
	if want := (config.CallerLimits{ConcurrentCalls: 2, RequestsPerSecond: 5, Burst: 7}); alice.limits != want {
		t.Errorf("%+v", alice.limits)
	}
	for range 2 {
		if alice.begin() != nil {
			t.Error("too few calls")
		}
	}
	g.SetAuth(a)
	if g.callers.Load().tokens[0].caller.meter.begin() == nil {
		t.Error("a reload forgets the calls that run")
	}
}
