package server

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/interceptors"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/web"
	"github.com/llmd-dev/llmd/service"
)

// The grpc-go options of contract section 4.
const (
	maxSendBytes       = 16 << 20
	maxHeaderListBytes = 64 << 10
	handshakeTimeout   = 10 * time.Second
	idleTimeout        = 15 * time.Minute
	pingAfter          = time.Minute
	pingTimeout        = 20 * time.Second
	connectionAge      = 30 * time.Minute // unless all are local
	// connectionGrace is what running streams get then: more than the longest takes,
	// because their handlers get no warning.
	connectionGrace   = 65 * time.Minute
	clientPingsAtMost = 20 * time.Second
	balancerPatience  = 5 * time.Second // a sidecar has no load balancer to wait for
	// refusing is how long new streams hear why they are refused before their
	// connection is told to go away: after that they hear of a closed port.
	refusing = 500 * time.Millisecond
	// receipts is what is left of the drain when running streams are aborted, or a
	// third of a short drain.
	receipts = 10 * time.Second
	// lastWords is how long receipts have when everything is to end at once.
	lastWords = 2 * time.Second
	// handlers are goroutines that wait for calls and are used again, so that their
	// stacks need not grow anew with each call. Where more calls run at once, the others
	// get goroutines of their own, as all do without this.
	handlers = 8
	// streamWindow and connectionWindow are how many bytes of a request, and of all those
	// of a connection, may be under way. grpc-go would measure the connection instead,
	// with a ping for each request, which is a packet each way and two threads to wake.
	// Requests are small next to this; a large one gets the room it needs, as its length
	// is known from its beginning, and goes at 40 MiB a second with a round trip of 100 ms.
	streamWindow     = 256 << 10
	connectionWindow = 4 << 20
	// detachedLook is how often a drain looks whether detached responses run.
	detachedLook = 50 * time.Millisecond
)

// transport is the gRPC server with what goes around it.
type transport struct {
	grpc      *grpc.Server // begins with serve: it has goroutines from then on
	begin     func() *grpc.Server
	web       *web.Server // nil = off
	certs     *certificates
	health    *watchableHealth
	inference *service.Inference
	log       *slog.Logger
	drain     time.Duration
	// patience is how long load balancers get to notice that the health went down.
	patience time.Duration
	// unprotected: there is no TLS or no authentication.
	unprotected bool
	draining    atomic.Bool
}

// newTransport puts the services behind the interceptors. Without certificates TCP
// addresses are plain.
func newTransport(cfg config.Server, svc *service.Service, chain interceptors.Options, certs *certificates) (*transport, error) {
	toWeb, err := newWeb(cfg, chain)
	if err != nil {
		return nil, err
	}
	around := interceptors.New(chain)
	opts := append(around.Options(),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(cfg.MaxReceiveBytes),
		grpc.MaxSendMsgSize(maxSendBytes),
		grpc.MaxConcurrentStreams(cfg.MaxConcurrentStreams),
		grpc.MaxHeaderListSize(maxHeaderListBytes),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: pingAfter, Timeout: pingTimeout, MaxConnectionIdle: idleTimeout,
			MaxConnectionAge: ageOf(cfg), MaxConnectionAgeGrace: connectionGrace,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: clientPingsAtMost, PermitWithoutStream: true}),
		grpc.NumStreamWorkers(handlers),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connectionWindow),
		// Partials must reach the store before the process ends.
		grpc.WaitForHandlers(true),
		grpc.Creds(newCredentials(certs)),
	)
	s := &transport{
		unprotected: certs == nil || !cfg.Auth.On(),
		web:         toWeb, certs: certs, health: newHealth(), inference: svc.Inference, log: chain.Log,
		drain: cfg.DrainTimeout,
	}
	if !local(cfg.Addresses()) {
		s.patience = balancerPatience
	}
	for _, name := range []string{"", llmdv1.InferenceService_ServiceDesc.ServiceName, llmdv1.ModelService_ServiceDesc.ServiceName} {
		s.health.SetServingStatus(name, healthv1.HealthCheckResponse_SERVING)
	}
	s.begin = func() *grpc.Server {
		g := grpc.NewServer(opts...)
		services := around.Services(g)
		llmdv1.RegisterInferenceServiceServer(services, svc.Inference)
		llmdv1.RegisterModelServiceServer(services, svc.Models)
		healthv1.RegisterHealthServer(services, s.health)
		if cfg.ReflectionOn() {
			reflection.Register(g)
		}
		return g
	}
	return s, nil
}

// ageOf is the greatest age of a connection; 0 = there is none. Behind a load balancer
// that spreads connections, only a new connection finds a new replica.
func ageOf(cfg config.Server) time.Duration {
	if cfg.MaxConnectionAge == 0 && !local(cfg.Addresses()) {
		return connectionAge
	}
	return max(cfg.MaxConnectionAge, 0)
}

// serve runs until ctx ends, then drains. A second end of ctx is up to the
// caller: stopNow ends everything at once.
func (s *transport) serve(ctx context.Context, listeners, toWeb []net.Listener, stopNow <-chan struct{}) error {
	s.grpc = s.begin()
	failed := make(chan error, len(listeners)+len(toWeb)+1)
	for _, l := range listeners {
		s.announce("listening", l.Addr())
		go func() { failed <- s.grpc.Serve(l) }()
	}
	s.serveWeb(toWeb, failed)
	select {
	case err := <-failed:
		s.stop()
		return err
	case <-ctx.Done():
		s.shutdown(stopNow)
		return nil
	}
}

// announce says where llmd listens.
func (s *transport) announce(message string, a net.Addr) {
	s.log.Info(message, "address", a.Network()+"://"+a.String())
	if s.unprotected && open(a) {
		s.log.Warn("other machines can reach this address without TLS or without authentication of callers, as server.allow_insecure says", "address", a.String())
	}
}

// open: other machines can reach the address.
func open(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}

// shutdown drains in the order of contract section 4: say so, let load balancers
// notice, take no new streams, let the running ones end, abort the rest so that
// they get their receipt, stop.
func (s *transport) shutdown(stopNow <-chan struct{}) {
	s.draining.Store(true)
	s.log.Info("draining", "timeout", s.drain.String())
	s.health.Shutdown()
	end := time.NewTimer(s.drain)
	defer end.Stop()
	abortAt := time.NewTimer(s.drain - min(receipts, s.drain/3))
	defer abortAt.Stop()
	inTime := wait(min(s.patience, s.drain/2), stopNow)
	s.inference.Close()
	if inTime && s.inference.Running() {
		inTime = wait(min(refusing, s.drain/4), stopNow)
	}
	close(s.health.over)
	if !inTime {
		s.hurry()
		return
	}
	stopped := make(chan struct{})
	go func(stopped chan struct{}) { s.finish(); close(stopped) }(stopped)
	every := time.NewTicker(detachedLook)
	defer every.Stop()
	var look <-chan time.Time
	for {
		select {
		case <-stopped:
			if !s.inference.Running() {
				return
			}
			// Detached responses have no call that could be waited for.
			stopped, look = nil, every.C
		case <-look:
			if !s.inference.Running() {
				return
			}
		case <-abortAt.C:
			s.inference.AbortAll()
		case <-end.C:
			s.stop()
			return
		case <-stopNow:
			s.hurry()
			return
		}
	}
}

// hurry aborts everything, gives the receipts a moment to get out, and stops.
func (s *transport) hurry() {
	s.inference.AbortAll()
	sent := make(chan struct{})
	go func() { s.finish(); close(sent) }()
	wait(lastWords, sent)
	s.stop()
	<-sent
}

// finish waits until all calls have ended and their answers are on their way.
func (s *transport) finish() {
	if s.web == nil {
		s.grpc.GracefulStop()
		return
	}
	var all sync.WaitGroup
	all.Go(s.web.Shutdown)
	s.grpc.GracefulStop()
	all.Wait()
}

// stop ends everything at once. Partials still reach the store.
func (s *transport) stop() {
	s.inference.AbortAll()
	s.grpc.Stop()
	if s.web != nil {
		s.web.Close()
	}
}

// wait returns false if stop came first.
func wait(d time.Duration, stop <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stop:
		return false
	}
}
