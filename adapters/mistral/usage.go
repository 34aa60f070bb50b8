package mistral

import (
	"encoding/json"
	"math"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// usage is the token count. The count of cached tokens goes by six names: the API
// changed it, and gateways built on the client libraries pass on their spelling.
type usage struct {
	Prompt          *jsonwire.Number `json:"prompt_tokens"`
	PromptCamel     *jsonwire.Number `json:"promptTokens"`
	Completion      *jsonwire.Number `json:"completion_tokens"`
	CompletionCamel *jsonwire.Number `json:"completionTokens"`

	PromptDetails      cached          `json:"prompt_tokens_details"`
	PromptDetailsCamel cached          `json:"promptTokensDetails"`
	PromptDetail       cached          `json:"prompt_token_details"`
	PromptDetailCamel  cached          `json:"promptTokenDetails"`
	Cached             jsonwire.Number `json:"num_cached_tokens"`
	CachedCamel        jsonwire.Number `json:"numCachedTokens"`

	CompletionDetails struct {
		Reasoning *jsonwire.Number `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`

	ServiceTier jsonwire.Word `json:"service_tier"`
}

type cached struct {
	Tokens      jsonwire.Number `json:"cached_tokens"`
	TokensCamel jsonwire.Number `json:"cachedTokens"`
}

// readUsage reads a usage. One that cannot be read is none: no content is lost
// with it.
func readUsage(raw json.RawMessage) *usage {
	var u usage
	if len(raw) == 0 || raw[0] != '{' || !adapters.Readable(json.Unmarshal(raw, &u)) {
		return nil
	}
	return &u
}

// message is the usage in disjoint buckets; nil if there are no numbers.
// prompt_tokens include the cached ones, completion_tokens the thinking.
func (u *usage) message() *llmdv1.Usage {
	prompt, output := either(u.Prompt, u.PromptCamel), either(u.Completion, u.CompletionCamel)
	if prompt == nil && output == nil {
		return nil
	}
	m := &llmdv1.Usage{InputTokens: count(prompt), OutputTokens: count(output)}
	for _, n := range []jsonwire.Number{
		u.PromptDetails.Tokens, u.PromptDetails.TokensCamel, u.PromptDetailsCamel.Tokens, u.PromptDetailsCamel.TokensCamel,
		u.PromptDetail.Tokens, u.PromptDetail.TokensCamel, u.PromptDetailCamel.Tokens, u.PromptDetailCamel.TokensCamel,
		u.Cached, u.CachedCamel,
	} {
		if n > 0 {
			m.CacheReadTokens = min(count(&n), m.InputTokens)
			break
		}
	}
	m.InputTokens -= m.CacheReadTokens
	if r := u.CompletionDetails.Reasoning; r != nil {
		n := min(count(r), m.OutputTokens)
		m.ReasoningTokens = &n
	}
	sum := int64(m.InputTokens) + int64(m.CacheReadTokens) + int64(m.OutputTokens)
	m.TotalTokens = int32(min(sum, math.MaxInt32))
	return m
}

func either(a, b *jsonwire.Number) *jsonwire.Number {
	if a != nil {
		return a
	}
	return b
}

// count keeps a number within the contract's type.
func count(n *jsonwire.Number) int32 {
	if n == nil {
		return 0
	}
	return int32(max(0, min(*n, math.MaxInt32)))
}
