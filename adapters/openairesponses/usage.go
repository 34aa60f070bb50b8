package openairesponses

import (
	"encoding/json"
	"math"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// picoUSD is one US dollar in the contract's unit of money.
const picoUSD = 1e12

// usage is what the provider counted.
// https://platform.openai.com/docs/api-reference/responses/object#responses/object-usage
type usage struct {
	Input        float64 `json:"input_tokens"`
	Output       float64 `json:"output_tokens"`
	InputDetails struct {
		Cached  float64 `json:"cached_tokens"`
		Written float64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning *float64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	// Cost is what was billed, in US dollars: OpenRouter says it. Elsewhere it may
	// be anything.
	Cost json.RawMessage
}

// message is the usage in disjoint buckets. input_tokens include what was read
// from a cache and what was written to one.
func (u *usage) message() *llmdv1.Usage {
	if u == nil {
		return nil
	}
	m := &llmdv1.Usage{
		InputTokens:      tokens(u.Input - u.InputDetails.Cached - u.InputDetails.Written),
		CacheReadTokens:  tokens(u.InputDetails.Cached),
		CacheWriteTokens: tokens(u.InputDetails.Written),
		OutputTokens:     tokens(u.Output),
	}
	m.TotalTokens = tokens(float64(m.InputTokens) + float64(m.CacheReadTokens) + float64(m.CacheWriteTokens) + float64(m.OutputTokens))
	if r := u.OutputDetails.Reasoning; r != nil {
		n := tokens(*r)
		m.ReasoningTokens = &n
	}
	var usd float64
	if filled(u.Cost) && json.Unmarshal(u.Cost, &usd) == nil && usd >= 0 && usd*picoUSD < math.MaxInt64 {
		m.Cost = &llmdv1.Cost{TotalPicoUsd: int64(math.Round(usd * picoUSD)), FromProvider: true}
	}
	return m
}

func tokens(n float64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }
