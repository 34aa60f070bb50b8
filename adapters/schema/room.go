package schema

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// What Claude compiles for one request: "Too many strict tools", and "Schemas contains too
// many parameters with union types", which those that could be left out become.
// https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs#schema-complexity-limits
const (
	claudeTools  = 20
	claudeUnions = 16
)

// Room is what is left for strict schemas in a request. Nil has no end.
type Room struct{ tools, unions int }

// ClaudeRoom is that of a request to Claude, for an answer by a schema; empty = by none.
func ClaudeRoom(answer string) *Room {
	return &Room{tools: claudeTools, unions: claudeUnions - unions([]byte(answer))}
}

// Take takes the room for the strict schema of a tool; it is an error if there is none.
func (r *Room) Take(text string) error {
	if r == nil {
		return nil
	}
	n := unions([]byte(text))
	switch {
	case r.tools < 1:
		return fmt.Errorf("schema: a request has at most %d strict tools", claudeTools)
	case n > r.unions:
		return fmt.Errorf("schema: the strict schemas of a request have at most %d values of several types, or that may be left out", claudeUnions)
	}
	r.tools--
	r.unions -= n
	return nil
}

// unions is how many values may be of several types.
func unions(text []byte) (n int) {
	members, _ := jsonwire.Members(text) // none if it is no object
	for _, m := range members {
		if m.Key == "anyOf" || m.Key == "type" && m.Value[0] == '[' {
			n++
		}
		within(m.Key, m.Value, func(s []byte) []byte {
			n += unions(s)
			return s
		})
	}
	return n
}
