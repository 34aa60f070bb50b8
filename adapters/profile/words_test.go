package profile

import (
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func TestHasVerbosity(t *testing.T) {
	for id, want := range map[string]bool{
		"gpt-5": true, "gpt-5.4": true, "gpt-5-mini": true, "openai/gpt-5": true, "GPT-5:free": true, "gpt-5o/gpt-5": true,
		"gpt-50": false, "gpt-5o": false, "xgpt-5": false, "gpt-4.1": false, "o3": false, "": false,
	} {
		m := &Model{ID: id}
		if m.HasVerbosity() {
			t.Errorf("%q has verbosity at a host that does not pass it on", id)
		}
		m.Compat.SupportsVerbosity = true
		if m.HasVerbosity() != want {
			t.Errorf("%q: %v, want %v", id, !want, want)
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		EffortName(llmdv1.ReasoningEffort_REASONING_EFFORT_XHIGH): "xhigh",
		TierName(llmdv1.ServiceTier_SERVICE_TIER_FLEX):            "flex",
		VerbosityName(llmdv1.Verbosity_VERBOSITY_LOW):             "low",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
