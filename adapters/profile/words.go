package profile

import (
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// EffortName is the usual spelling of an effort: "none", "minimal", "low",
// "medium", "high", "xhigh" or "max".
func EffortName(e llmdv1.ReasoningEffort) string { return enumName(e.String(), "REASONING_EFFORT_") }

// TierName is the name of a service tier: "standard", "fast" or "flex".
func TierName(t llmdv1.ServiceTier) string { return enumName(t.String(), "SERVICE_TIER_") }

// VerbosityName is the usual spelling of a verbosity: "low", "medium" or "high".
func VerbosityName(v llmdv1.Verbosity) string { return enumName(v.String(), "VERBOSITY_") }

func enumName(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }

// HasVerbosity says whether the model can be told how much to say. The GPT-5 family
// alone can, where the host passes it on.
func (m *Model) HasVerbosity() bool { return m.Compat.SupportsVerbosity && isGPT5(m.ID) }

// isGPT5 looks for "gpt-5" as a whole word, so neither gpt-50 nor gpt-5o.
func isGPT5(id string) bool {
	const name, edges = "gpt-5", "/.:_-"
	id = strings.ToLower(id)
	for from := 0; ; {
		i := strings.Index(id[from:], name)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(name)
		if (begin == 0 || strings.IndexByte(edges, id[begin-1]) >= 0) && (end == len(id) || strings.IndexByte(edges, id[end]) >= 0) {
			return true
		}
		from = end
	}
}
