package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"
	"google.golang.org/grpc"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 15 * time.Minute
	pingAfter     = time.Minute
	pingTimeout   = 20 * time.Second
	// writePatience is more than the gRPC server has with a slow reader, 30 s.
	writePatience = 45 * time.Second
	// maxAnswerBytes is more than the largest answer, 16 MiB, is as JSON.
	maxAnswerBytes = 128 << 20
)

// Options say what the server lets in.
type Options struct {
	// Services are those that are offered. gRPC reaches all.
	Services []*grpc.ServiceDesc
	// Origins and Hosts are those of config.Web.
	Origins, Hosts []string
	// AnyHost: without Hosts, calls that do not come over loopback may name any.
	AnyHost bool
	// CallerKeys: calls may bring provider keys.
	CallerKeys bool
	// Known says by the client's connection and the headers whether a call will be let
	// in; nil = all are. Of others the request is not read.
	Known func(client net.Conn, method string, h http.Header) bool
	// MaxReceiveBytes bounds a request, as it is sent.
	MaxReceiveBytes int
	// MaxConcurrentStreams is for one connection.
	MaxConcurrentStreams uint32
	// MaxConnectionAge is when a connection is told to go away; 0 = never.
	MaxConnectionAge time.Duration
	// Log gets a line for what is refused here. Required.
	Log *slog.Logger
}

// Server is the HTTP server before the gRPC server.
type Server struct {
	http       *http.Server
	links      *links
	guard      *guard
	transcoder http.Handler
	native     http.Handler
	errors     *connect.ErrorWriter
	known      func(client net.Conn, method string, h http.Header) bool
	// streams says of each method's path whether it answers with a stream.
	streams map[string]bool
	log     *slog.Logger

	maxReceive                 int
	maxAge                     time.Duration
	bodyTimeout, writePatience time.Duration
	// ctx ends with Close.
	ctx    context.Context //nolint:containedctx // it is the server's own life
	cancel context.CancelFunc
}

// New makes a server. The gRPC server must serve its [Server.Inner].
func New(o Options) (*Server, error) {
	s := &Server{
		links: newLinks(), errors: connect.NewErrorWriter(), streams: map[string]bool{}, log: o.Log, maxReceive: o.MaxReceiveBytes, maxAge: o.MaxConnectionAge,
		guard: &guard{origins: o.Origins, hosts: o.Hosts, anyHost: o.AnyHost, callerKeys: o.CallerKeys},
		known: o.Known, bodyTimeout: bodyTimeout, writePatience: writePatience,
	}
	transport := s.links.transport()
	s.native = &bridge{transport: transport}
	var services []*vanguard.Service
	for _, d := range o.Services {
		services = append(services, vanguard.NewService(d.ServiceName, &bridge{transport: transport, whole: true}))
		for _, m := range d.Methods {
			s.streams["/"+d.ServiceName+"/"+m.MethodName] = false
		}
		for _, m := range d.Streams {
			s.streams["/"+d.ServiceName+"/"+m.StreamName] = true
		}
	}
	transcoder, err := vanguard.NewTranscoder(services,
		vanguard.WithDefaultServiceOptions(
			vanguard.WithTargetProtocols(vanguard.ProtocolGRPC), vanguard.WithTargetCodecs(vanguard.CodecProto), vanguard.WithNoTargetCompression(),
			vanguard.WithMaxMessageBufferBytes(uint32(max(maxAnswerBytes, o.MaxReceiveBytes))),
		),
		vanguard.WithCodec(s.newJSONCodec), vanguard.WithUnknownHandler(http.HandlerFunc(s.unknown)))
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	s.transcoder = transcoder
	s.ctx, s.cancel = context.WithCancel(context.Background())
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	s.http = &http.Server{
		Handler: s, Protocols: protocols, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderListBytes,
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: int(o.MaxConcurrentStreams), SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		ConnContext: s.links.open, ConnState: s.links.state,
		// Failed handshakes and the like: of interest to nobody but who looks for them.
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	s.http.RegisterOnShutdown(s.links.closeUnused)
	return s, nil
}

// Inner is the listener of the gRPC server.
func (s *Server) Inner() net.Listener { return s.links }

// Serve answers on a listener until Shutdown or Close, and then returns nil. TLS is the
// listener's business.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown takes no new connections and waits for the calls that run, or for Close.
func (s *Server) Shutdown() { _ = s.http.Shutdown(s.ctx) }

// Close drops all connections.
func (s *Server) Close() {
	s.cancel()
	_ = s.http.Close()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, 8<<10)
			s.recovered(ctx, fmt.Sprintf("%T", p), string(stack[:runtime.Stack(stack, false)]))
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to drop a call without a word
		}
	}()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if of, _ := ctx.Value(linkKey{}).(*link); of != nil && s.maxAge > 0 && time.Since(of.born) > s.maxAge {
		w.Header().Set("Connection", "close") // in HTTP/2 a GOAWAY
	}
	readUntil(w, time.Now().Add(s.bodyTimeout)) // also where it is not read: net/http reads on behind a refusal
	if !s.guard.knowsHost(r) {
		s.refuse(w, r, hostRefused())
		return
	}
	origin, ok := s.guard.origin(r)
	s.guard.cors(w.Header(), origin, ok)
	if !ok {
		s.refuse(w, r, originRefused())
		return
	}
	switch {
	case isPreflight(r):
		s.guard.preflight(w, r)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST, OPTIONS")
		http.Error(w, "calls are POST requests", http.StatusMethodNotAllowed)
	case isGRPC(r):
		s.serveGRPC(w, r)
	default:
		s.serveOther(w, r)
	}
}

// serveOther has the transcoder make gRPC of it.
func (s *Server) serveOther(w http.ResponseWriter, r *http.Request) {
	media, ok := contentType(r)
	if !ok {
		http.Error(w, "the content type must be "+mediaTypes, http.StatusUnsupportedMediaType)
		return
	}
	if err := s.prepare(w, r, media); err != nil {
		s.refuse(w, r, err)
		return
	}
	s.transcoder.ServeHTTP(newWriter(w, s.writePatience), r)
}

// serveGRPC hands gRPC on as it is.
func (s *Server) serveGRPC(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 2 {
		http.Error(w, "gRPC needs HTTP/2; over HTTP/1.1 there are gRPC-Web and Connect", http.StatusHTTPVersionNotSupported)
		return
	}
	readUntil(w, time.Time{})
	s.native.ServeHTTP(newWriter(w, s.writePatience), r)
}
