package adapters

import (
	"fmt"
	"slices"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Refuse fails for the first of these capabilities that the caller asks for; they are
// those that an API has no field for. It knows "top_k", "seed", "stop_sequences",
// "verbosity", "user", "parallel_tool_calls" (that there be none, where there may be
// calls), "cache_retention" (a long one) and "reasoning_budget". api is how the API is called in the error.
func (c *Call) Refuse(api string, capabilities ...string) error {
	g, o := c.Generation, c.Options
	config := g.GetConfig()
	if config == nil {
		config = &llmdv1.GenerationConfig{}
	}
	calls := len(o.Tools) > 0 && o.ToolMode != llmdv1.ToolMode_TOOL_MODE_NONE
	for _, wish := range []struct {
		asked                   bool
		capability, field, lack string
	}{
		{config.TopK != nil, "top_k", "config.top_k", "no top_k"},
		{config.Seed != nil, "seed", "config.seed", "no seed"},
		{len(config.StopSequences) > 0, "stop_sequences", "config.stop_sequences", "no stop sequences"},
		{config.Verbosity != llmdv1.Verbosity_VERBOSITY_UNSPECIFIED, "verbosity", "config.verbosity", "no verbosity"},
		{g.GetUser() != "", "user", "user", "no field for the end user"},
		{
			calls && config.ParallelToolCalls != nil && !*config.ParallelToolCalls, "parallel_tool_calls", "config.parallel_tool_calls",
			"no way to limit a turn to one tool call",
		},
		{
			o.Retention == llmdv1.CacheRetention_CACHE_RETENTION_LONG, "cache_retention", "cache.retention",
			"a cache that keeps for a time of its own choice",
		},
		{o.BudgetTokens > 0, "reasoning_budget", "reasoning.budget_tokens", "no thinking budget"},
	} {
		if wish.asked && slices.Contains(capabilities, wish.capability) {
			return Unsupported(wish.capability, wish.field, api+" has "+wish.lack)
		}
	}
	return nil
}

// RefuseSampling fails for temperature, top_p and top_k where the model takes no
// temperature: such models refuse the other two as well.
// https://docs.anthropic.com/en/docs/about-claude/models/migration-guide
func (c *Call) RefuseSampling() error {
	config := c.Generation.GetConfig()
	if config == nil || c.Model.Compat.SupportsTemperature {
		return nil
	}
	why := fmt.Sprintf("model %q takes no sampling parameters", c.Model.ID)
	switch {
	case config.Temperature != nil:
		return Unsupported("temperature", "config.temperature", why)
	case config.TopP != nil:
		return Unsupported("top_p", "config.top_p", why)
	case config.TopK != nil:
		return Unsupported("top_k", "config.top_k", why)
	}
	return nil
}
