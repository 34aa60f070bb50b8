package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/interceptors"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/web"
)

// newWeb makes the server of server.web; nil if there is none.
func newWeb(cfg config.Server, chain interceptors.Options) (*web.Server, error) {
	if !cfg.Web.On() {
		return nil, nil
	}
	return web.New(web.Options{
		Services: []*grpc.ServiceDesc{&llmdv1.InferenceService_ServiceDesc, &llmdv1.ModelService_ServiceDesc, &healthv1.Health_ServiceDesc},
		Origins:  cfg.Web.AllowedOrigins, Hosts: cfg.Web.AllowedHosts, AnyHost: cfg.Auth.On(), CallerKeys: cfg.CallerKeys.Allow,
		MaxReceiveBytes: cfg.MaxReceiveBytes, MaxConcurrentStreams: cfg.MaxConcurrentStreams, MaxConnectionAge: ageOf(cfg), Log: chain.Log,
		Known: knownBy(chain.Gate),
	})
}

// knownBy asks the gate about a client of the web, as it will be asked for the call.
func knownBy(gate *interceptors.Gate) func(net.Conn, string, http.Header) bool {
	if gate == nil {
		return nil
	}
	return func(client net.Conn, method string, h http.Header) bool {
		ctx := metadata.NewIncomingContext(context.Background(), metadata.MD{"authorization": h.Values("Authorization")})
		return gate.Knows(peer.NewContext(ctx, &peer.Peer{Addr: client.RemoteAddr(), AuthInfo: shown(client)}), method)
	}
}

// serveWeb begins to serve the web on listeners; what fails goes to failed. Without
// certificates TCP addresses are plain.
func (s *transport) serveWeb(listeners []net.Listener, failed chan<- error) {
	if s.web == nil {
		return
	}
	go func() { failed <- s.grpc.Serve(s.web.Inner()) }()
	for _, l := range listeners {
		s.announce("listening for the web", l.Addr())
		if s.certs != nil && l.Addr().Network() != "unix" {
			l = tls.NewListener(l, s.certs.web())
		}
		go func() { failed <- s.web.Serve(l) }()
	}
}
