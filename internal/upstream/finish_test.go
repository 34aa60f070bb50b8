package upstream_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/internal/upstream"
)

// A provider ends its answers behind their terminal marker. It is let do so, though the
// call is over by then, and the connection serves the next call.
func TestFinish(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			finished := make(chan struct{})
			broken := make(chan bool, 3)
			var mu sync.Mutex
			connections := map[string]bool{}
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				connections[r.RemoteAddr] = true
				mu.Unlock()
				_, _ = io.WriteString(w, "data: [DONE]\n\n")
				_ = http.NewResponseController(w).Flush()
				<-finished
				time.Sleep(5 * time.Millisecond) // a reset has its time to arrive
				broken <- r.Context().Err() != nil
			}))
			s.EnableHTTP2 = true
			var conf *tls.Config
			if secure {
				s.StartTLS()
				conf = &tls.Config{RootCAs: x509.NewCertPool()}
				conf.RootCAs.AddCert(s.Certificate())
			} else {
				s.Start()
			}
			t.Cleanup(s.Close)
			c := newClient(t, upstream.Options{TLS: conf, Linger: time.Minute})
			for range 3 {
				ctx, cancel := context.WithCancel(t.Context())
				r, err := c.Do(ctx, &upstream.Target{BaseURL: s.URL}, request("{}"))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(r.Body, make([]byte, 14)); err != nil {
					t.Fatal(err)
				}
				r.Finish()
				cancel() // the call is over
				finished <- struct{}{}
				if <-broken {
					t.Error("the exchange was broken off")
				}
				time.Sleep(20 * time.Millisecond) // until the end is read
			}
			if len(connections) != 1 {
				t.Errorf("%d connections for three whole answers", len(connections))
			}
		})
	}
}

// One that does not end, says more than anybody needs to, or was broken off before, is closed.
func TestFinishIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		linger  time.Duration
		endless bool
		before  bool
	}{
		"silent":     {linger: time.Millisecond},
		"endless":    {linger: time.Minute, endless: true},
		"broken off": {linger: time.Minute, before: true},
	} {
		t.Run(name, func(t *testing.T) {
			gone := make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				defer close(gone)
				_, _ = io.WriteString(w, "data: [DONE]\n\n")
				_ = http.NewResponseController(w).Flush()
				for c.endless && r.Context().Err() == nil {
					_, _ = w.Write(make([]byte, 4096))
				}
				<-r.Context().Done()
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := newClient(t, upstream.Options{Linger: c.linger}).Do(ctx, &upstream.Target{BaseURL: s.URL}, request("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(r.Body, make([]byte, 14)); err != nil {
				t.Fatal(err)
			}
			if c.before {
				cancel()
			}
			r.Finish()
			select {
			case <-gone:
			case <-time.After(10 * time.Second):
				t.Fatal("the connection stays open")
			}
		})
	}
}
