package fauxserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// What the two small servers of real dialects have in common.

// content is a string or a list of parts, as both dialects allow.
type content []part

// part is a part of a message in either dialect.
type part struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	ToolUseID string          `json:"tool_use_id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Content   content         `json:"content"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *content) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		*c = nil
		if string(text) != "null" {
			*c = content{{Type: "text", Text: s}}
		}
		return nil
	}
	return json.Unmarshal(text, (*[]part)(c))
}

func (c content) text() string {
	var b strings.Builder
	for _, p := range c {
		b.WriteString(p.Text)
	}
	return b.String()
}

// seen is what a server was given, for its answer to tell.
type seen struct {
	model, dialect string
	messages       int
	results        []string
	images         int
	chars          int
}

// sentence is the answer.
func (s *seen) sentence() string {
	var b strings.Builder
	fmt.Fprintf(&b, "This is %s, speaking %s. I was given %s", s.model, s.dialect, count(s.messages, "message"))
	if s.images > 0 {
		fmt.Fprintf(&b, ", %s", count(s.images, "image"))
	}
	if len(s.results) == 0 {
		b.WriteString(" and no tool results.")
		return b.String()
	}
	fmt.Fprintf(&b, " and %s; the last one says: %s", count(len(s.results), "tool result"),
		excerpt(s.results[len(s.results)-1], quoted))
	return b.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// readBody reads a JSON body into v.
func readBody(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}

// sender writes server-sent events.
type sender struct{ w http.ResponseWriter }

func newSender(w http.ResponseWriter) sender {
	w.Header().Set("Content-Type", "text/event-stream")
	return sender{w}
}

// send writes one event. A caller that has left is noticed by its context.
func (s sender) send(name string, data []byte) {
	var b strings.Builder
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString("\n\n")
	_, _ = io.WriteString(s.w, b.String())
	_ = http.NewResponseController(s.w).Flush()
}

// object writes one JSON object.
func object(fill func(*jsonwire.Writer)) []byte {
	var j jsonwire.Writer
	j.BeginObject()
	fill(&j)
	j.EndObject()
	return j.Bytes()
}

// refuse answers with an error in a shape that both dialects know.
func refuse(w http.ResponseWriter, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(object(func(j *jsonwire.Writer) {
		j.Member("type", "error")
		j.Key("error")
		j.BeginObject()
		j.Member("type", "invalid_request_error")
		j.Member("message", fmt.Sprintf(format, args...))
		j.EndObject()
	}))
}
