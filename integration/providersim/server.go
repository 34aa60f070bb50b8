package providersim

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// Server plays all providers. Each API is a folder of its own: a base URL is the
// server's address, a slash and the API's name. The zero value is ready.
type Server struct {
	// Seen is called with every request, before it is answered; it may be nil.
	Seen func(api, model string, body []byte, broken []Violation)

	mu     sync.Mutex
	broken []Violation
}

// Broken lists the first breach of every request that was refused so far.
func (s *Server) Broken() []Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Violation(nil), s.broken...)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	api, rest, _ := strings.Cut(strings.TrimPrefix(q.URL.EscapedPath(), "/"), "/")
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the caller has left
	}
	model := modelOf(rest, body)
	if Rules(api) == nil || q.Method != http.MethodPost {
		http.NotFound(w, q)
		return
	}
	broken := Check(api, model, body)
	if s.Seen != nil {
		s.Seen(api, model, body, broken)
	}
	if len(broken) > 0 {
		s.mu.Lock()
		s.broken = append(s.broken, broken[0])
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if api == Bedrock {
			w.Header().Set("X-Amzn-Errortype", "ValidationException")
		}
		w.WriteHeader(refusalStatus(api, broken[0]))
		_, _ = w.Write(Refusal(api, broken[0]))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if api == Bedrock {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	}
	_, _ = w.Write(Answer(api, model, body))
}

// modelOf finds the model in the path, else in the body.
func modelOf(path string, body []byte) string {
	for _, before := range []string{"models/", "model/"} {
		if _, name, ok := strings.Cut(path, before); ok {
			if name, _, _ = strings.Cut(name, "/"); name != "" {
				if at := strings.LastIndex(name, ":"); at >= 0 {
					name = name[:at]
				}
				name, _ = url.PathUnescape(name) // as it came; a bad escape leaves it empty
				return name
			}
		}
	}
	v, err := parse(body)
	if err != nil {
		return ""
	}
	return v.get("model").str()
}

// refusalStatus is the HTTP status of a refusal.
func refusalStatus(api string, v Violation) int {
	switch {
	case api == Mistral && strings.HasSuffix(v.Rule, ".fields"):
		return http.StatusUnprocessableEntity
	case v.Rule == "responses.reasoning.encrypted":
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// Refusal is the body of the provider's error.
//
//   - https://platform.claude.com/docs/en/api/errors
//   - https://platform.openai.com/docs/guides/error-codes
//   - https://cloud.google.com/apis/design/errors
//   - https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html
func Refusal(api string, v Violation) []byte {
	const kind = "invalid_request_error"
	switch api {
	case Anthropic:
		return obj(func(w *jsonwire.Writer) {
			w.Member("type", "error")
			in(w, "error", func() {
				w.Member("type", kind)
				w.Member("message", joined(v))
			})
		})
	case Gemini, Vertex:
		return obj(func(w *jsonwire.Writer) {
			in(w, "error", func() {
				integer(w, "code", http.StatusBadRequest)
				w.Member("message", v.Message)
				w.Member("status", "INVALID_ARGUMENT")
			})
		})
	case Bedrock:
		return obj(func(w *jsonwire.Writer) { w.Member("message", v.Message) })
	case Mistral:
		return obj(func(w *jsonwire.Writer) {
			w.Member("object", "error")
			w.Member("message", joined(v))
			w.Member("type", kind)
			w.Key("param")
			w.Null()
			w.Member("code", "3230")
		})
	}
	return obj(func(w *jsonwire.Writer) {
		in(w, "error", func() {
			w.Member("message", v.Message)
			w.Member("type", kind)
			w.Member("param", v.Path)
			w.Key("code")
			w.Null()
		})
	})
}

// joined says where the breach is, as Anthropic and Mistral do.
func joined(v Violation) string {
	if v.Path == "" || strings.HasPrefix(v.Message, v.Path) {
		return v.Message
	}
	return v.Path + ": " + v.Message
}
