package faux

import (
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	// API is the wire API's id.
	API = "faux"
	// Provider is the id of the built-in provider.
	Provider = "faux"
	// BaseURL is the provider's address. No name server knows it (RFC 2606):
	// requests go through the transport of package fauxserver.
	BaseURL = "http://faux.invalid"
)

// The limits of every model, in tokens.
const (
	contextWindow = 200_000
	maxOutput     = 64_000
)

// Models lists the models of the built-in provider. What each of them does is
// told in package fauxserver.
func Models() []*profile.Model {
	return []*profile.Model{
		model("echo", "Echo: says what you said", false, true),
		model("agent", "Agent: thinks, calls your first tool, reports its result", true, true),
		model("parallel", "Parallel: calls three tools at once", false, true),
		model("think", "Think: much signed thinking, some of it redacted", true, true),
		model("long", "Long: 2,000 chunks, a few milliseconds apart", false, true),
		model("slow", "Slow: ten chunks, a second apart", false, true),
		model("error", "Error: fails in the way you name", false, true),
		model("text-only", "Text only: echo without images", false, false),
	}
}

func model(id, name string, reasoning, images bool) *profile.Model {
	m := &profile.Model{
		ID:            id,
		Provider:      Provider,
		API:           API,
		DisplayName:   name,
		BaseURL:       BaseURL,
		Reasoning:     reasoning,
		Input:         []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT},
		ContextWindow: contextWindow,
		MaxOutput:     maxOutput,
		Pricing:       &llmdv1.Pricing{}, // known, and nothing
		Compat:        profile.Defaults(API),
		Source:        "builtin",
	}
	if images {
		m.Input = append(m.Input, llmdv1.Modality_MODALITY_IMAGE)
	}
	return m
}
