package openairesponses

import (
	"math"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// usage is what the provider counted.
// https://platform.openai.com/docs/api-reference/responses/object#responses/object-usage
type usage struct {
	Input        *jsonwire.Number `json:"input_tokens"`
	Output       *jsonwire.Number `json:"output_tokens"`
	InputDetails struct {
		Cached  jsonwire.Number `json:"cached_tokens"`
		Written jsonwire.Number `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning *jsonwire.Number `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	// Details is where alone Alibaba says what was written to its cache.
	// https://docs.qwencloud.com/developer-guides/text-generation/context-cache
	Details []struct {
		Input struct {
			Written jsonwire.Number `json:"cache_creation_input_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"x_details"`
	adapters.Billed
}

// message is the usage in disjoint buckets; nil if the host named no numbers.
// input_tokens include what was read from a cache and what was written to one.
func (u *usage) message() *llmdv1.Usage {
	if u == nil || u.Input == nil && u.Output == nil {
		return nil
	}
	var input, output jsonwire.Number
	if u.Input != nil {
		input = *u.Input
	}
	if u.Output != nil {
		output = *u.Output
	}
	written := u.InputDetails.Written
	if written == 0 {
		for _, d := range u.Details {
			written += d.Input.Written
		}
	}
	m := &llmdv1.Usage{
		InputTokens:      tokens(input - u.InputDetails.Cached - written),
		CacheReadTokens:  tokens(u.InputDetails.Cached),
		CacheWriteTokens: tokens(written),
		OutputTokens:     tokens(output),
		Cost:             u.Billed.Message(),
	}
	m.TotalTokens = tokens(jsonwire.Number(m.InputTokens) + jsonwire.Number(m.CacheReadTokens) + jsonwire.Number(m.CacheWriteTokens) + jsonwire.Number(m.OutputTokens))
	if r := u.OutputDetails.Reasoning; r != nil {
		n := tokens(*r)
		m.ReasoningTokens = &n
	}
	return m
}

func tokens(n jsonwire.Number) int32 { return int32(min(max(n, 0), math.MaxInt32)) }
