package openaichat

import (
	"encoding/json"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// sources are what hosts that search say of it beside the answer: Perplexity in every
// chunk anew, https://docs.perplexity.ai/api-reference/chat-completions-post, and Z.ai,
// https://docs.z.ai/api-reference/llm/chat-completion.
type sources struct {
	Citations     json.RawMessage `json:"citations"`
	SearchResults json.RawMessage `json:"search_results"`
	Images        json.RawMessage `json:"images"`
	Related       json.RawMessage `json:"related_questions"`
	WebSearch     json.RawMessage `json:"web_search"`
}

// update takes over what a chunk says, and returns how many bytes more are kept.
func (s *sources) update(c *sources) (more int) {
	for _, f := range []struct {
		to   *json.RawMessage
		from json.RawMessage
	}{
		{&s.Citations, c.Citations}, {&s.SearchResults, c.SearchResults}, {&s.Images, c.Images}, {&s.Related, c.Related}, {&s.WebSearch, c.WebSearch},
	} {
		if jsonwire.Says(f.from) {
			more += len(f.from) - len(*f.to)
			*f.to = f.from
		}
	}
	return more
}

// json is an object of all that was said; nil = nothing was.
func (s *sources) json() []byte {
	var w jsonwire.Writer
	w.BeginObject()
	said := false
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{
		{"citations", s.Citations}, {"search_results", s.SearchResults}, {"images", s.Images}, {"related_questions", s.Related}, {"web_search", s.WebSearch},
	} {
		if f.raw != nil {
			w.Key(f.name)
			w.RawBytes(f.raw)
			said = true
		}
	}
	w.EndObject()
	if !said {
		return nil
	}
	return w.Bytes()
}
