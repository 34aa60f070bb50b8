package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"slices"
	"strings"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/llmd-dev/llmd/internal/config"
)

// Bounds of the admin pages. Profiles run for as long as they are asked to.
const (
	adminHeaderTimeout = 10 * time.Second
	adminIdleTimeout   = 2 * time.Minute
	adminBodyBytes     = 4 << 10
)

// admin serves the pages for operators. It knows neither TLS nor callers: where it
// listens is what guards it.
type admin struct {
	app *App
	cfg config.Admin
	// channelz is nil where it is not offered.
	channelz *channelz
}

func newAdmin(a *App) *admin {
	s := &admin{app: a, cfg: a.File.Server.Admin}
	if s.cfg.Channelz {
		s.channelz = newChannelz()
	}
	return s
}

// handler is all pages behind what keeps web pages in a browser out.
func (s *admin) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /config", s.config)
	mux.HandleFunc("GET /loglevel", s.logLevel)
	mux.HandleFunc("PUT /loglevel", s.setLogLevel)
	if h := s.app.telemetry.Handler(); h != nil {
		mux.Handle("GET /metrics", h)
	}
	if s.cfg.Pprof {
		// Not by the package's own mux, and not its page of the command line.
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/cmdline", http.NotFound)
	}
	var all http.Handler = mux
	if s.channelz != nil {
		mux.HandleFunc("GET /channelz", s.channelz.summary)
		all = s.channelz.over(mux)
	}
	return s.named(http.NewCrossOriginProtection().Handler(all))
}

// named answers requests whose Host is an address, localhost or a name that is
// configured: any other name may be one that a web page has led here, to read the
// answers in somebody's browser (DNS rebinding).
func (s *admin) named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Listen.Network != "unix" && !s.knows(r.Host) {
			plain(w, http.StatusMisdirectedRequest, "this name is not in server.admin.allowed_hosts")
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

func (s *admin) knows(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return slices.ContainsFunc(s.cfg.AllowedHosts, func(known string) bool { return strings.EqualFold(known, host) })
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n") // a client that is gone misses nothing
}

func (s *admin) index(w http.ResponseWriter, _ *http.Request) {
	pages := []string{"/healthz", "/readyz", "/metrics", "/loglevel", "/config"}
	if s.cfg.Pprof {
		pages = append(pages, "/debug/pprof/")
	}
	if s.channelz != nil {
		pages = append(pages, "/channelz")
	}
	plain(w, http.StatusOK, strings.Join(pages, "\n"))
}

// ready says whether new calls are answered.
func (s *admin) ready(w http.ResponseWriter, r *http.Request) {
	answer, err := s.app.transport.health.Check(r.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		plain(w, http.StatusServiceUnavailable, "draining")
		return
	}
	plain(w, http.StatusOK, "ok")
}

func (s *admin) logLevel(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, strings.ToLower(s.app.level.Level().String()))
}

// setLogLevel holds until the next reload or change.
func (s *admin) setLogLevel(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, adminBodyBytes))
	word := strings.ToLower(strings.TrimSpace(string(text)))
	if err != nil || !slices.Contains([]string{"debug", "info", "warn", "error"}, word) {
		plain(w, http.StatusBadRequest, "the body must be one of: debug, info, warn, error")
		return
	}
	if err := s.app.setLevel(word); err != nil {
		plain(w, http.StatusBadRequest, "not a log level")
		return
	}
	s.app.log.Warn("the log level is changed until the next reload", "level", word)
	s.logLevel(w, r)
}

// config shows the configuration in force, without secrets.
func (s *admin) config(w http.ResponseWriter, _ *http.Request) {
	text, err := s.app.show()
	if err != nil {
		plain(w, http.StatusInternalServerError, "the configuration cannot be shown")
		s.app.log.Error("the configuration cannot be shown", "problem", err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	_, _ = w.Write(text)
}

// serve answers until stop is called, which gives requests that run a moment.
func (s *admin) serve(l net.Listener, log *slog.Logger) (stop func()) {
	log.Info("admin pages", "address", l.Addr().Network()+"://"+l.Addr().String())
	if open(l.Addr()) {
		log.Warn("other machines can reach the admin pages, as server.admin.allow_insecure says", "address", l.Addr().String())
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(s.channelz != nil)
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: adminHeaderTimeout, ReadTimeout: adminHeaderTimeout, IdleTimeout: adminIdleTimeout,
		MaxHeaderBytes: maxHeaderListBytes, Protocols: protocols,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("the admin pages are not served any more", "problem", err.Error())
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-ended
	}
}
