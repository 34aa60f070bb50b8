package catalog

import (
	"math"
	"math/bits"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Factor multiplies a price: Num/Den. The zero value is 1.
type Factor struct{ Num, Den int64 }

// Cost prices a response, exactly, in pico US dollars. It is nil where the price
// is unknown, which is not the same as free. Usage has disjoint buckets, so each
// token is priced once; the whole prompt (all three input buckets) chooses the
// tier.
func Cost(p *llmdv1.Pricing, u *llmdv1.Usage, f Factor) *llmdv1.Cost {
	if p == nil || u == nil {
		return nil
	}
	prompt := int64(u.GetInputTokens()) + int64(u.GetCacheReadTokens()) + int64(u.GetCacheWriteTokens())
	r := ratesFor(p, prompt)
	oneHour := min(max(u.GetCacheWrite_1HTokens(), 0), max(u.GetCacheWriteTokens(), 0))
	c := &llmdv1.Cost{
		InputPicoUsd:     f.of(times(u.GetInputTokens(), r.GetInputPicoUsdPerToken())),
		CacheReadPicoUsd: f.of(times(u.GetCacheReadTokens(), r.GetCacheReadPicoUsdPerToken())),
		CacheWritePicoUsd: f.of(plus(
			times(u.GetCacheWriteTokens()-oneHour, r.GetCacheWritePicoUsdPerToken()),
			times(oneHour, 2*r.GetInputPicoUsdPerToken()),
		)),
		OutputPicoUsd: f.of(times(u.GetOutputTokens(), r.GetOutputPicoUsdPerToken())),
	}
	c.TotalPicoUsd = plus(plus(c.InputPicoUsd, c.CacheReadPicoUsd), plus(c.CacheWritePicoUsd, c.OutputPicoUsd))
	return c
}

// ratesFor is the tier with the highest threshold strictly below the prompt, or
// the base prices. The order of the tiers does not matter.
func ratesFor(p *llmdv1.Pricing, prompt int64) *llmdv1.PricingTier {
	best := &llmdv1.PricingTier{
		ThresholdTokens:           -1,
		InputPicoUsdPerToken:      p.GetInputPicoUsdPerToken(),
		CacheReadPicoUsdPerToken:  p.GetCacheReadPicoUsdPerToken(),
		CacheWritePicoUsdPerToken: p.GetCacheWritePicoUsdPerToken(),
		OutputPicoUsdPerToken:     p.GetOutputPicoUsdPerToken(),
	}
	for _, t := range p.GetTiers() {
		if int64(t.GetThresholdTokens()) < prompt && t.GetThresholdTokens() > best.GetThresholdTokens() {
			best = t
		}
	}
	return best
}

// TierFactor is what a service tier does to the price of a model. The tier is the
// provider's own word, the one it answered with where it did.
// https://platform.openai.com/docs/pricing
// https://platform.claude.com/docs/en/build-with-claude/fast-mode
func TierFactor(m *profile.Model, tier string) Factor {
	fast := tier == "priority" || tier == "fast"
	switch {
	case m.API == apiAnthropic && fast:
		if id := spelling(m.ID); hasWord(id, "claude-opus-4-6") || hasWord(id, "claude-opus-4-7") {
			return Factor{Num: 6, Den: 1}
		}
		return Factor{Num: 2, Den: 1}
	case m.API == apiAnthropic, m.API == apiAzure, !m.Compat.SupportsServiceTier:
		return Factor{}
	case tier == "flex":
		return Factor{Num: 1, Den: 2}
	case fast && m.ID == "gpt-5.5":
		return Factor{Num: 5, Den: 2}
	case fast:
		return Factor{Num: 2, Den: 1}
	}
	return Factor{}
}

func (f Factor) of(n int64) int64 {
	if f.Num == 0 || f.Den == 0 {
		return n
	}
	// Divide first where nothing is lost, so that large sums do not overflow.
	if n%f.Den == 0 {
		return product(n/f.Den, f.Num)
	}
	return product(n, f.Num) / f.Den
}

// times prices tokens; what a provider counts below zero costs nothing.
func times(tokens int32, price int64) int64 { return product(int64(max(tokens, 0)), price) }

// product and plus stop at the largest number instead of wrapping around.
func product(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
