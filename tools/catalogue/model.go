package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// entry is one model of the list, the part that llmd reads.
type entry struct {
	ID            string                     `json:"id"`
	Name          string                     `json:"name"`
	Reasoning     bool                       `json:"reasoning"`
	Input         []string                   `json:"input"`
	Cost          cost                       `json:"cost"`
	ContextWindow int                        `json:"contextWindow"`
	MaxTokens     int                        `json:"maxTokens"`
	Levels        map[string]*string         `json:"thinkingLevelMap"`
	Compat        map[string]json.RawMessage `json:"compat"`
}

// cost is in US dollars per million tokens; the numbers stay as they are spelt.
type cost struct {
	Input      json.Number `json:"input"`
	Output     json.Number `json:"output"`
	CacheRead  json.Number `json:"cacheRead"`
	CacheWrite json.Number `json:"cacheWrite"`
	Tiers      []tier      `json:"tiers"`
}

type tier struct {
	Above int `json:"inputTokensAbove"`
	cost
}

// model is one line of the file.
type model struct {
	entry
	api     string
	aliases []string
}

// flags are the flags of the list that llmd acts on, under llmd's names.
func flags() []struct{ theirs, ours string } {
	return []struct{ theirs, ours string }{
		{"supportsStore", "supports_store"},
		{"supportsDeveloperRole", "supports_developer_role"},
		{"supportsReasoningEffort", "supports_reasoning_effort"},
		{"supportsUsageInStreaming", "supports_usage_in_streaming"},
		{"maxTokensField", "max_tokens_field"},
		{"requiresReasoningContentOnAssistantMessages", "requires_reasoning_content_on_assistant_messages"},
		{"thinkingFormat", "thinking_format"},
		{"chatTemplateArgs", "chat_template_args"},
		{"zaiToolStream", "zai_tool_stream"},
		{"supportsStrictMode", "supports_strict_mode"},
		{"cacheControlFormat", "cache_control_format"},
		{"sendSessionAffinityHeaders", "send_session_affinity_headers"},
		{"sessionAffinityFormat", "session_affinity_format"},
		{"supportsLongCacheRetention", "supports_long_cache_retention"},
		{"supportsExplicitPromptCacheMode", "supports_explicit_prompt_cache_mode"},
		{"supportsEagerToolInputStreaming", "supports_eager_tool_input_streaming"},
		{"supportsCacheControlOnTools", "supports_cache_control_on_tools"},
		{"supportsTemperature", "supports_temperature"},
		{"forceAdaptiveThinking", "force_adaptive_thinking"},
		{"allowEmptySignature", "allow_empty_signature"},
		{"supportsStrictTools", "supports_strict_tools"},
	}
}

// line is the model in YAML's flow style.
func (m *model) line() string {
	parts := []string{"id: " + quote(m.ID)}
	add := func(key, value string) { parts = append(parts, key+": "+value) }
	if m.api != "" {
		add("api", m.api)
	}
	if m.Name != "" && m.Name != m.ID {
		add("display_name", quote(strings.TrimSuffix(m.Name, " (latest)")))
	}
	if len(m.aliases) > 0 {
		add("aliases", "["+strings.Join(m.aliases, ", ")+"]")
	}
	if m.Reasoning {
		add("reasoning", "true")
		if e := m.efforts(); e != "" {
			add("efforts", e)
		}
	}
	if slices.Contains(m.Input, "image") {
		add("input", "[text, image]")
	}
	window := m.window()
	if window > 0 {
		add("context_window_tokens", fmt.Sprint(window))
	}
	if m.MaxTokens > 0 {
		add("max_output_tokens", fmt.Sprint(m.MaxTokens))
	}
	if p := m.pricing(); p != "" {
		add("pricing", p)
	}
	if c := compat(m.Compat); c != "" {
		add("compat", c)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// window is the context window. Where the list stops at the threshold of a price
// tier it guards its users' purses; the tier itself shows that the window is
// larger, which is 1,050,000 for all such models of OpenAI.
// https://platform.openai.com/docs/models
func (m *model) window() int {
	for _, t := range m.Cost.Tiers {
		if m.ContextWindow <= t.Above {
			return 1_050_000
		}
	}
	return m.ContextWindow
}

// efforts are the words that differ from llmd's default: none to high under
// their own names, no xhigh, no max.
func (m *model) efforts() string {
	names := []struct{ theirs, ours string }{
		{"off", "none"}, {"minimal", "minimal"}, {"low", "low"}, {"medium", "medium"}, {"high", "high"}, {"xhigh", "xhigh"}, {"max", "max"},
	}
	var parts []string
	for _, n := range names {
		word, ok := m.Levels[n.theirs]
		beyond := n.ours == "xhigh" || n.ours == "max"
		switch {
		case !ok, word == nil && beyond:
		case word == nil:
			parts = append(parts, n.ours+": null")
		// A word for "none" is kept even if it is the same: some APIs switch
		// thinking off by a word, others by leaving it out.
		case *word != n.ours, beyond, n.ours == "none":
			parts = append(parts, n.ours+": "+quote(*word))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// pricing is empty where the list has no price. It writes zeros for that, as it
// does for what is free; only ids that say so are.
func (m *model) pricing() string {
	c := m.Cost
	if strings.HasPrefix(string(c.Input), "-") || strings.HasPrefix(string(c.Output), "-") {
		return ""
	}
	if c.isZero() && !strings.HasSuffix(m.ID, ":free") {
		return ""
	}
	rates := c.rates()
	if len(c.Tiers) > 0 {
		tiers := slices.Clone(c.Tiers)
		slices.SortFunc(tiers, func(a, b tier) int { return cmp.Compare(a.Above, b.Above) })
		texts := make([]string, len(tiers))
		for i, t := range tiers {
			texts[i] = fmt.Sprintf("{above: %d, %s}", t.Above, t.rates())
		}
		rates += ", tiers: [" + strings.Join(texts, ", ") + "]"
	}
	return "{" + rates + "}"
}

func (c cost) isZero() bool { return decimal(c.Input) == "0" && decimal(c.Output) == "0" }

func (c cost) rates() string {
	return fmt.Sprintf("input: %s, cache_read: %s, cache_write: %s, output: %s",
		decimal(c.Input), decimal(c.CacheRead), decimal(c.CacheWrite), decimal(c.Output))
}

// decimal spells a number with at most six decimals, llmd's resolution.
func decimal(n json.Number) string {
	f, err := n.Float64()
	if err != nil {
		return "0"
	}
	s := strings.TrimRight(fmt.Sprintf("%.6f", f), "0")
	return strings.TrimSuffix(s, ".")
}

// hoist takes the flags that all models of a host share from the models and
// returns them: they are the host's, and hold for models that are not listed.
// For other APIs than openai-completions the flags are the models' own.
func hoist(s source, models []model) string {
	if s.api != "openai-completions" {
		return ""
	}
	shared := map[string]json.RawMessage{}
	first := true
	for _, m := range models {
		if m.api != "" || m.Compat == nil {
			continue
		}
		if first {
			maps.Copy(shared, m.Compat)
			first = false
		}
		maps.DeleteFunc(shared, func(flag string, value json.RawMessage) bool { return !bytes.Equal(m.Compat[flag], value) })
	}
	for _, m := range models {
		if m.api == "" {
			maps.DeleteFunc(m.Compat, func(flag string, _ json.RawMessage) bool { return shared[flag] != nil })
		}
	}
	return compat(shared)
}

// compat are the flags that llmd acts on.
func compat(theirs map[string]json.RawMessage) string {
	var parts []string
	for _, f := range flags() {
		if raw, ok := theirs[f.theirs]; ok {
			parts = append(parts, f.ours+": "+string(bytes.TrimSpace(raw)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// quote writes a text plainly where YAML reads it as one, else in JSON, which
// YAML reads too.
func quote(s string) string {
	if regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 ./_+-]*[A-Za-z0-9]$`).MatchString(s) && !slices.Contains([]string{"null", "true", "false", "yes", "no", "on", "off"}, strings.ToLower(s)) {
		return s
	}
	text, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(text)
}
