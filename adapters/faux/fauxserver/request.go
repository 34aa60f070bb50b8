package fauxserver

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// request is the body of a request: see package faux. Fields that change nothing
// are not read.
type request struct {
	Model     string    `json:"model"`
	System    string    `json:"system"`
	Tools     []tool    `json:"tools"`
	Messages  []message `json:"messages"`
	Choice    choice    `json:"tool_choice"`
	Thinking  thinking  `json:"thinking"`
	MaxOutput int       `json:"max_output_tokens"`
	Stops     []string  `json:"stop_sequences"`
	Parallel  *bool     `json:"parallel_tool_calls"`
	Tier      string    `json:"service_tier"`

	OutputSchema json.RawMessage `json:"output_schema"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type choice struct {
	Mode string `json:"mode"`
	Name string `json:"name"`
}

type thinking struct {
	Mode string `json:"mode"`
}

type message struct {
	Role       string  `json:"role"`
	Content    []block `json:"content"`
	ToolCallID string  `json:"tool_call_id"`
	IsError    bool    `json:"is_error"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	MimeType  string          `json:"mime_type"`
	Data      []byte          `json:"data"`
}

// The sizes of what the provider counts.
const (
	charsPerToken = 4
	imageChars    = 4000
)

// tokens is the number of tokens of so many characters.
func tokens(chars int) int { return (chars + charsPerToken - 1) / charsPerToken }

// promptChars is the length of the whole prompt.
func (r *request) promptChars() int {
	n := utf8.RuneCountInString(r.System)
	for _, t := range r.Tools {
		n += utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(t.Parameters)
	}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			n += utf8.RuneCountInString(b.Text) + utf8.RuneCountInString(b.Thinking) +
				utf8.RuneCountInString(b.Name) + utf8.RuneCount(b.Arguments)
			if b.Type == "image" {
				n += imageChars
			}
		}
	}
	return n
}

// userIndex is the place of the last user message; a valid history has one.
func (r *request) userIndex() int {
	for i := len(r.Messages) - 1; i > 0; i-- {
		if r.Messages[i].Role == "user" {
			return i
		}
	}
	return 0
}

// userText is what the user said last.
func (r *request) userText() string { return r.Messages[r.userIndex()].text() }

func (m *message) text() string {
	var parts []string
	for _, b := range m.Content {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func (m *message) images() int {
	n := 0
	for _, b := range m.Content {
		if b.Type == "image" {
			n++
		}
	}
	return n
}

// turn counts the answers given since the user last spoke.
func (r *request) turn() int {
	n := 0
	for _, m := range r.Messages[r.userIndex():] {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// result is a tool result with the name of its tool.
type result struct {
	name, text string
	isError    bool
}

// results are the tool results that came since the user last spoke.
func (r *request) results() []result {
	names := map[string]string{}
	var rs []result
	for _, m := range r.Messages[r.userIndex():] {
		for _, b := range m.Content {
			if b.Type == "tool_call" {
				names[b.ID] = b.Name
			}
		}
		if m.Role == "tool" {
			rs = append(rs, result{name: names[m.ToolCallID], text: m.text(), isError: m.IsError})
		}
	}
	return rs
}
