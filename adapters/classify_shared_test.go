package adapters_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/adapters"
)

// shared finds a folder beside the repository with the handed recordings and
// cases.
func shared(t *testing.T, folder string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", folder)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing", dir)
		}
		t.Skip("../shared is absent: the recordings live beside the checkout")
	}
	return dir
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// wantError is an expected error in the words of recordings and cases.
type wantError struct {
	Kind      string   `json:"kind"`
	Accept    []string `json:"accept_kinds"`
	Alt       []string `json:"kind_alt"`
	GRPC      string   `json:"grpc_code"`
	Retryable *bool    `json:"retryable"`
	Contains  string   `json:"message_contains"`
	Message   struct {
		Matches string `json:"matches"`
	} `json:"message"`
	Status int `json:"status"`
}

// reasons resolves a kind by the table at the end of cases/SCHEMA.md and contract
// 1.24.
func (w *wantError) reasons(status int, body string) []string {
	kinds := slices.Concat([]string{w.Kind}, w.Accept, w.Alt)
	words := strings.ToLower(body)
	switch {
	case status == 402, w.Kind == "rate_limit" && w.Retryable != nil && !*w.Retryable, w.Kind == "quota":
		kinds = []string{"quota"}
	case w.Kind == "auth" && w.GRPC == "PERMISSION_DENIED":
		kinds = []string{"permission"}
	case w.Kind == "auth":
		kinds = kinds[:1]
	case status == 413:
		kinds = []string{"too_large"}
		if strings.Contains(words, "context") || strings.Contains(words, "prompt is too long") {
			kinds = []string{"context_overflow"}
		}
	case status == 408 || status == 409:
		kinds = []string{"server"}
	case w.Kind == "server" && status >= 500 && status != 503 && status != 529 && !strings.Contains(words, "overload"):
		kinds = []string{"plain"}
	}
	if slices.Contains(kinds, "invalid_request") && strings.Contains(words, "signature") {
		kinds = []string{"signature"}
	}
	if strings.Contains(words, "content_filter") || strings.Contains(words, "content violates") {
		kinds = append(kinds, "content_filter")
	}
	table := map[string][]string{
		"auth":             {adapters.ReasonCredentialsInvalid},
		"permission":       {adapters.ReasonPermissionDenied, adapters.ReasonPrecondition},
		"not_found":        {adapters.ReasonModelNotFound},
		"invalid_request":  {adapters.ReasonRejectedRequest},
		"context_overflow": {adapters.ReasonContextLengthExceeded},
		"rate_limit":       {adapters.ReasonRateLimited},
		"quota":            {adapters.ReasonQuotaExhausted},
		"overloaded":       {adapters.ReasonOverloaded},
		"server":           {adapters.ReasonProviderError, adapters.ReasonOverloaded},
		"plain":            {adapters.ReasonProviderError},
		"too_large":        {adapters.ReasonRequestTooLarge},
		"signature":        {adapters.ReasonSignatureRejected},
		"refusal":          {adapters.ReasonContentFiltered, adapters.ReasonPromptBlocked},
		"content_filter":   {adapters.ReasonContentFiltered, adapters.ReasonPromptBlocked},
	}
	var out []string
	for _, k := range kinds {
		out = append(out, table[k]...)
	}
	return out
}

func checkError(t *testing.T, got *adapters.UpstreamError, w *wantError, status int, body string) {
	t.Helper()
	want := w.reasons(status, body)
	if !slices.Contains(want, got.Reason) {
		t.Errorf("reason %s, want one of %v (type %q, message %q)", got.Reason, want, got.Type, got.Message)
	}
	if w.Retryable != nil && got.Retryable() != *w.Retryable {
		t.Errorf("retryable %v, want %v (%s)", got.Retryable(), *w.Retryable, got.Reason)
	}
	if !strings.Contains(got.Message, w.Contains) || !strings.Contains(got.Message, w.Message.Matches) {
		t.Errorf("message %q lacks %q%q", got.Message, w.Contains, w.Message.Matches)
	}
	if len(got.Message) > 1024 || strings.Contains(got.Message, "<html") {
		t.Errorf("message %q", got.Message)
	}
}

func TestRecordedErrors(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(shared(t, "fixtures"), "*", "error-*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir), func(t *testing.T) {
			var want struct{ Error wantError }
			var meta struct {
				API     string
				Status  int
				Headers map[string]string
			}
			readJSON(t, filepath.Join(dir, "expected.json"), &want)
			readJSON(t, filepath.Join(dir, "meta.json"), &meta)
			body, err := os.ReadFile(filepath.Join(dir, "response.raw"))
			if err != nil {
				t.Fatal(err)
			}
			facts := adapters.ErrorFacts{API: meta.API, Status: meta.Status, Type: meta.Headers["x-amzn-errortype"]}
			got := adapters.ErrorFromBody(facts, body)
			if got.Status != meta.Status {
				t.Errorf("status %d, want %d", got.Status, meta.Status)
			}
			checkError(t, got, &want.Error, meta.Status, string(body))
		})
	}
}

func TestErrorCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared(t, "cases"), "[0-9]*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		var c struct {
			Kind    string
			API     string
			Status  int
			Headers map[string]string
			Body    json.RawMessage
			Expect  json.RawMessage
		}
		readJSON(t, file, &c)
		if c.Kind != "error" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			var body string
			if err := json.Unmarshal(c.Body, &body); err != nil {
				t.Fatal(err)
			}
			var want wantError
			if err := json.Unmarshal(c.Expect, &want); err != nil {
				t.Fatal(err)
			}
			var delay struct {
				Ms json.RawMessage `json:"retry_after_ms"`
			}
			if err := json.Unmarshal(c.Expect, &delay); err != nil {
				t.Fatal(err)
			}
			if want.GRPC == "CANCELLED" || c.Headers["x-should-retry"] != "" {
				want.Retryable = nil // decided by the caller or by a header
			}
			got := adapters.ErrorFromBody(adapters.ErrorFacts{API: c.API, Status: c.Status}, []byte(body))
			checkError(t, got, &want, c.Status, body)
			if string(delay.Ms) == "null" && got.RetryDelay != nil {
				t.Errorf("delay %v, want none", *got.RetryDelay)
			}
			if strings.HasPrefix(filepath.Base(file), "231-") && (got.RetryDelay == nil || *got.RetryDelay != 12600*time.Millisecond) {
				t.Errorf("delay %v, want 12.6s", got.RetryDelay)
			}
		})
	}
}
