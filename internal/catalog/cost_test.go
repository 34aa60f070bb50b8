package catalog_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
)

func loadError(t *testing.T, text string) error {
	t.Helper()
	file, err := config.Parse("llmd.yaml", []byte(text), env())
	if err != nil {
		t.Fatal(err)
	}
	_, err = catalog.Load(file, env())
	return err
}

// usd is US dollars as pico US dollars, from a number of micro dollars so that
// nothing is rounded.
func usd(micro float64) int64 { return int64(math.Round(micro * 1e6)) }

// base is 3/15/0.3/3.75 dollars per million tokens.
func base(tiers ...*llmdv1.PricingTier) *llmdv1.Pricing {
	return &llmdv1.Pricing{
		InputPicoUsdPerToken: 3_000_000, OutputPicoUsdPerToken: 15_000_000,
		CacheReadPicoUsdPerToken: 300_000, CacheWritePicoUsdPerToken: 3_750_000, Tiers: tiers,
	}
}

// The executed example of wire-behaviour 1.4.
func TestCost(t *testing.T) {
	u := &llmdv1.Usage{InputTokens: 1000, OutputTokens: 500, CacheReadTokens: 200, CacheWriteTokens: 300, CacheWrite_1HTokens: 100}
	want := &llmdv1.Cost{
		InputPicoUsd: usd(3000), OutputPicoUsd: usd(7500), CacheReadPicoUsd: usd(60), CacheWritePicoUsd: usd(1350), TotalPicoUsd: usd(11910),
	}
	if diff := cmp.Diff(want, catalog.Cost(base(), u, catalog.Factor{}), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	half := &llmdv1.Cost{
		InputPicoUsd: usd(1500), OutputPicoUsd: usd(3750), CacheReadPicoUsd: usd(30), CacheWritePicoUsd: usd(675), TotalPicoUsd: usd(5955),
	}
	if diff := cmp.Diff(half, catalog.Cost(base(), u, catalog.Factor{Num: 1, Den: 2}), protocmp.Transform()); diff != "" {
		t.Errorf("half (-want +got):\n%s", diff)
	}
}

// A tier applies strictly above its threshold, whatever the order of the list.
func TestCostTiers(t *testing.T) {
	tier := func(above int32, dollars int64) *llmdv1.PricingTier {
		return &llmdv1.PricingTier{
			ThresholdTokens: above, InputPicoUsdPerToken: dollars * 1_000_000, OutputPicoUsdPerToken: dollars * 4_000_000,
			CacheReadPicoUsdPerToken: dollars * 100_000, CacheWritePicoUsdPerToken: dollars * 1_200_000,
		}
	}
	p := base(tier(1500, 10), tier(1000, 5))
	// 1000+200+300 = 1500 is not above 1500: 5/20/0.5/6 dollars apply.
	u := &llmdv1.Usage{InputTokens: 1000, OutputTokens: 500, CacheReadTokens: 200, CacheWriteTokens: 300}
	if got := catalog.Cost(p, u, catalog.Factor{}).GetTotalPicoUsd(); got != usd(16900) {
		t.Errorf("total = %d, want %d", got, usd(16900))
	}
	for prompt, dollars := range map[int32]int64{0: 3, 1000: 3, 1001: 5, 1500: 5, 1501: 10, 9999: 10} {
		u := &llmdv1.Usage{InputTokens: prompt}
		if got := catalog.Cost(p, u, catalog.Factor{}).GetTotalPicoUsd(); got != int64(prompt)*dollars*1_000_000 {
			t.Errorf("%d tokens cost %d", prompt, got)
		}
	}
}

func TestCostEdges(t *testing.T) {
	if catalog.Cost(nil, &llmdv1.Usage{InputTokens: 1}, catalog.Factor{}) != nil || catalog.Cost(base(), nil, catalog.Factor{}) != nil {
		t.Error("an unknown price is not unknown")
	}
	if c := catalog.Cost(&llmdv1.Pricing{}, &llmdv1.Usage{InputTokens: 1}, catalog.Factor{}); c == nil || c.GetTotalPicoUsd() != 0 {
		t.Errorf("free is %v", c)
	}
	// More one-hour tokens than writes, or less than none, are taken for what they can be.
	c := catalog.Cost(base(), &llmdv1.Usage{CacheWriteTokens: 10, CacheWrite_1HTokens: 20, InputTokens: -5}, catalog.Factor{})
	if c.GetCacheWritePicoUsd() != 10*6_000_000 || c.GetInputPicoUsd() != 0 {
		t.Errorf("%v", c)
	}
	big := &llmdv1.Pricing{InputPicoUsdPerToken: 1e12, OutputPicoUsdPerToken: 1e12}
	c = catalog.Cost(big, &llmdv1.Usage{InputTokens: math.MaxInt32, OutputTokens: math.MaxInt32}, catalog.Factor{Num: 6, Den: 1})
	if c.GetTotalPicoUsd() != math.MaxInt64 {
		t.Errorf("an overflow wrapped around: %v", c)
	}
}

func TestTierFactor(t *testing.T) {
	tiers := profile.Compat{SupportsServiceTier: true}
	for _, tt := range []struct {
		m    profile.Model
		tier string
		want catalog.Factor
	}{
		{profile.Model{ID: "gpt-5", API: "openai-responses", Compat: tiers}, "flex", catalog.Factor{Num: 1, Den: 2}},
		{profile.Model{ID: "gpt-5", API: "openai-responses", Compat: tiers}, "priority", catalog.Factor{Num: 2, Den: 1}},
		{profile.Model{ID: "gpt-5", API: "openai-responses", Compat: tiers}, "fast", catalog.Factor{Num: 2, Den: 1}},
		{profile.Model{ID: "gpt-5.5", API: "openai-responses", Compat: tiers}, "priority", catalog.Factor{Num: 5, Den: 2}},
		{profile.Model{ID: "gpt-5", API: "openai-responses", Compat: tiers}, "default", catalog.Factor{}},
		{profile.Model{ID: "gpt-5", API: "openai-responses", Compat: tiers}, "", catalog.Factor{}},
		{profile.Model{ID: "gpt-5", API: "openai-responses"}, "flex", catalog.Factor{}},
		{profile.Model{ID: "gpt-5", API: "azure-openai-responses", Compat: tiers}, "flex", catalog.Factor{}},
		{profile.Model{ID: "claude-opus-4-6", API: "anthropic-messages"}, "fast", catalog.Factor{Num: 6, Den: 1}},
		{profile.Model{ID: "claude-opus-5", API: "anthropic-messages"}, "fast", catalog.Factor{Num: 2, Den: 1}},
		{profile.Model{ID: "claude-opus-4-6", API: "anthropic-messages"}, "standard", catalog.Factor{}},
		{profile.Model{ID: "m", API: "openai-completions"}, "priority", catalog.Factor{}},
	} {
		if got := catalog.TierFactor(&tt.m, tt.tier); got != tt.want {
			t.Errorf("%s %s: %v, want %v", tt.m.ID, tt.tier, got, tt.want)
		}
	}
}
