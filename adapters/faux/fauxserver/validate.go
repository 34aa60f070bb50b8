package fauxserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/llmd-dev/llmd/adapters/faux"
	"github.com/llmd-dev/llmd/adapters/profile"
)

// maxIDLen is the longest id of a tool call, in bytes.
const maxIDLen = 64

func invalid(format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, typ: "invalid_request", message: fmt.Sprintf(format, args...)}
}

// validate refuses what a strict provider refuses. It returns nil for a request
// that can be answered.
func (r *request) validate() *failure {
	i := slices.IndexFunc(faux.Models(), func(m *profile.Model) bool { return m.ID == r.Model })
	if i < 0 {
		return &failure{
			status: http.StatusNotFound, typ: "not_found",
			message: fmt.Sprintf("model %q not found", r.Model),
		}
	}
	model := faux.Models()[i]
	if f := r.validateTools(); f != nil {
		return f
	}
	v := validator{model: model, seen: map[string]bool{}}
	for i := range r.Messages {
		if f := v.message(i, &r.Messages[i]); f != nil {
			return f
		}
	}
	if f := v.end(); f != nil {
		return f
	}
	if used := tokens(r.promptChars()); used > int(model.ContextWindow) {
		return tooLong(used, int(model.ContextWindow))
	}
	return nil
}

func tooLong(used, limit int) *failure {
	return &failure{
		status: http.StatusBadRequest, typ: "context_length_exceeded",
		message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", used, limit),
	}
}

func (r *request) validateTools() *failure {
	names := map[string]bool{}
	for i, t := range r.Tools {
		switch {
		case t.Name == "":
			return invalid("tools[%d] has no name", i)
		case names[t.Name]:
			return invalid("tools[%d]: the name %q is taken", i, t.Name)
		case len(t.Parameters) > 0 && !isObject(t.Parameters):
			return invalid("tools[%d]: parameters is not an object", i)
		}
		names[t.Name] = true
	}
	switch {
	case r.Choice.Name != "" && !names[r.Choice.Name]:
		return invalid("tool_choice: there is no tool %q", r.Choice.Name)
	case r.Choice.Mode == "required" && len(r.Tools) == 0:
		return invalid("tool_choice: required, but there are no tools")
	case !slices.Contains([]string{"", "auto", "none", "required"}, r.Choice.Mode):
		return invalid("tool_choice: unknown mode %q", r.Choice.Mode)
	}
	return nil
}

// validator walks a history from its first message to its last.
type validator struct {
	model *profile.Model
	// open are the calls of the last assistant turn that have no result yet.
	open []string
	seen map[string]bool
	last string // the role of the message before
}

func (v *validator) message(i int, m *message) *failure {
	at := fmt.Sprintf("messages[%d]", i)
	if i == 0 && m.Role != "user" {
		return invalid("%s: the first message must be the user's, not %q", at, m.Role)
	}
	if len(v.open) > 0 && m.Role != "tool" {
		return invalid("%s: the tool call %q has no result", at, v.open[0])
	}
	if len(m.Content) == 0 && m.Role != "tool" {
		return invalid("%s: the content is empty", at)
	}
	v.last = m.Role
	switch m.Role {
	case "user":
	case "tool":
		k := slices.Index(v.open, m.ToolCallID)
		if k < 0 {
			return invalid("%s: the result of %q has no call before it", at, m.ToolCallID)
		}
		v.open = slices.Delete(v.open, k, k+1)
	case "assistant":
	default:
		return invalid("%s: unknown role %q", at, m.Role)
	}
	for k := range m.Content {
		if f := v.block(fmt.Sprintf("%s.content[%d]", at, k), m.Role, &m.Content[k]); f != nil {
			return f
		}
	}
	return nil
}

func (v *validator) end() *failure {
	switch {
	case v.last == "":
		return invalid("messages: there are none")
	case len(v.open) > 0:
		return invalid("messages: the tool call %q has no result", v.open[0])
	case v.last == "assistant":
		return invalid("messages: the last one must not be the assistant's")
	}
	return nil
}

func (v *validator) block(at, role string, b *block) *failure {
	if role == "assistant" {
		return v.assistantBlock(at, b)
	}
	switch b.Type {
	case "text":
	case "image":
		switch {
		case !v.model.TakesImages():
			return invalid("%s: model %s takes no images", at, v.model.ID)
		case b.MimeType == "" || len(b.Data) == 0:
			return invalid("%s: an image needs mime_type and data", at)
		}
	default:
		return invalid("%s: a %s message cannot hold %q", at, role, b.Type)
	}
	return nil
}

func (v *validator) assistantBlock(at string, b *block) *failure {
	switch b.Type {
	case "text":
	case "thinking":
		if b.Signature != Sign(v.model.ID, b.Thinking) {
			return badSignature(at, "thinking")
		}
	case "redacted":
		if !isRedacted(v.model.ID, b.Signature) {
			return badSignature(at, "redacted thinking")
		}
	case "tool_call":
		switch {
		case !isID(b.ID):
			return invalid("%s: the id must be 1 to %d of [a-zA-Z0-9_-]", at, maxIDLen)
		case v.seen[b.ID]:
			return invalid("%s: the id %q is taken", at, b.ID)
		case b.Name == "":
			return invalid("%s: the call has no name", at)
		case !isObject(b.Arguments):
			return invalid("%s: arguments is not an object", at)
		}
		v.seen[b.ID] = true
		v.open = append(v.open, b.ID)
	default:
		return invalid("%s: an assistant message cannot hold %q", at, b.Type)
	}
	return nil
}

func badSignature(at, what string) *failure {
	return &failure{
		status: http.StatusBadRequest, typ: "invalid_signature",
		message: at + ": invalid signature in " + what + " block",
	}
}

func isID(id string) bool {
	if len(id) == 0 || len(id) > maxIDLen {
		return false
	}
	for _, c := range []byte(id) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func isObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}
