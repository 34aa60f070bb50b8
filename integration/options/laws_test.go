package options

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/providersim"
)

// law is what must hold of every row. It returns what is wrong, or nothing.
type law struct {
	name  string
	check func(*row) string
}

func laws() []law {
	return []law{
		{"an explicit wish has an effect, an error or words", somethingCame},
		{"an error names the field and says what is lacking", namedError},
		{"a wish changes nothing but its own members", ownMembers},
		{"what was there keeps its order", order},
		{"the provider would take it", taken},
		{"EffectiveOptions says what is sent", saidAsSent},
		{"a changed wish is told", told},
		{"a value arrives as it was given", arrives},
	}
}

func checkLaws(t *testing.T, rows []row) {
	for _, l := range laws() {
		t.Run(l.name, func(t *testing.T) {
			for i := range rows {
				if wrong := l.check(&rows[i]); wrong != "" {
					t.Errorf("%s: %s\n\tbecame %s | %s", rows[i].name(), wrong, rows[i].became(), rows[i].effective())
				}
			}
		})
	}
}

// somethingCame: never nothing. EffectiveOptions alone is no effect.
func somethingCame(r *row) string {
	if r.quiet != "" || r.became() != "-" || r.with.response == nil {
		return ""
	}
	e := r.with.response.GetEffective()
	if len(e.GetAdjustments()) > len(r.without.response.GetEffective().GetAdjustments()) || e.GetReasoningDisabledReason() != "" {
		return ""
	}
	return "it was dropped in silence"
}

// capabilities are the words for what is lacking. Callers decide by them, so the same
// lack has the same word on every API.
func capabilities() map[string][]string {
	return map[string][]string{
		"config.temperature":                        {"temperature"},
		"config.top_p":                              {"top_p"},
		"config.top_k":                              {"top_k"},
		"config.max_output_tokens":                  {"max_output_tokens"},
		"config.stop_sequences":                     {"stop_sequences"},
		"config.stop_sequences[0]":                  {"stop_sequences"},
		"config.seed":                               {"seed"},
		"config.output_json_schema":                 {"output_json_schema"},
		"config.parallel_tool_calls":                {"parallel_tool_calls"},
		"config.service_tier":                       {"service_tier"},
		"config.verbosity":                          {"verbosity"},
		"reasoning":                                 {"reasoning"},
		"reasoning.effort":                          {"reasoning_effort"},
		"reasoning.budget_tokens":                   {"reasoning_budget", "reasoning"},
		"reasoning.include_summary":                 {"reasoning_summary"},
		"cache.retention":                           {"cache_retention"},
		"user":                                      {"user"},
		"tool_choice":                               {"tool_choice"},
		"context.tools[0].strict":                   {"strict_tools"},
		"context.tools[1].strict":                   {"strict_tools"},
		"context.messages[1]":                       {"prefill"},
		"context.messages[0].user.content[1].image": {"images"},
		"context.messages[2].tool_result.content[1].image": {"images"},
	}
}

func namedError(r *row) string {
	e := r.with.refusal
	switch {
	case e == nil:
		return ""
	case e.code != "InvalidArgument" || e.reason != "CAPABILITY_UNSUPPORTED" && e.reason != "INVALID_REQUEST":
		return "code " + e.code + ", reason " + e.reason
	case len(e.fields) != 1:
		return "it names not one field"
	case e.message == "":
		return "it says nothing"
	}
	field, ok := strings.CutPrefix(e.fields[0], "generation.")
	own := slices.ContainsFunc(r.fields, func(f string) bool {
		return f == field || f == "provider_options_json[*]" && strings.HasPrefix(field, "provider_options_json[")
	})
	switch {
	case !ok || !own:
		return "the field is not one of the wish's: " + strings.Join(r.fields, ", ")
	case e.reason == "INVALID_REQUEST":
		return ""
	case !slices.Contains(capabilities()[field], e.capability):
		return "the capability is called " + strings.Join(capabilities()[field], " or ")
	}
	return ""
}

// ownMembers: the members of bodies and the headers that an option may touch, as the
// providers spell them.
func ownMembers(r *row) string {
	may := spelling(r)
	for _, c := range r.changes {
		if !may.MatchString(c.path) {
			return "it touches " + c.path
		}
	}
	for _, h := range r.headers {
		name, _, _ := strings.Cut(strings.TrimPrefix(h, "-"), ":")
		if !may.MatchString("header " + strings.ToLower(name)) {
			return "it touches the header " + name
		}
	}
	return ""
}

func order(r *row) string {
	if r.with.refusal != nil || inOrder(r.without.body, r.with.body) {
		return ""
	}
	return "members have changed places"
}

// taken runs the provider's own rules over the request. What a caller writes in the
// provider's words is the caller's.
func taken(r *row) string {
	if r.with.refusal != nil || r.option == "provider_options_json" {
		return ""
	}
	for _, broken := range providersim.CheckStructure(r.api, r.model(), []byte(r.with.response.GetRequest().GetBodyJson())) {
		if tolerated()[broken.Rule+" "+r.label] == "" {
			return "refused for " + broken.String()
		}
	}
	return ""
}

// tolerated are the rules that a row may break for a model, and why: the simulator
// knows models by their names alone, and llmd knows of these what it does not.
func tolerated() map[string]string {
	const restful = "it does not reason unless it is asked to, so sampling is free"
	return map[string]string{
		"chat.sampling.reasoning_model openai:gpt-5.4": restful,
		"responses.sampling.reasoning_model gpt-5.4":   restful,
		"chat.image.supported deepseek":                "the catalogue says that it takes images",
		"google.thinking.level 4-neon":                 "the catalogue says that it has xhigh",
		"google.thinking.budget 3-flash":               "no range is documented for models with levels",
		"google.thinking.budget 3.1-pro":               "as above",
		"google.thinking.budget 4-neon":                "as above",
		"google.thinking.budget 3.6-flash":             "as above",
		"chat.max_tokens.least openrouter:gpt-5.4":     "what is behind OpenRouter is not known; it says so itself",
	}
}

// limits are the members that hold the output limit.
func limits() [][]string {
	return [][]string{
		{"max_tokens"},
		{"max_completion_tokens"},
		{"max_output_tokens"},
		{"generationConfig", "maxOutputTokens"},
		{"inferenceConfig", "maxTokens"},
	}
}

func saidAsSent(r *row) string {
	if r.with.refusal != nil {
		return ""
	}
	e, body := r.with.response.GetEffective(), r.with.body
	limit := "0"
	for _, path := range limits() {
		if n := body.get(path...); n != nil {
			limit = n.text
		}
	}
	switch said := e.GetMaxOutputTokens(); {
	case compactInt(said) != limit:
		return "the limit is said to be " + compactInt(said) + ", sent is " + limit
	case r.option == "service_tier" && e.GetServiceTier() != r.asked().GetConfig().GetServiceTier():
		return "another tier is said"
	case r.option == "verbosity" && e.GetVerbosity() != r.asked().GetConfig().GetVerbosity():
		return "another verbosity is said"
	}
	// Tools that are only declared for the sake of the history are not exposed.
	if mode := r.asked().GetToolChoice().GetMode(); mode == llmdv1.ToolMode_TOOL_MODE_NONE || r.wish.base == past {
		return ""
	}
	if names := toolNames(body); !slices.Equal(names, e.GetToolNames()) {
		return "the tools sent are " + strings.Join(names, ", ")
	}
	return ""
}

// asked is the request of the row.
func (r *row) asked() *llmdv1.Generation {
	g := r.wish.base.request(r.target)
	r.set(g, r.target)
	return g
}

func compactInt(n int32) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// toolNames are the names of the tools in a body, in their order.
func toolNames(body *node) []string {
	list := body.get("tools")
	if list == nil {
		list = body.get("toolConfig", "tools")
	}
	var names []string
	if list == nil {
		return names
	}
	for _, m := range list.members {
		if f := m.value.get("functionDeclarations"); f != nil {
			for _, d := range f.members {
				names = append(names, quoted(d.value.get("name")))
			}
			continue
		}
		for _, path := range [][]string{{"name"}, {"function", "name"}, {"toolSpec", "name"}} {
			if n := m.value.get(path...); n != nil {
				names = append(names, quoted(n))
			}
		}
	}
	return names
}

func quoted(n *node) string {
	var s string
	_ = json.Unmarshal([]byte(n.String()), &s) // it is a string, else the test fails
	return s
}

// told: where the effort is not the one that was asked for, or the budget in the body
// is not, EffectiveOptions says why.
func told(r *row) string {
	if r.with.refusal != nil {
		return ""
	}
	e, asked := r.with.response.GetEffective(), r.asked().GetReasoning()
	if asked == nil {
		return ""
	}
	words := len(e.GetAdjustments()) > 0 || e.GetReasoningDisabledReason() != ""
	if want := asked.GetEffort(); want != llmdv1.ReasoningEffort_REASONING_EFFORT_UNSPECIFIED && want != e.GetReasoningEffort() && !words {
		return "the effort is " + e.GetReasoningEffort().String()
	}
	if asked.BudgetTokens == nil || words {
		return ""
	}
	if !strings.Contains(r.with.response.GetRequest().GetBodyJson(), ":"+compactInt(asked.GetBudgetTokens())) {
		return "the budget is not sent"
	}
	return ""
}

// arrives: options that are a number are one member, which is that number.
func arrives(r *row) string {
	numbers := []string{"temperature", "top_p", "top_k", "seed", "max_output_tokens"}
	if r.with.refusal != nil || !slices.Contains(numbers, r.option) || strings.Contains(r.effective(), "adjusted") {
		return ""
	}
	if len(r.changes) != 1 || r.changes[0].new == nil || r.changes[0].new.text != r.value {
		return "it is another number"
	}
	return ""
}
