package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// rates are the four prices that Pricing and its tiers share.
type rates struct{ input, cacheRead, cacheWrite, output *int64 }

func rateKeys(r rates) []key {
	rate := func(name, doc string, target *int64) key {
		return key{name: name, kind: "decimal", def: "0", doc: doc, read: func(v value) { v.price(target) }}
	}
	return []key{
		rate("input", "Input tokens that were not cached.", r.input),
		rate("cache_read", "Tokens read from the prompt cache.", r.cacheRead),
		rate("cache_write", "Tokens written to the prompt cache; one-hour writes cost twice the input price.", r.cacheWrite),
		rate("output", "Output tokens, thinking included.", r.output),
	}
}

func pricingKeys(p *llmdv1.Pricing) []key {
	keys := rateKeys(rates{
		&p.InputPicoUsdPerToken, &p.CacheReadPicoUsdPerToken, &p.CacheWritePicoUsdPerToken, &p.OutputPicoUsdPerToken,
	})
	return append(keys, key{
		name: "tiers", kind: "list of mappings",
		doc: "Prices for long prompts. The tier with the highest threshold below the whole prompt prices the whole request.",
		read: func(v value) {
			v.list(func(item value) {
				t := &llmdv1.PricingTier{}
				item.object(tierKeys(t))
				if t.GetThresholdTokens() == 0 && item.node.Kind == yaml.MappingNode && !hasKey(item.node, "above") {
					item.bad("above is missing")
				}
				p.Tiers = append(p.Tiers, t)
			})
		},
		below: func() []key { return tierKeys(&llmdv1.PricingTier{}) },
	})
}

func tierKeys(t *llmdv1.PricingTier) []key {
	above := key{
		name: "above", kind: "whole number", doc: "The tier applies above this many prompt tokens, cached ones included. Required.",
		read: func(v value) { v.tokens(&t.ThresholdTokens) },
	}
	return append([]key{above}, rateKeys(rates{
		&t.InputPicoUsdPerToken, &t.CacheReadPicoUsdPerToken, &t.CacheWritePicoUsdPerToken, &t.OutputPicoUsdPerToken,
	})...)
}

func (v value) pricing(target **llmdv1.Pricing) {
	*target = &llmdv1.Pricing{}
	v.object(pricingKeys(*target))
}

// price reads US dollars per million tokens as pico dollars per token. One dollar
// per million is 1,000,000 pico dollars, so six decimals are exact, and the text
// is never turned into a float.
func (v value) price(target *int64) {
	pico, ok := picoPerToken(v.node.Value)
	if v.node.Kind != yaml.ScalarNode || !ok {
		v.outside(Range{Least: "0", Most: "1000000"}, "US dollars per million tokens: a decimal number", " with at most 6 decimals")
		return
	}
	*target = pico
}

func picoPerToken(s string) (int64, bool) {
	const decimals = 6
	whole, fraction, _ := strings.Cut(s, ".")
	if whole == "" || len(fraction) > decimals || strings.ContainsAny(s, "+-_") {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	return n, err == nil && n <= 1_000_000_000_000
}
