package bedrock

import (
	"encoding/json"
	"slices"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/turns"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// input is a call's input, which must be an object. Models now and then write a
// member without a name, which the API does not take back; such members go.
// https://github.com/earendil-works/pi/pull/7882
// https://github.com/anomalyco/opencode/pull/46296.
func (r *request) input(i, j int, call *llmdv1.ToolCall) []byte {
	text := call.GetArgumentsJson()
	if turns.Blank(text) {
		return []byte("{}")
	}
	s := stripper{}
	s.value([]byte(text))
	if !s.stripped {
		return []byte(text)
	}
	r.changes = append(r.changes, r.call.ChangeBlock(i, j, adapters.Downgraded, adapters.RuleUnnamedMember,
		"members without a name are left out of the arguments: the API refuses them"))
	return s.w.Bytes()
}

// stripper copies a JSON value without the members that have no name.
type stripper struct {
	w        jsonwire.Writer
	stripped bool
}

// value copies what has no such member byte for byte.
func (s *stripper) value(value json.RawMessage) {
	if !mayHoldUnnamed(value) {
		s.w.RawBytes(value)
		return
	}
	if members, err := jsonwire.Members(value); err == nil {
		s.w.BeginObject()
		for _, m := range members {
			if m.Key == "" {
				s.stripped = true
				continue
			}
			s.w.Key(m.Key)
			s.value(m.Value)
		}
		s.w.EndObject()
		return
	}
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		s.w.RawBytes(value) // a scalar
		return
	}
	s.w.BeginArray()
	for _, item := range items {
		s.value(item)
	}
	s.w.EndArray()
}

// mayHoldUnnamed looks for "" before a colon. It overlooks nothing, but is wrong
// about a name that ends in a quote.
func mayHoldUnnamed(text []byte) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '"' || text[i+1] != '"' {
			continue
		}
		next := slices.IndexFunc(text[i+2:], func(c byte) bool { return c != ' ' && c != '\t' && c != '\r' && c != '\n' })
		if next >= 0 && text[i+2+next] == ':' {
			return true
		}
	}
	return false
}
