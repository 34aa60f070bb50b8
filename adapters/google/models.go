package google

import (
	"net/url"
	"strconv"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// model is what a model id says about how the API is to be used. The ids are
// Google's own; nothing here is about a host.
type model struct {
	family       string // "gemini", "gemma", "claude", "gpt-oss" or ""
	major, minor int    // 0 = not said
	tier         string // "pro", "flash", "flash-lite" or ""
}

// newest is the version of ids that follow the newest model ("gemini-flash-latest").
const newest = 1000

// parseModel reads an id such as "models/gemini-2.5-flash-lite-preview-09-2025".
func parseModel(id string) model {
	id = strings.ToLower(bareID(id))
	var m model
	for _, f := range []string{"gemini", "gemma", "claude", "gpt-oss"} {
		if rest, ok := strings.CutPrefix(id, f+"-"); ok {
			m.family, id = f, rest
			break
		}
	}
	m.major, m.minor = version(id)
	if robotics(id) >= 2 {
		m.major, m.minor, id = 3, 5, "flash"
	}
	if m.major == 0 && m.family == "gemini" && strings.HasSuffix(id, "-latest") {
		m.major = newest
	}
	for _, t := range []string{"flash-lite", "flash", "pro"} {
		if strings.Contains(id, t) {
			m.tier = t
			break
		}
	}
	return m
}

// version reads the number at the beginning: "2.5-pro" is 2, 5.
func version(s string) (major, minor int) {
	s, _, _ = strings.Cut(s, "-")
	whole, part, _ := strings.Cut(s, ".")
	major, err := strconv.Atoi(whole)
	if err != nil || major < 0 {
		return 0, 0
	}
	minor, _ = strconv.Atoi(part)
	return major, minor
}

// robotics is the version of a Robotics-ER model, which counts for itself: 2 builds on
// Gemini 3.5 Flash. 0 = another model.
//
// https://ai.google.dev/gemini-api/docs/robotics-overview
func robotics(id string) int {
	rest, _ := strings.CutPrefix(id, "robotics-er-")
	if rest == id {
		return 0
	}
	major, _ := version(rest)
	return major
}

// bareID is the id without the collection that it may be given with.
func bareID(id string) string {
	id = strings.TrimPrefix(id, "publishers/google/")
	id = strings.TrimPrefix(id, "google/")
	return strings.TrimPrefix(id, "models/")
}

// path is where an answer is streamed from, below the base URL.
func path(id string) string {
	return "/models/" + url.PathEscape(bareID(id)) + ":streamGenerateContent?alt=sse"
}

// three says whether this is Gemini 3 or later.
func (m model) three() bool { return m.family == "gemini" && m.major >= 3 }

// levels: how much to think is said as a level instead of a number of tokens.
//
// https://ai.google.dev/gemini-api/docs/thinking#thinking-levels
func (m model) levels() bool { return m.three() || m.family == "gemma" && m.major >= 4 }

// takesBudget: a model with levels understands a number of tokens, too. From Gemini 4
// on it is an error: "Thinking budget is not supported for this model. Use thinking
// level instead."
//
// https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/guides/gemini-4-argon
func (m model) takesBudget() bool {
	return m.family == "gemini" && (m.major < 4 || m.major == newest)
}

// callIDs: function calls and their responses carry ids.
func (m model) callIDs() bool {
	return m.three() || m.family == "claude" || m.family == "gpt-oss"
}

// signsCalls: the first function call of a step must carry a signature.
func (m model) signsCalls() bool { return m.three() }

// nestedImages: images of a function response stand inside it, if it takes their type.
//
// https://ai.google.dev/gemini-api/docs/function-calling#multimodal
func (m model) nestedImages() bool { return m.three() || m.family != "gemini" }

// validates: the mode VALIDATED holds calls to their schemas without forcing one.
//
// https://ai.google.dev/gemini-api/docs/function-calling#function_calling_modes
func (m model) validates() bool { return m.three() }

// prefill: a request may end with a turn of the model. Gemini 3.5 Flash-Lite and
// everything since 3.6 refuse that.
//
// https://ai.google.dev/gemini-api/docs/whats-new-gemini-3.6
func (m model) prefill() bool {
	if !m.three() || m.major == 3 && m.minor < 5 {
		return true
	}
	return m.major == 3 && m.minor == 5 && m.tier != "flash-lite"
}

// budgets are the thinking budgets of a model, in tokens.
type budgets struct {
	least, most int32 // what the API takes, 0 aside; most 0 = not known
	always      bool  // thinking cannot be turned off
	// What the efforts come to.
	minimal, low, medium, high int32
}

// dynamic lets the model choose how much to think.
const dynamic = -1

// budgets is the table of the models that are told a number of tokens.
//
// https://ai.google.dev/gemini-api/docs/thinking#set-budget
func (m model) budgets() budgets {
	if m.family == "gemini" && m.major == 2 && m.minor == 5 {
		switch m.tier {
		case "pro":
			return budgets{least: 128, most: 32768, always: true, minimal: 128, low: 2048, medium: 8192, high: 32768}
		case "flash-lite":
			return budgets{least: 512, most: 24576, minimal: 512, low: 2048, medium: 8192, high: 24576}
		case "flash":
			return budgets{least: 1, most: 24576, minimal: 128, low: 2048, medium: 8192, high: 24576}
		}
	}
	return budgets{least: 1, minimal: dynamic, low: dynamic, medium: dynamic, high: dynamic}
}

// of is the budget of an effort. Efforts above HIGH get what HIGH gets: the most.
func (b budgets) of(e llmdv1.ReasoningEffort) int32 {
	switch e {
	case llmdv1.ReasoningEffort_REASONING_EFFORT_MINIMAL:
		return b.minimal
	case llmdv1.ReasoningEffort_REASONING_EFFORT_LOW:
		return b.low
	case llmdv1.ReasoningEffort_REASONING_EFFORT_MEDIUM:
		return b.medium
	default:
		return b.high
	}
}
