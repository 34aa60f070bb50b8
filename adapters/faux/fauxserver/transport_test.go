package fauxserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The transport gives what a socket would give.
func TestTransportLikeServer(t *testing.T) {
	server := httptest.NewServer(Handler())
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	for _, text := range []string{
		"hello there", `faux: {"error":"rate_limit"}`, `faux: [{"text":"a"},{"error":"truncate"}]`, `faux: {"error":"truncate"}`, "faux: what",
	} {
		over, err := server.Client().Post(server.URL+"/v1/generate", "application/json", strings.NewReader(says("echo", text)))
		if err != nil {
			t.Fatal(err)
		}
		within := open(t.Context(), t, says("echo", text))
		if within.StatusCode != over.StatusCode {
			t.Errorf("%s: status %d, over a socket %d", text, within.StatusCode, over.StatusCode)
		}
		for _, h := range []string{"Content-Type", "X-Request-Id", "Retry-After"} {
			if within.Header.Get(h) != over.Header.Get(h) {
				t.Errorf("%s: %s is %q, over a socket %q", text, h, within.Header.Get(h), over.Header.Get(h))
			}
		}
		if a, b := readAll(t, within), readAll(t, over); a != b {
			t.Errorf("%s: the body is %q, over a socket %q", text, a, b)
		}
	}
}

func TestTransportReset(t *testing.T) {
	for _, script := range []string{`faux: [{"text":"a"},{"error":"reset"}]`, `faux: {"error":"reset"}`} {
		resp := open(t.Context(), t, says("echo", script))
		_, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: the body ends with %v", script, err)
		}
	}
}

// The pauses are the script's, on a clock that the test owns.
func TestPacing(t *testing.T) {
	for _, c := range []struct {
		model string
		want  time.Duration
	}{
		{"echo", 0},
		{"slow", 10 * time.Second},
		{"long", 6 * time.Second}, // 2,000 chunks, 3 ms each
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			body := readAll(t, open(t.Context(), t, says(c.model, "go on")))
			if took := time.Since(start); took != c.want {
				t.Errorf("%s took %v, want %v", c.model, took, c.want)
			}
			if !strings.HasSuffix(body, "{\"type\":\"stop\",\"reason\":\"stop\"}\n\n") {
				t.Errorf("%s has no end", c.model)
			}
			if n := strings.Count(body, `"type":"text"`); c.model == "long" && n != 2000 {
				t.Errorf("%d chunks", n)
			}
		})
	}
}

// A reader that waits wakes up as soon as its context ends, with the reason; the
// provider's side ends, too (goleak).
func TestCancel(t *testing.T) {
	why := errors.New("enough")
	for _, model := range []string{"slow", "long", "error"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			resp := open(ctx, t, says(model, "stall"))
			defer func() { _ = resp.Body.Close() }()
			time.AfterFunc(1500*time.Millisecond, func() { cancel(why) })
			start := time.Now()
			b, err := io.ReadAll(resp.Body)
			if !errors.Is(err, why) || time.Since(start) != 1500*time.Millisecond {
				t.Errorf("%s: %v after %v", model, err, time.Since(start))
			}
			if len(b) == 0 || strings.Contains(string(b), `"stop"`) {
				t.Errorf("%s: read %q", model, b)
			}
		})
	}
}

func TestCancelBeforeHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://faux.invalid/v1/generate",
			strings.NewReader(says("echo", `faux: [{"error":"stall"}]`)))
		if err != nil {
			t.Fatal(err)
		}
		// Comments come at once, so headers do: wait in a handler that says nothing.
		silent := &transport{handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })}
		resp, err := silent.RoundTrip(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// Closing the body in the middle ends the provider's side.
func TestCloseEarly(t *testing.T) {
	resp := open(t.Context(), t, says("echo", `faux: {"text":"x ","repeat":1000000}`))
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
		t.Error("the closed body can be read")
	}
}

// Each event is there as soon as it is written.
func TestEventsComeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resp := open(t.Context(), t, says("echo", `faux: [{"text":"a"},{"delay_ms":60000},{"text":"b"}]`))
		defer func() { _ = resp.Body.Close() }()
		start := time.Now()
		r := bufio.NewReader(resp.Body)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(line, `"text":"a"`) {
				break
			}
		}
		if time.Since(start) != 0 {
			t.Errorf("the first text came after %v", time.Since(start))
		}
	})
}
