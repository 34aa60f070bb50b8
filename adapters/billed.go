package adapters

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Billed is what hosts of OpenAI's two APIs and of Anthropic's say in a usage that they
// billed. Cost is a number (OpenRouter) or an object (Perplexity).
type Billed struct {
	Cost        json.RawMessage `json:"cost"`
	IsBYOK      *bool           `json:"is_byok"`
	CostDetails struct {
		Upstream    json.RawMessage `json:"upstream_inference_cost"`
		Prompt      json.RawMessage `json:"upstream_inference_prompt_cost"`
		Completions json.RawMessage `json:"upstream_inference_completions_cost"`
		// The same two in the Responses API.
		Input  json.RawMessage `json:"upstream_inference_input_cost"`
		Output json.RawMessage `json:"upstream_inference_output_cost"`
	} `json:"cost_details"`
	Ticks *jsonwire.Number `json:"cost_in_usd_ticks"` // xAI
}

// Message is what the host says it billed; nil if it says nothing.
//
// OpenRouter bills "cost", and with the caller's own key the upstream provider
// bills its share besides. A cost without is_byok is of unknown meaning.
// https://openrouter.ai/docs/use-cases/usage-accounting. xAI counts in ticks of
// 1e-10 USD, https://docs.x.ai/developers/cost-tracking. Perplexity adds a fee
// for each search, https://docs.perplexity.ai/getting-started/pricing.
func (b *Billed) Message() *llmdv1.Cost {
	const picoPerTick = 100
	if b.Ticks != nil && *b.Ticks >= 0 && *b.Ticks <= math.MaxInt64/picoPerTick {
		return &llmdv1.Cost{TotalPicoUsd: int64(*b.Ticks) * picoPerTick, FromProvider: true}
	}
	if len(b.Cost) > 0 && b.Cost[0] == '{' {
		var parts struct {
			Total json.RawMessage `json:"total_cost"`
		}
		if json.Unmarshal(b.Cost, &parts) != nil {
			return nil
		}
		return billed(parts.Total)
	}
	switch {
	case b.IsBYOK == nil:
		return nil
	case !*b.IsBYOK:
		return billed(b.Cost)
	}
	if _, ok := picoUSD(b.CostDetails.Upstream); ok {
		return billed(b.Cost, b.CostDetails.Upstream)
	}
	prompt, completions := b.CostDetails.Prompt, b.CostDetails.Completions
	if len(prompt) == 0 && len(completions) == 0 {
		prompt, completions = b.CostDetails.Input, b.CostDetails.Output
	}
	return billed(b.Cost, prompt, completions)
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
