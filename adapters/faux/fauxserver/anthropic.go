package fauxserver

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// AnthropicHandler is a small, strict server of the wire API "anthropic-messages":
// POST /v1/messages, streaming only. It answers with a sentence about what it was
// given and refuses what the real one documents as an error: results that do not
// follow their calls, a history that does not begin with the user, thinking that
// it did not sign (it signs none).
// https://docs.anthropic.com/en/api/messages-streaming
func AnthropicHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", serveAnthropic)
	return mux
}

type anthropicRequest struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	Stream    bool               `json:"stream"`
	System    content            `json:"system"`
	Messages  []anthropicMessage `json:"messages"`
}

type anthropicMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

func serveAnthropic(w http.ResponseWriter, r *http.Request) {
	var req anthropicRequest
	if err := readBody(w, r, &req); err != nil {
		refuse(w, "the body cannot be read: %v", err)
		return
	}
	if r.Header.Get("Anthropic-Version") == "" {
		refuse(w, "anthropic-version: header is required")
		return
	}
	s, err := req.check()
	if err != nil {
		refuse(w, "%v", err)
		return
	}
	answerAnthropic(newSender(w), &req, s)
}

func (r *anthropicRequest) check() (*seen, error) {
	s := &seen{model: r.Model, dialect: "anthropic-messages", messages: len(r.Messages), chars: len(r.System.text())}
	switch n := len(r.Messages); {
	case r.Model == "":
		return nil, errors.New("model: field required")
	case r.MaxTokens <= 0:
		return nil, errors.New("max_tokens: must be at least 1")
	case !r.Stream:
		return nil, errors.New("stream: this server only streams")
	case n == 0:
		return nil, errors.New("messages: at least one message is required")
	case r.Messages[0].Role != "user":
		return nil, errors.New("messages: first message must use the \"user\" role")
	case r.Messages[n-1].Role != "user":
		return nil, errors.New("messages: this model does not support prefill")
	}
	var open []string // calls that the next message must answer
	for i, m := range r.Messages {
		var err error
		switch m.Role {
		case "user":
			err = s.anthropicUser(m.Content, open)
			open = nil
		case "assistant":
			if len(open) > 0 {
				return nil, fmt.Errorf("messages.%d: `tool_use` %s has no `tool_result` after it", i, open[0])
			}
			open, err = s.anthropicAssistant(m.Content)
		default:
			err = fmt.Errorf("unexpected role %q", m.Role)
		}
		if err != nil {
			return nil, fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	return s, nil
}

// anthropicUser checks a user turn; open are the calls of the turn before.
func (s *seen) anthropicUser(parts content, open []string) error {
	if len(parts) == 0 {
		return errors.New("content must be non-empty")
	}
	open = slices.Clone(open)
	for i, p := range parts {
		switch p.Type {
		case "text":
			if p.Text == "" {
				return fmt.Errorf("content.%d: text content blocks must be non-empty", i)
			}
			s.chars += len(p.Text)
		case "image":
			s.images++
		case "tool_result":
			k := slices.Index(open, p.ToolUseID)
			if k < 0 {
				return fmt.Errorf("content.%d: unexpected `tool_use_id` %s: each `tool_result` must have a `tool_use` in the previous message", i, p.ToolUseID)
			}
			open = slices.Delete(open, k, k+1)
			s.results = append(s.results, p.Content.text())
			s.chars += len(p.Content.text())
		default:
			return fmt.Errorf("content.%d: unexpected type %q", i, p.Type)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("`tool_use` %s has no `tool_result` after it", open[0])
	}
	return nil
}

func (s *seen) anthropicAssistant(parts content) (open []string, err error) {
	if len(parts) == 0 {
		return nil, errors.New("content must be non-empty")
	}
	for i, p := range parts {
		switch p.Type {
		case "text":
			if p.Text == "" {
				return nil, fmt.Errorf("content.%d: text content blocks must be non-empty", i)
			}
			s.chars += len(p.Text)
		case "tool_use":
			if !isID(p.ID) || slices.Contains(open, p.ID) {
				return nil, fmt.Errorf("content.%d: `id` must be unique and match ^[a-zA-Z0-9_-]{1,64}$", i)
			}
			if !isObject(p.Input) {
				return nil, fmt.Errorf("content.%d: `input` must be an object", i)
			}
			open = append(open, p.ID)
		case "thinking", "redacted_thinking":
			return nil, fmt.Errorf("content.%d: Invalid `signature` in `%s` block", i, p.Type)
		default:
			return nil, fmt.Errorf("content.%d: unexpected type %q", i, p.Type)
		}
	}
	return open, nil
}

func answerAnthropic(out sender, req *anthropicRequest, s *seen) {
	text := s.sentence()
	out.send("message_start", object(func(j *jsonwire.Writer) {
		j.Member("type", "message_start")
		j.Key("message")
		j.BeginObject()
		j.Member("id", "msg_"+name([]byte(text), "anthropic"))
		j.Member("type", "message")
		j.Member("role", "assistant")
		j.Member("model", req.Model)
		j.Key("content")
		j.Raw("[]")
		j.Key("usage")
		j.Raw(fmt.Sprintf(`{"input_tokens":%d,"output_tokens":1}`, tokens(s.chars)))
		j.EndObject()
	}))
	out.send("content_block_start", []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`))
	for chunk := range chunks(text, 0) {
		out.send("content_block_delta", object(func(j *jsonwire.Writer) {
			j.Member("type", "content_block_delta")
			j.Key("index")
			j.Int(0)
			j.Key("delta")
			j.BeginObject()
			j.Member("type", "text_delta")
			j.Member("text", chunk)
			j.EndObject()
		}))
	}
	out.send("content_block_stop", []byte(`{"type":"content_block_stop","index":0}`))
	out.send("message_delta", fmt.Appendf(nil,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":%d}}`, tokens(len(text))))
	out.send("message_stop", []byte(`{"type":"message_stop"}`))
}
