package faults

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Answer is what a provider says, independent of how it is spelled.
type Answer struct {
	// ID is the provider's id of the response.
	ID string
	// Thinking and Text are the deltas of a thinking and a text block; none = no
	// such block.
	Thinking, Text []string
	// Args are the fragments of the arguments of one call of the tool "lookup";
	// none = no call.
	Args []string
	// In and Out are the tokens billed.
	In, Out int
}

// Sample has all kinds of blocks, and characters of one to four bytes.
func Sample() Answer {
	return Answer{
		ID:       "answer-1",
		Thinking: []string{"First I ", "look it up, ", "then I answer."},
		Text:     []string{"Let me ", "look: é, ", "€ and ", "😀 then ", "we see."},
		Args:     []string{`{"query":`, `"fault ma`, `trix é😀","n":12345678901`, `234567890,"deep"`, `:{"a":[1,2]}}`},
		In:       21, Out: 34,
	}
}

// Kinds of what a frame adds.
const (
	Thinking = "thinking"
	Text     = "text"
	ToolCall = "tool_call"
)

// Frame is one unit of a wire.
type Frame struct {
	Data []byte
	// Kind and Adds are what it adds to the answer, if anything.
	Kind, Adds string
	// Marker: it is, or completes, the terminal marker.
	Marker bool
}

// Wire is how one API spells answers and failures.
type Wire struct {
	// API is the wire API; Base is what a base URL of it ends with.
	API, Base string
	// ContentType is the answer's.
	ContentType string
	// Frames spells an answer.
	Frames func(Answer) []Frame
	// Overloaded is an error frame; Garbage a whole frame that cannot be read.
	Overloaded, Garbage []byte
	// Comment keeps a connection alive and says nothing; nil = the API has none.
	Comment []byte
	// Ping is a frame that says nothing; nil = the API has none.
	Ping []byte
	// Oversize is the beginning of a frame; any number of bytes 'x' may follow.
	Oversize []byte
	// Fragments: the arguments of a call come in several frames.
	Fragments bool
}

// Wires are the wire APIs that llmd speaks over the network.
func Wires() []*Wire {
	return []*Wire{anthropicWire(), chatWire(), responsesWire(), geminiWire(), vertexWire(), bedrockWire(), mistralWire()}
}

// q is a JSON string.
func q(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

// sse is one server-sent event.
func sse(event, format string, args ...any) []byte {
	var b strings.Builder
	if event != "" {
		b.WriteString("event: " + event + "\n")
	}
	b.WriteString("data: ")
	fmt.Fprintf(&b, format, args...)
	b.WriteString("\n\n")
	return []byte(b.String())
}

// body joins frames.
func body(frames []Frame) []byte {
	var out []byte
	for _, f := range frames {
		out = append(out, f.Data...)
	}
	return out
}

// added is what frames add up to, by kind.
func added(frames []Frame) map[string]string {
	out := map[string]string{}
	for _, f := range frames {
		if f.Kind != "" {
			out[f.Kind] += f.Adds
		}
	}
	return out
}
