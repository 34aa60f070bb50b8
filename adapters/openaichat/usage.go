package openaichat

import (
	"cmp"
	"encoding/json"
	"math"
	"math/big"
	"strings"

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
		CacheWrite    jsonwire.Number `json:"cache_write_tokens"`    // OpenRouter
		CacheCreation jsonwire.Number `json:"cache_creation_tokens"` // LiteLLM
	} `json:"prompt_tokens_details"`
	CacheHit      jsonwire.Number `json:"prompt_cache_hit_tokens"`     // DeepSeek
	Cached        jsonwire.Number `json:"cached_tokens"`               // Moonshot
	CacheRead     jsonwire.Number `json:"cache_read_input_tokens"`     // LiteLLM
	CacheCreation jsonwire.Number `json:"cache_creation_input_tokens"` // LiteLLM, Vercel

	CompletionDetails struct {
		Reasoning *jsonwire.Number `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Reasoning *jsonwire.Number `json:"reasoning_tokens"` // Perplexity

	// What was billed. Cost is a number (OpenRouter) or an object (Perplexity).
	Cost        json.RawMessage `json:"cost"`
	IsBYOK      *bool           `json:"is_byok"`
	CostDetails struct {
		Upstream    json.RawMessage `json:"upstream_inference_cost"`
		Prompt      json.RawMessage `json:"upstream_inference_prompt_cost"`
		Completions json.RawMessage `json:"upstream_inference_completions_cost"`
	} `json:"cost_details"`
	Ticks *jsonwire.Number `json:"cost_in_usd_ticks"` // xAI
}

// message is the usage in disjoint buckets; nil if the host named no numbers.
// prompt_tokens include what was read from and written to a cache.
func (u *usage) message() *llmdv1.Usage {
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
	written := firstOf(u.PromptDetails.CacheWrite, u.PromptDetails.CacheCreation, u.CacheCreation)
	reasoning := u.CompletionDetails.Reasoning
	if reasoning == nil || *reasoning == 0 && u.Reasoning != nil {
		reasoning = u.Reasoning
	}
	// xAI counts reasoning beside completion_tokens; its total tells.
	if reasoning != nil && *reasoning > 0 && u.Total == prompt+output+*reasoning {
		output += *reasoning
	}
	m := &llmdv1.Usage{
		InputTokens:      clamp(prompt - read - written),
		CacheReadTokens:  clamp(read),
		CacheWriteTokens: clamp(written),
		OutputTokens:     clamp(output),
		Cost:             u.cost(),
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

// cost is what the host says it billed; nil if it says nothing.
//
// OpenRouter bills "cost", and with the caller's own key the upstream provider
// bills its share besides. A cost without is_byok is of unknown meaning.
// https://openrouter.ai/docs/use-cases/usage-accounting. xAI counts in ticks of
// 1e-10 USD, https://docs.x.ai/developers/cost-tracking. Perplexity adds a fee
// for each search, https://docs.perplexity.ai/getting-started/pricing.
func (u *usage) cost() *llmdv1.Cost {
	const picoPerTick = 100
	if u.Ticks != nil && *u.Ticks >= 0 && *u.Ticks <= math.MaxInt64/picoPerTick {
		return &llmdv1.Cost{TotalPicoUsd: int64(*u.Ticks) * picoPerTick, FromProvider: true}
	}
	if len(u.Cost) > 0 && u.Cost[0] == '{' {
		var parts struct {
			Total json.RawMessage `json:"total_cost"`
		}
		if json.Unmarshal(u.Cost, &parts) != nil {
			return nil
		}
		return billed(parts.Total)
	}
	switch {
	case u.IsBYOK == nil:
		return nil
	case !*u.IsBYOK:
		return billed(u.Cost)
	}
	if _, ok := picoUSD(u.CostDetails.Upstream); ok {
		return billed(u.Cost, u.CostDetails.Upstream)
	}
	return billed(u.Cost, u.CostDetails.Prompt, u.CostDetails.Completions)
}

// billed is the sum of figures in USD; nil if one of them cannot be read.
func billed(figures ...json.RawMessage) *llmdv1.Cost {
	var sum int64
	for _, f := range figures {
		n, ok := picoUSD(f)
		if !ok || sum > math.MaxInt64-n {
			return nil
		}
		sum += n
	}
	return &llmdv1.Cost{TotalPicoUsd: sum, FromProvider: true}
}

// picoUSD reads a decimal number of USD exactly, rounded to the nearest 1e-12.
func picoUSD(figure json.RawMessage) (int64, bool) {
	const (
		maxDigits   = 40
		maxExponent = 4 // "e-12": longer ones are no price, and costly to expand
		pico        = 1_000_000_000_000
	)
	s := strings.Trim(string(figure), `"`)
	if i := strings.IndexAny(s, "eE"); len(s) == 0 || len(s) > maxDigits || i >= 0 && len(s)-i > maxExponent {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || r.Sign() < 0 {
		return 0, false
	}
	r.Mul(r, big.NewRat(pico, 1)).Add(r, big.NewRat(1, 2))
	n := new(big.Int).Quo(r.Num(), r.Denom())
	return n.Int64(), n.IsInt64()
}
