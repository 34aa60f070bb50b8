package upstream_test

import (
	"net/http"
	"runtime"
	"testing"
	"weak"

	"github.com/llmd-dev/llmd/internal/upstream"
)

// TestHeadersGo: while a body is open nobody holds the headers but the caller.
func TestHeadersGo(t *testing.T) {
	over := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Note", "once")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	defer close(over)
	r := mustDo(t, newClient(t, upstream.Options{}), &upstream.Target{BaseURL: s.URL})
	if got := r.Header.Get("X-Note"); got != "once" {
		t.Errorf("the header is %q", got)
	}
	held := weak.Make(&r.Header["X-Note"][0])
	r.Header = nil
	for range 10 {
		runtime.GC()
		if held.Value() == nil {
			return
		}
	}
	t.Error("the headers are still held")
}
