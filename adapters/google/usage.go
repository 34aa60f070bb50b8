package google

import (
	"math"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// usage puts the counts into disjoint buckets; nil if there are none. What Google
// calls the prompt includes what was cached, but not what its own tools read.
// Thoughts are counted beside the candidates.
//
// https://ai.google.dev/api/generate-content#UsageMetadata
func (u *usageMetadata) usage() *llmdv1.Usage {
	thoughts := jsonwire.Number(0)
	if u.ThoughtsTokenCount != nil {
		thoughts = *u.ThoughtsTokenCount
	}
	prompt := u.PromptTokenCount + u.ToolUsePromptTokenCount
	if prompt == 0 && u.CachedContentTokenCount == 0 && u.CandidatesTokenCount == 0 && thoughts == 0 {
		return nil
	}
	out := &llmdv1.Usage{
		InputTokens:     count(prompt - u.CachedContentTokenCount),
		CacheReadTokens: count(u.CachedContentTokenCount),
		OutputTokens:    count(u.CandidatesTokenCount + thoughts),
		Modalities:      u.modalities(),
	}
	if u.ThoughtsTokenCount != nil {
		n := count(thoughts)
		out.ReasoningTokens = &n
	}
	out.TotalTokens = count(jsonwire.Number(out.InputTokens) + jsonwire.Number(out.CacheReadTokens) + jsonwire.Number(out.OutputTokens))
	return out
}

// count fits a number of tokens into the contract's type.
func count(n jsonwire.Number) int32 { return int32(max(0, min(n, math.MaxInt32))) }

// modalities is the breakdown, in the order in which the kinds are first named.
func (u *usageMetadata) modalities() []*llmdv1.ModalityTokens {
	var rows []*llmdv1.ModalityTokens
	row := func(w word) *llmdv1.ModalityTokens {
		kind := modality(w)
		for _, r := range rows {
			if r.Modality == kind {
				return r
			}
		}
		rows = append(rows, &llmdv1.ModalityTokens{Modality: kind})
		return rows[len(rows)-1]
	}
	for _, list := range [][]modalityCount{u.PromptTokensDetails, u.ToolUsePromptDetails} {
		for _, c := range list {
			r := row(c.Modality)
			r.InputTokens = count(jsonwire.Number(r.InputTokens) + c.TokenCount)
		}
	}
	for _, c := range u.CandidatesTokensDetails {
		r := row(c.Modality)
		r.OutputTokens = count(jsonwire.Number(r.OutputTokens) + c.TokenCount)
	}
	return rows
}

// modality reads a kind of content, which both APIs number alike.
func modality(w word) llmdv1.Modality {
	switch w.name([]string{"MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT"}) {
	case "TEXT":
		return llmdv1.Modality_MODALITY_TEXT
	case "IMAGE":
		return llmdv1.Modality_MODALITY_IMAGE
	case "VIDEO":
		return llmdv1.Modality_MODALITY_VIDEO
	case "AUDIO":
		return llmdv1.Modality_MODALITY_AUDIO
	case "DOCUMENT":
		return llmdv1.Modality_MODALITY_DOCUMENT
	}
	return llmdv1.Modality_MODALITY_UNSPECIFIED
}

// tier is the service tier that was served, in the words of requests; empty if it
// was not said. Provisioned throughput is bought otherwise and is no tier.
func (u *usageMetadata) tier() string {
	switch u.TrafficType.name([]string{"", "ON_DEMAND", "PROVISIONED_THROUGHPUT"}) {
	case "ON_DEMAND":
		return "standard"
	case "ON_DEMAND_FLEX":
		return "flex"
	case "ON_DEMAND_PRIORITY":
		return "priority"
	}
	if u.ServiceTier.isNumber() {
		return ""
	}
	return string(u.ServiceTier)
}
