package anthropic

import (
	"math"
	"strconv"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// count is a number of tokens; a null or a missing one says nothing.
type count struct {
	n   int32
	set bool
}

// UnmarshalJSON takes any number, as some hosts write counts as 12.0, and leaves
// the count unset for everything else: nothing depends on it but a figure.
func (c *count) UnmarshalJSON(data []byte) error {
	if f, err := strconv.ParseFloat(string(data), 64); err == nil {
		*c = count{n: int32(min(max(f, 0), math.MaxInt32)), set: true}
	}
	return nil
}

// update keeps the old value where the new one says nothing.
func (c *count) update(o count) {
	if o.set {
		*c = o
	}
}

// usage is cumulative: the values of message_delta replace those of
// message_start, none are added up. The three input figures are disjoint already.
// https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching#tracking-cache-performance.
type usage struct {
	Input         count `json:"input_tokens"`
	Output        count `json:"output_tokens"`
	CacheRead     count `json:"cache_read_input_tokens"`
	CacheWrite    count `json:"cache_creation_input_tokens"`
	CacheCreation struct {
		OneHour count `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	OutputDetails struct {
		Thinking count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	// Speed is "fast" or "standard", where the request was allowed to choose.
	Speed string `json:"speed"`
	adapters.Billed
}

// update takes over what a later message says.
func (u *usage) update(o *usage) {
	u.Input.update(o.Input)
	u.Output.update(o.Output)
	u.CacheRead.update(o.CacheRead)
	u.CacheWrite.update(o.CacheWrite)
	u.CacheCreation.OneHour.update(o.CacheCreation.OneHour)
	u.OutputDetails.Thinking.update(o.OutputDetails.Thinking)
	if o.Speed != "" {
		u.Speed = o.Speed
	}
	if o.Billed.Message() != nil {
		u.Billed = o.Billed
	}
}

// message is the usage in the contract's terms; nil if the provider said nothing.
func (u *usage) message() *llmdv1.Usage {
	if !u.Input.set && !u.Output.set && !u.CacheRead.set && !u.CacheWrite.set {
		return nil
	}
	m := &llmdv1.Usage{
		InputTokens:         u.Input.n,
		OutputTokens:        u.Output.n,
		CacheReadTokens:     u.CacheRead.n,
		CacheWriteTokens:    u.CacheWrite.n,
		CacheWrite_1HTokens: min(u.CacheCreation.OneHour.n, u.CacheWrite.n),
		Cost:                u.Billed.Message(),
	}
	total := int64(u.Input.n) + int64(u.Output.n) + int64(u.CacheRead.n) + int64(u.CacheWrite.n)
	m.TotalTokens = int32(min(total, math.MaxInt32))
	if t := u.OutputDetails.Thinking; t.set {
		m.ReasoningTokens = new(min(t.n, u.Output.n))
	}
	return m
}
