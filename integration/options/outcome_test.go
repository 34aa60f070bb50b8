package options

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// became is what a wish became on the wire, or the error.
func (r *row) became() string {
	if e := r.with.refusal; e != nil {
		words := e.reason
		if e.reason == "CAPABILITY_UNSUPPORTED" {
			words = "lacks " + e.capability
		}
		field := strings.Join(e.fields, ", ")
		return nameless(fmt.Sprintf("error %s at %s (%s)", words, field, strings.TrimPrefix(e.message, field+": ")))
	}
	var all []string
	for _, c := range r.changes {
		all = append(all, shorten(c.String()))
	}
	for _, h := range r.headers {
		all = append(all, "header "+shorten(h))
	}
	for _, c := range r.with.response.GetHandoffChanges() {
		if !slices.ContainsFunc(r.without.response.GetHandoffChanges(), func(o *llmdv1.HandoffChange) bool { return o.GetRule() == c.GetRule() }) {
			all = append(all, "reported "+c.GetRule())
		}
	}
	for _, d := range r.with.response.GetDiagnostics()[len(r.without.response.GetDiagnostics()):] {
		all = append(all, "diagnostic "+d.GetCode())
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, "; ")
}

// nameless leaves the names of models and providers out, so that what is said of many
// is one line.
func nameless(s string) string {
	s = regexp.MustCompile(`(model|provider) "[^"]*"`).ReplaceAllString(s, "the $1")
	return regexp.MustCompile(`provider_options_json\[[^\]]*\]`).ReplaceAllString(s, "provider_options_json[P]")
}

// shorten cuts what is only long.
func shorten(s string) string {
	s = strings.ReplaceAll(s, pixel, "PIXEL")
	return regexp.MustCompile(`k{20,}`).ReplaceAllStringFunc(s, func(k string) string { return fmt.Sprintf("<%d letters>", len(k)) })
}

// effective is what EffectiveOptions says otherwise than without the wish.
func (r *row) effective() string {
	if r.with.refusal != nil {
		return ""
	}
	old, now := r.without.response.GetEffective(), r.with.response.GetEffective()
	var all []string
	add := func(differs bool, format string, args ...any) {
		if differs {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	add(old.GetReasoningEffort() != now.GetReasoningEffort(), "effort %s", strings.TrimPrefix(now.GetReasoningEffort().String(), "REASONING_EFFORT_"))
	add(old.GetReasoningDisabledReason() != now.GetReasoningDisabledReason(), "reasoning off: %s", nameless(now.GetReasoningDisabledReason()))
	add(old.GetServiceTier() != now.GetServiceTier(), "tier %s", strings.TrimPrefix(now.GetServiceTier().String(), "SERVICE_TIER_"))
	add(old.GetVerbosity() != now.GetVerbosity(), "verbosity %s", strings.TrimPrefix(now.GetVerbosity().String(), "VERBOSITY_"))
	add(old.GetMaxOutputTokens() != now.GetMaxOutputTokens(), "limit %d", now.GetMaxOutputTokens())
	add(!slices.Equal(old.GetToolNames(), now.GetToolNames()), "tools %s", now.GetToolNames())
	for _, a := range now.GetAdjustments() {
		add(!slices.Contains(old.GetAdjustments(), a), "adjusted: %s", nameless(a))
	}
	return strings.Join(all, "; ")
}
