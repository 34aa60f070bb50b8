package openaichat

import (
	"cmp"
	"math"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// usage is the token count in the spellings of the hosts.
type usage struct {
	Prompt     *jsonwire.Number `json:"prompt_tokens"`
	Completion *jsonwire.Number `json:"completion_tokens"`
	Total      jsonwire.Number  `json:"total_tokens"`
	// Input and Output are the names of OpenAI's other API, and Anthropic's.
	Input  *jsonwire.Number `json:"input_tokens"`
	Output *jsonwire.Number `json:"output_tokens"`

	PromptDetails struct {
		Cached        jsonwire.Number `json:"cached_tokens"`
		CacheWrite    jsonwire.Number `json:"cache_write_tokens"`          // OpenRouter
		CacheCreation jsonwire.Number `json:"cache_creation_tokens"`       // LiteLLM
		CacheInput    jsonwire.Number `json:"cache_creation_input_tokens"` // Alibaba
		// ByTTL and Details divide what was written by how long it is kept (Alibaba, LiteLLM).
		ByTTL   byTTL `json:"cache_creation"`
		Details byTTL `json:"cache_creation_token_details"`
	} `json:"prompt_tokens_details"`
	CacheHit      jsonwire.Number `json:"prompt_cache_hit_tokens"`     // DeepSeek
	Cached        jsonwire.Number `json:"cached_tokens"`               // Moonshot
	CacheRead     jsonwire.Number `json:"cache_read_input_tokens"`     // LiteLLM
	CacheCreation jsonwire.Number `json:"cache_creation_input_tokens"` // LiteLLM, Vercel

	CompletionDetails struct {
		Reasoning *jsonwire.Number `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Reasoning *jsonwire.Number `json:"reasoning_tokens"` // Perplexity

	adapters.Billed
}

type byTTL struct {
	OneHour jsonwire.Number `json:"ephemeral_1h_input_tokens"`
}

// message is the usage in disjoint buckets; nil if the host named no numbers.
// prompt_tokens include what was read from and written to a cache.
func (u *usage) message(model string) *llmdv1.Usage {
	if u == nil {
		return nil
	}
	in, out := cmp.Or(u.Prompt, u.Input), cmp.Or(u.Completion, u.Output)
	if in == nil && out == nil {
		return nil
	}
	var prompt, output jsonwire.Number
	if in != nil {
		prompt = *in
	}
	if out != nil {
		output = *out
	}
	read := firstOf(u.PromptDetails.Cached, u.CacheHit, u.Cached, u.CacheRead)
	written := firstOf(u.PromptDetails.CacheWrite, u.PromptDetails.CacheCreation, u.PromptDetails.CacheInput, u.CacheCreation)
	reasoning := u.CompletionDetails.Reasoning
	if reasoning == nil || *reasoning == 0 && u.Reasoning != nil {
		reasoning = u.Reasoning
	}
	// xAI counts reasoning beside completion_tokens, and so does Google, which says it by
	// the total alone: https://discuss.ai.google.dev/t/127400
	beside := u.Total - prompt - output
	if beside > 0 && reasoning == nil && strings.Contains(model, "gemini") {
		reasoning = &beside
	}
	if beside > 0 && reasoning != nil && *reasoning == beside {
		output += beside
	}
	m := &llmdv1.Usage{
		InputTokens:      clamp(prompt - read - written),
		CacheReadTokens:  clamp(read),
		CacheWriteTokens: clamp(written),
		OutputTokens:     clamp(output),
		Cost:             u.Billed.Message(),

		CacheWrite_1HTokens: clamp(min(firstOf(u.PromptDetails.ByTTL.OneHour, u.PromptDetails.Details.OneHour), written)),
	}
	if reasoning != nil {
		n := clamp(*reasoning)
		m.ReasoningTokens = &n
	}
	m.TotalTokens = clamp(jsonwire.Number(m.InputTokens) + jsonwire.Number(m.CacheReadTokens) + jsonwire.Number(m.CacheWriteTokens) + jsonwire.Number(m.OutputTokens))
	return m
}

// firstOf is the first count that is not zero: hosts send the fields of others,
// too, as zero.
func firstOf(counts ...jsonwire.Number) jsonwire.Number {
	for _, n := range counts {
		if n > 0 {
			return n
		}
	}
	return 0
}

// clamp keeps a count within the contract's type: hosts report more cached tokens
// than prompt tokens, which would make the rest negative.
func clamp(n jsonwire.Number) int32 { return int32(max(0, min(n, math.MaxInt32))) }
