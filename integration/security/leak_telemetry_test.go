package security

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/llmd-dev/llmd/integration/harness"
)

// exports are the bytes that an OTLP receiver gets. They are uncompressed protobuf:
// texts in them can be found as they are.
type exports struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (e *exports) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.b.String()
}

func (e *exports) Len() int { return len(e.String()) }

// receiver takes spans, metrics and events from whatever starts after it.
func receiver(t *testing.T) *exports {
	t.Helper()
	e := &exports{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if _, err := io.Copy(&e.b, r.Body); err != nil || r.Header.Get("Content-Encoding") != "" {
			t.Errorf("%v, encoding %q", err, r.Header.Get("Content-Encoding"))
		}
	}))
	t.Cleanup(s.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100000") // nothing may be lost here
	t.Setenv("OTEL_BLRP_MAX_QUEUE_SIZE", "100000")
	return e
}

func adminPage(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(limited(t), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v %s", url, err, resp.Status)
	}
	return string(body)
}

// clean finds secrets and words where none may be.
func clean(t *testing.T, what, text string) {
	t.Helper()
	for _, bad := range []string{hostKey, callerKey, aliceToken, bobToken, answers, words, harness.Canary, digest(aliceToken)} {
		if i := strings.Index(text, bad); i >= 0 {
			t.Errorf("%s holds %q: %q", what, bad, text[max(0, i-300):min(len(text), i+100)])
		}
	}
}
