package adapters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Thinking says whether the model is to reason.
type Thinking uint8

// The three wishes. ThinkingDefault sends nothing: the model's default applies.
const (
	ThinkingDefault Thinking = iota
	ThinkingOff
	ThinkingOn
)

// Options is what a request's options come to for one model, before the API has
// its say. Sampling values are read from Call.Generation.Config directly.
type Options struct {
	// Thinking says whether to reason.
	Thinking Thinking
	// Effort is set with ThinkingOn: MINIMAL to MAX, supported by the model.
	Effort llmdv1.ReasoningEffort
	// EffortExplicit: the caller named Effort; otherwise a budget led to it.
	EffortExplicit bool
	// EffortWord is the model's own spelling of Effort, or of "off" with
	// ThinkingOff; empty = the API's usual spelling.
	EffortWord string
	// BudgetTokens is the caller's thinking budget; 0 = none.
	BudgetTokens int32
	// Summary: the caller wants a readable summary.
	Summary bool
	// MaxOutputTokens is the caller's limit; 0 = none.
	MaxOutputTokens int32
	// DefaultMaxOutputTokens is for APIs that must be given a limit: the model's
	// own, made smaller where the context window is nearly full.
	DefaultMaxOutputTokens int32
	// Tools are the tools exposed, sorted by name; with ToolName only that one.
	Tools []*llmdv1.Tool
	// ToolMode is the caller's rule; UNSPECIFIED if it gave none. It is REQUIRED
	// with ToolName.
	ToolMode llmdv1.ToolMode
	// ToolName is the one tool that must be called; empty = any.
	ToolName string
	// Retention is NONE, SHORT or LONG.
	Retention llmdv1.CacheRetention
	// RetentionExplicit: the caller named it.
	RetentionExplicit bool
	// SessionKey groups requests that share a cache; empty = none. Not cut yet.
	SessionKey string
	// Adjustments say what became of options that are of no use here.
	Adjustments []string
}

// Negotiate reads the options of a request for one model. It fails with a
// [CapabilityError] where the model cannot honour an explicit effort.
func Negotiate(g *llmdv1.Generation, history *llmdv1.Context, m *profile.Model) (*Options, error) {
	o := &Options{
		MaxOutputTokens:        g.GetConfig().GetMaxOutputTokens(),
		DefaultMaxOutputTokens: DefaultMaxOutput(history, m),
		Summary:                g.GetReasoning().GetIncludeSummary(),
		BudgetTokens:           g.GetReasoning().GetBudgetTokens(),
		Retention:              g.GetCache().GetRetention(),
		SessionKey:             g.GetCache().GetSessionKey(),
	}
	if o.SessionKey == "" {
		o.SessionKey = g.GetConversationId()
	}
	o.RetentionExplicit = o.Retention != llmdv1.CacheRetention_CACHE_RETENTION_UNSPECIFIED
	if !o.RetentionExplicit {
		o.Retention = llmdv1.CacheRetention_CACHE_RETENTION_SHORT
	}
	negotiateTools(o, g)
	if err := negotiateThinking(o, g.GetReasoning().GetEffort(), m); err != nil {
		return nil, err
	}
	negotiateSummary(o, m)
	return o, nil
}

// negotiateTools puts the tools in the order of their names (bytewise), whatever the
// caller's: providers cache a request by how it begins, and tools are often listed from
// a map.
func negotiateTools(o *Options, g *llmdv1.Generation) {
	o.Tools = slices.Clone(g.GetContext().GetTools())
	slices.SortStableFunc(o.Tools, func(a, b *llmdv1.Tool) int { return strings.Compare(a.GetName(), b.GetName()) })
	o.ToolMode = g.GetToolChoice().GetMode()
	o.ToolName = g.GetToolChoice().GetToolName()
	if o.ToolName == "" {
		return
	}
	o.ToolMode = llmdv1.ToolMode_TOOL_MODE_REQUIRED
	o.Tools = slices.DeleteFunc(o.Tools, func(t *llmdv1.Tool) bool { return t.GetName() != o.ToolName })
}

func negotiateThinking(o *Options, want llmdv1.ReasoningEffort, m *profile.Model) error {
	const field = "generation.reasoning.effort"
	switch {
	case want == llmdv1.ReasoningEffort_REASONING_EFFORT_UNSPECIFIED && o.BudgetTokens == 0:
		return nil
	case want == llmdv1.ReasoningEffort_REASONING_EFFORT_UNSPECIFIED:
		// A budget alone asks for thinking without naming a level.
		o.Effort = m.NearestEffort(llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH)
		if o.Effort == llmdv1.ReasoningEffort_REASONING_EFFORT_NONE {
			return &CapabilityError{
				Capability: "reasoning", Field: "generation.reasoning.budget_tokens",
				Detail: fmt.Sprintf("model %q does not reason", m.ID),
			}
		}
	case !m.SupportsEffort(want):
		return &CapabilityError{Capability: "reasoning_effort", Field: field, Detail: effortDetail(want, m)}
	default:
		o.Effort, o.EffortExplicit = want, true
	}
	o.Thinking = ThinkingOn
	if o.Effort == llmdv1.ReasoningEffort_REASONING_EFFORT_NONE {
		if o.BudgetTokens > 0 {
			return Unsupported("reasoning_budget", "reasoning.budget_tokens", "a thinking budget is of no use without thinking")
		}
		o.Thinking, o.Effort = ThinkingOff, llmdv1.ReasoningEffort_REASONING_EFFORT_UNSPECIFIED
		o.EffortWord = m.EffortWord(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE)
		return nil
	}
	o.EffortWord = m.EffortWord(o.Effort)
	return nil
}

// negotiateSummary gives up a summary of thoughts that there will not be. It is asked
// for "where the provider has one", so this is no error.
func negotiateSummary(o *Options, m *profile.Model) {
	switch {
	case !o.Summary:
		return
	case !m.Reasoning:
		o.Adjustments = append(o.Adjustments, "reasoning.include_summary is of no use: the model does not reason")
	case o.Thinking == ThinkingOff:
		o.Adjustments = append(o.Adjustments, "reasoning.include_summary is of no use: reasoning is off")
	default:
		return
	}
	o.Summary = false
}

func effortDetail(want llmdv1.ReasoningEffort, m *profile.Model) string {
	if !m.Reasoning {
		return fmt.Sprintf("model %q does not reason", m.ID)
	}
	var names []string
	for _, e := range m.SupportedEfforts() {
		names = append(names, profile.EffortName(e))
	}
	has := cmp.Or(strings.Join(names, ", "), "none that can be asked for")
	return fmt.Sprintf("model %q has no reasoning effort %s; it has %s", m.ID, profile.EffortName(want), has)
}

// Reasons says whether a model is going to: it is asked to, or does so unasked. One that
// can do without is taken to, where nothing else is known of it.
func (o *Options) Reasons(m *profile.Model) bool {
	unasked := m.Compat.ReasonsByDefault || !m.SupportsEffort(llmdv1.ReasoningEffort_REASONING_EFFORT_NONE)
	return m.Reasoning && (o.Thinking == ThinkingOn || o.Thinking == ThinkingDefault && unasked)
}

// Effective begins the report of what is really asked of the provider. Adapters
// change what they do otherwise.
func (o *Options) Effective(g *llmdv1.Generation) *llmdv1.EffectiveOptions {
	e := &llmdv1.EffectiveOptions{
		ReasoningEffort: o.Effort,
		ServiceTier:     g.GetConfig().GetServiceTier(),
		Verbosity:       g.GetConfig().GetVerbosity(),
		MaxOutputTokens: o.MaxOutputTokens,
		Adjustments:     slices.Clone(o.Adjustments),
	}
	if o.Thinking == ThinkingOff {
		e.ReasoningEffort = llmdv1.ReasoningEffort_REASONING_EFFORT_NONE
	}
	// In the caller's order, to be compared with what was given.
	for _, t := range g.GetContext().GetTools() {
		if o.ToolName == "" || t.GetName() == o.ToolName {
			e.ToolNames = append(e.ToolNames, t.GetName())
		}
	}
	return e
}
