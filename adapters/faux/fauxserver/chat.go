package fauxserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// maxChatID is the longest id of a tool call that OpenAI takes, in bytes.
const maxChatID = 40

// ChatHandler is a small, strict server of the wire API "openai-completions":
// POST /v1/chat/completions, streaming only. It answers with a sentence about what
// it was given and refuses tool messages that do not follow their calls, calls
// without results and ids over 40 bytes.
// https://platform.openai.com/docs/api-reference/chat-streaming
func ChatHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", serveChat)
	return mux
}

type chatRequest struct {
	Model         string        `json:"model"`
	Stream        bool          `json:"stream"`
	Messages      []chatMessage `json:"messages"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    content    `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func serveChat(w http.ResponseWriter, r *http.Request) {
	var req chatRequest
	if err := readBody(w, r, &req); err != nil {
		refuse(w, "the body cannot be read: %v", err)
		return
	}
	s, err := req.check()
	if err != nil {
		refuse(w, "%v", err)
		return
	}
	answerChat(newSender(w), &req, s)
}

func (r *chatRequest) check() (*seen, error) {
	s := &seen{model: r.Model, dialect: "openai-completions"}
	switch {
	case r.Model == "":
		return nil, errors.New("you must provide a model parameter")
	case !r.Stream:
		return nil, errors.New("this server only streams")
	case len(r.Messages) == 0:
		return nil, errors.New("[] is too short - 'messages'")
	}
	var open []string // calls without a result so far
	for i, m := range r.Messages {
		if m.Role != "tool" && len(open) > 0 {
			return nil, fmt.Errorf("messages[%d]: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': %s is missing", i, open[0])
		}
		var err error
		if open, err = s.chatMessage(&m, open); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("'tool_call_id' %s has no tool message", open[0])
	}
	return s, nil
}

// chatMessage checks one message and returns the calls that are then open.
func (s *seen) chatMessage(m *chatMessage, open []string) ([]string, error) {
	s.chars += len(m.Content.text())
	if m.Role != "system" && m.Role != "developer" {
		s.messages++
	}
	for _, p := range m.Content {
		switch {
		case p.Type == "text":
		case p.Type == "image_url" && m.Role == "user":
			s.images++
		default:
			return nil, fmt.Errorf("a %s message cannot hold content of type %q", m.Role, p.Type)
		}
	}
	switch m.Role {
	case "system", "developer":
	case "user":
		if len(m.Content) == 0 {
			return nil, errors.New("the content of a user message must not be empty")
		}
	case "assistant":
		if len(m.Content) == 0 && len(m.ToolCalls) == 0 {
			return nil, errors.New("an assistant message needs content or 'tool_calls'")
		}
		return chatCalls(m.ToolCalls)
	case "tool":
		k := slices.Index(open, m.ToolCallID)
		if k < 0 {
			return nil, errors.New("messages with role 'tool' must be a response to a preceding message with 'tool_calls'")
		}
		s.results = append(s.results, m.Content.text())
		return slices.Delete(open, k, k+1), nil
	default:
		return nil, fmt.Errorf("unknown role %q", m.Role)
	}
	return open, nil
}

func chatCalls(calls []chatCall) (ids []string, err error) {
	for _, c := range calls {
		switch {
		case c.ID == "" || len(c.ID) > maxChatID:
			return nil, fmt.Errorf("a tool call's id must have 1 to %d bytes", maxChatID)
		case slices.Contains(ids, c.ID):
			return nil, fmt.Errorf("the id %q is taken", c.ID)
		case c.Type != "function" || c.Function.Name == "":
			return nil, errors.New("a tool call must be a function with a name")
		case !json.Valid([]byte(c.Function.Arguments)):
			return nil, fmt.Errorf("the arguments of %q are not JSON", c.ID)
		}
		ids = append(ids, c.ID)
	}
	return ids, nil
}

func answerChat(out sender, req *chatRequest, s *seen) {
	text := s.sentence()
	// chunk begins every chunk alike and leaves the rest to its caller.
	chunk := func(rest func(*jsonwire.Writer)) {
		out.send("", object(func(j *jsonwire.Writer) {
			j.Member("id", "chatcmpl-"+name([]byte(text), "chat"))
			j.Member("object", "chat.completion.chunk")
			j.Key("created")
			j.Int(0)
			j.Member("model", req.Model)
			rest(j)
		}))
	}
	for word := range chunks(text, 0) {
		chunk(func(j *jsonwire.Writer) {
			j.Key("choices")
			j.Raw(`[{"index":0,"delta":{"role":"assistant","content":` + string(jsonwire.AppendString(nil, word)) + `},"finish_reason":null}]`)
		})
	}
	chunk(func(j *jsonwire.Writer) {
		j.Key("choices")
		j.Raw(`[{"index":0,"delta":{},"finish_reason":"stop"}]`)
	})
	if req.StreamOptions.IncludeUsage {
		in, got := tokens(s.chars), tokens(len(text))
		chunk(func(j *jsonwire.Writer) {
			j.Key("choices")
			j.Raw("[]")
			j.Key("usage")
			j.Raw(fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, in, got, in+got))
		})
	}
	out.send("", []byte("[DONE]"))
}
