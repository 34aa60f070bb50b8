package faux

import "github.com/llmd-dev/llmd/adapters/jsonwire"

// The formats of this API's signatures.
const (
	FormatThinking = "faux.thinking"
	FormatRedacted = "faux.redacted"
)

// event is the data of one server-sent event. Which fields are used depends on
// Type; package documentation lists them.
type event struct {
	Type      string        `json:"type"`
	Block     int           `json:"block"`
	ID        string        `json:"id"`
	Model     string        `json:"model"`
	Name      string        `json:"name"`
	Text      jsonwire.Text `json:"text"`
	Signature string        `json:"signature"`
	Reason    string        `json:"reason"`
	Message   string        `json:"message"`
	Tier      string        `json:"service_tier"`
	Input     int32         `json:"input"`
	Output    int32         `json:"output"`
	Reasoning *int32        `json:"reasoning"`
	Error     *wireError    `json:"error"`
}

// wireError is an error, in an event or as the body of an answer.
type wireError struct {
	Type         string `json:"type"`
	Message      string `json:"message"`
	RetryAfterMS int64  `json:"retry_after_ms"`
}
