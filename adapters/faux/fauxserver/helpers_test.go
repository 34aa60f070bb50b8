package fauxserver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post asks a handler and returns status and body.
func post(t testing.TB, h http.Handler, path, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Anthropic-Version", "2023-06-01")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// open sends a request through the transport.
func open(ctx context.Context, t testing.TB, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://faux.invalid/v1/generate", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// says is the request of a user who says one thing.
func says(model, text string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":[{"type":"text","text":` + quote(text) + `}]}]}`
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// events are the data of the events of a body.
func events(body string) []string {
	var l []string
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			l = append(l, strings.TrimSpace(data))
		}
	}
	return l
}

func readAll(t testing.TB, resp *http.Response) string {
	t.Helper()
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
