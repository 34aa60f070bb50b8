package bedrock

import (
	"math"
	"strconv"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// count is a number of tokens. Whatever is no number counts as none: nothing depends
// on it but a figure.
type count int32

// UnmarshalJSON takes any number, as some hosts write counts as 12.0.
func (c *count) UnmarshalJSON(data []byte) error {
	if f, err := strconv.ParseFloat(string(data), 64); err == nil {
		*c = count(min(max(f, 0), math.MaxInt32))
	}
	return nil
}

// usage has three disjoint figures of input already: what was read from the cache or
// written to it is not counted as input.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html.
type usage struct {
	Input      count `json:"inputTokens"`
	Output     count `json:"outputTokens"`
	CacheRead  count `json:"cacheReadInputTokens"`
	CacheWrite count `json:"cacheWriteInputTokens"`
	// CacheDetails divides what was written by how long it is kept.
	CacheDetails []struct {
		TTL   string `json:"ttl"`
		Input count  `json:"inputTokens"`
	} `json:"cacheDetails"`
}

// message is the usage in the contract's terms; nil if the provider counted nothing. How
// much of the output was thinking the API does not say.
func (u *usage) message() *llmdv1.Usage {
	if u == nil || u.Input == 0 && u.Output == 0 && u.CacheRead == 0 && u.CacheWrite == 0 {
		return nil
	}
	m := &llmdv1.Usage{
		InputTokens:      int32(u.Input),
		OutputTokens:     int32(u.Output),
		CacheReadTokens:  int32(u.CacheRead),
		CacheWriteTokens: int32(u.CacheWrite),
	}
	hour := int64(0)
	for _, d := range u.CacheDetails {
		if d.TTL == "1h" {
			hour += int64(d.Input)
		}
	}
	m.CacheWrite_1HTokens = int32(min(hour, int64(u.CacheWrite)))
	total := int64(u.Input) + int64(u.Output) + int64(u.CacheRead) + int64(u.CacheWrite)
	m.TotalTokens = int32(min(total, math.MaxInt32))
	return m
}
