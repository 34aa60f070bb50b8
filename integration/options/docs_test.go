package options

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters/schema"
)

const docsHead = `# Options

One neutral request, many spellings. An option that the caller sets is honoured or
refused, and never bent in silence:

- **Sent** in the words of the provider: the table below says which.
- **Refused** with INVALID_ARGUMENT, reason ` + "`CAPABILITY_UNSUPPORTED`" + `: metadata ` + "`capability`" + ` and one
  field violation say what cannot be had. Leave the option out, or take another model.
- **Told** in ` + "`EffectiveOptions`" + `, where the contract allows less than what was asked for:
  ` + "`adjustments`" + ` is in plain words, ` + "`reasoning_disabled_reason`" + ` says why thinking was turned
  off. ` + "`started`" + ` and ` + "`PrepareContext`" + ` carry it.

Tools are sent in the order of their names (bytewise), whatever the caller's: providers
cache a request by how it begins. With a tool that must be called by name, only that one
is sent. EffectiveOptions.tool_names lists them in the caller's order.

Options that are not set are not sent, except where an API must be given a limit.
` + "`provider_options_json`" + ` is laid over the finished body, for everything that has no option of
its own; it can change all but that the answer is streamed. ` + "`PrepareContext`" + ` shows the
exact request without calling the provider.

## Schemas

A schema is in strict form when a provider can hold a model to it
([OpenAI](https://platform.openai.com/docs/guides/structured-outputs#supported-schemas),
[Anthropic](https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations)):
its root is an object, every object has all its properties in ` + "`required`" + ` and
` + "`\"additionalProperties\": false`" + `, what may be missing may be ` + "`null`" + ` instead, and there is no
` + "`oneOf`, `allOf`, `not`, `if` or `patternProperties`" + ` in it. Providers differ in the rest, such as
` + "`$ref`, `format` and `minimum`" + `.

` + "```json" + `
{"type": "object", "properties": {"place": {"type": "string"}, "far": {"type": ["boolean", "null"]}},
 "required": ["place", "far"], "additionalProperties": false}
` + "```" + `

- **The answer**, ` + "`output_json_schema`" + `: it comes as text, in deltas like any other; parse it when its
  block has ended; where the stop reason is LENGTH it is cut. The APIs of OpenAI, and hosts that
  speak them, hold a model to a schema in strict form alone: another one is sent as it is, and
  ` + "`adjustments`" + ` says so. For Claude, objects that do not say otherwise are closed by
  ` + "`\"additionalProperties\": false`" + `.
- **Calls of a tool**, ` + "`strict`" + ` with PREFER or REQUIRE: llmd itself puts the tool's schema into strict
  form, so what is optional in it **may come as** ` + "`null`" + `: take that for missing, as
  [` + "`toolcheck`" + `](../toolcheck/doc.go) does. A schema that has no strict form is refused with REQUIRE, naming
  the keyword and its place, and sent as it is with PREFER. So are all with PREFER where a
  provider refuses the schemas together, as Claude does from a size on that nobody can compute:
  the request goes out once more, and a [diagnostic](events.md#diagnostics) says so.

## Which models

The tables are made from requests that a server prepares for each option and model
named below (` + "`integration/options`" + `; ` + "`go test ./integration/options -update`" + ` writes this
page). Models that are configured otherwise may differ: what a model can do is data,
see [the configuration](configuration.md).
`

// The example of a schema in strict form is in that of all providers.
func TestSchemaExample(t *testing.T) {
	_, example, _ := strings.Cut(docsHead, "```json\n")
	example, _, _ = strings.Cut(example, "```")
	if !schema.Holds(example, schema.OpenAI()) || !schema.Holds(example, schema.Claude()) {
		t.Errorf("not in strict form: %s", example)
	}
}

// references are the providers' own pages.
func references() map[string]string {
	return map[string]string{
		apiAnthropic: "https://docs.anthropic.com/en/api/messages",
		apiChat:      "https://platform.openai.com/docs/api-reference/chat/create",
		apiResponses: "https://platform.openai.com/docs/api-reference/responses/create",
		apiAzure:     "https://learn.microsoft.com/azure/ai-foundry/openai/how-to/responses",
		apiGemini:    "https://ai.google.dev/api/generate-content",
		apiVertex:    "https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference",
		apiBedrock:   "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html",
		apiMistral:   "https://docs.mistral.ai/api",
	}
}

// checkDocs keeps docs/options.md in step.
func checkDocs(t *testing.T, rows []row) {
	var b strings.Builder
	b.WriteString(docsHead)
	writeMatrix(&b, rows)
	writeOptions(&b, rows)
	writeConflicts(&b, rows)
	b.WriteString("\n## The models\n\n| API | called here | model |\n|---|---|---|\n")
	for _, to := range targets() {
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", to.api, to.label, to.name)
	}
	compare(t, "../../docs/options.md", b.String())
}

// options are the names of the options, in order.
func options() []string {
	var all []string
	for _, w := range wishes() {
		if !slices.Contains(all, w.option) {
			all = append(all, w.option)
		}
	}
	return all
}

// writeMatrix says what each option becomes on each API.
func writeMatrix(b *strings.Builder, rows []row) {
	b.WriteString("\n## What each option becomes\n\n| option |")
	for _, api := range apis() {
		fmt.Fprintf(b, " [%s](%s) |", api, references()[api])
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(apis())) + "\n")
	for _, option := range options() {
		fmt.Fprintf(b, "| `%s` |", option)
		for _, api := range apis() {
			fmt.Fprintf(b, " %s |", cell(rows, option, api))
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n\"Some\" means some of the models; which and why is below.\n")
}

// shown is how a member that an option touched is shown in the matrix; empty = it is not.
func shown(option, path string) string {
	path = regexp.MustCompile(`\[\d+\]`).ReplaceAllString(path, "[]")
	first, _, _ := strings.Cut(path, "[")
	switch option {
	case "image":
		return "`" + first + "`"
	case "strict":
		if !strings.HasSuffix(path, "strict") && !strings.HasSuffix(path, "functionCallingConfig") {
			return ""
		}
	case "tool_choice":
		if strings.Contains(path, "thinking") {
			return ""
		}
	case "cache":
		// A marker is a member, or it makes a list of a text.
		if first != path {
			return "`" + first + "` (markers)"
		}
	}
	return "`" + path + "`"
}

// cell is the members and headers that an option became, and whether any model refused
// it altogether.
func cell(rows []row, option, api string) string {
	if option == "provider_options_json" {
		return "any member"
	}
	var words []string
	taken, refused := map[string]bool{}, map[string]bool{}
	for i := range rows {
		r := &rows[i]
		if r.option != option || r.api != api {
			continue
		}
		if r.with.refusal != nil {
			refused[r.label] = true
			continue
		}
		became := r.members()
		taken[r.label] = taken[r.label] || len(became) > 0
		for _, w := range became {
			if !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
	}
	switch {
	case len(words) == 0 && len(refused) > 0 && option != "cache":
		return "refused"
	case len(words) == 0:
		return "-"
	}
	for label := range refused {
		if !taken[label] {
			words = append(words, "some refuse")
			break
		}
	}
	return strings.Join(words, ", ")
}

// members are what a row is shown as in the matrix.
func (r *row) members() []string {
	var all []string
	for _, c := range r.changes {
		if name := shown(r.option, c.path); name != "" && c.new != nil {
			all = append(all, name)
		}
	}
	for _, h := range r.headers {
		if name, _, _ := strings.Cut(h, ":"); !strings.HasPrefix(h, "-") {
			all = append(all, "header `"+name+"`")
		}
	}
	return all
}

// writeOptions says for each option where it is refused or changed.
func writeOptions(b *strings.Builder, rows []row) {
	b.WriteString("\n## Where options are refused or changed\n")
	for _, option := range options() {
		var lines strings.Builder
		for _, s := range sayings(rows, func(r *row) bool { return r.option == option }) {
			fmt.Fprintf(&lines, "- %s: %s.\n", s.where(), s.words)
		}
		lines.WriteString(silences(option))
		if lines.Len() > 0 {
			fmt.Fprintf(b, "\n### `%s`\n\n%s", option, lines.String())
		}
	}
}

// silences are the values of which nothing need come.
func silences(option string) string {
	var b strings.Builder
	said := map[string]bool{}
	for _, w := range wishes() {
		if w.option == option && w.quiet != "" && !said[w.quiet] {
			said[w.quiet] = true
			fmt.Fprintf(&b, "- Nothing comes of %s: %s.\n", w.value, w.quiet)
		}
	}
	return b.String()
}

// saying is a refusal or an adjustment, and the models that it was said of.
type saying struct {
	words  string
	models []target
}

// where names the APIs, and their models where it is not all of them.
func (s *saying) where() string {
	var all []string
	for _, api := range apis() {
		var labels []string
		count := 0
		for _, to := range targets() {
			if to.api != api {
				continue
			}
			count++
			if slices.Contains(s.models, to) {
				labels = append(labels, to.label)
			}
		}
		switch len(labels) {
		case 0:
		case count:
			all = append(all, api)
		default:
			all = append(all, api+" ("+strings.Join(labels, ", ")+")")
		}
	}
	if len(all) == len(apis()) && !strings.Contains(strings.Join(all, ""), "(") {
		return "everywhere"
	}
	return strings.Join(all, ", ")
}

// sayings collects what is said to rows, each once, in the order in which it is said.
func sayings(rows []row, of func(*row) bool) []*saying {
	var all []*saying
	for i := range rows {
		r := &rows[i]
		if !of(r) {
			continue
		}
		for _, words := range r.said() {
			at := slices.IndexFunc(all, func(s *saying) bool { return s.words == words })
			if at < 0 {
				all = append(all, &saying{words: words})
				at = len(all) - 1
			}
			if s := all[at]; !slices.Contains(s.models, r.target) {
				s.models = append(s.models, r.target)
			}
		}
	}
	return all
}

// said is what the caller is told, without numbers that belong to one value.
func (r *row) said() []string {
	if e := r.with.refusal; e != nil {
		if e.reason != "CAPABILITY_UNSUPPORTED" {
			return nil
		}
		field := strings.Join(e.fields, ", ")
		return []string{"refused, " + general(nameless(strings.TrimPrefix(e.message, field+": "))) + " (`" + strings.TrimPrefix(field, "generation.") + "`)"}
	}
	var all []string
	old, now := r.without.response.GetEffective(), r.with.response.GetEffective()
	if why := now.GetReasoningDisabledReason(); why != "" && why != old.GetReasoningDisabledReason() {
		all = append(all, "thinking is turned off: "+general(nameless(why)))
	}
	for _, a := range now.GetAdjustments() {
		if !slices.Contains(old.GetAdjustments(), a) {
			all = append(all, "told: "+general(nameless(a)))
		}
	}
	return all
}

// general puts N for the numbers of budgets and limits, and one word for all efforts.
func general(s string) string {
	const least, stands = "1,024 tokens", "1K"
	s = strings.ReplaceAll(s, least, stands)
	s = regexp.MustCompile(`\b\d+ tokens( instead of \d+)?(, to fit the output limit of \d+)?|output limit of \d+`).ReplaceAllStringFunc(s, func(m string) string {
		return regexp.MustCompile(`\d+`).ReplaceAllString(m, "N")
	})
	s = regexp.MustCompile(`reasoning effort (none|minimal|low|medium|high|xhigh|max); it has .*`).ReplaceAllString(s, "such reasoning effort")
	s = regexp.MustCompile(`reasoning\.effort (minimal|low|medium|high)`).ReplaceAllString(s, "reasoning.effort")
	s = regexp.MustCompile(`service tier (fast|flex)`).ReplaceAllString(s, "such service tier")
	return strings.ReplaceAll(regexp.MustCompile(`tool "[a-z]*": `).ReplaceAllString(s, ""), stands, least)
}

// writeConflicts has a section for each contradiction. What is refused of one of the
// two wishes alone is not said again.
func writeConflicts(b *strings.Builder, rows []row) {
	b.WriteString("\n## What does not go together\n\nWhere nothing is said both wishes are sent, or one is refused by itself.\n")
	alone := map[string]bool{}
	for i := range rows {
		if r := &rows[i]; r.conflict == "" && r.with.refusal != nil {
			for _, words := range r.said() {
				alone[r.target.name+words] = true
			}
		}
	}
	var sections []string
	for _, w := range conflicts() {
		if !slices.Contains(sections, w.conflict) {
			sections = append(sections, w.conflict)
			writeConflict(b, rows, w.conflict, alone)
		}
	}
}

// writeConflict is one section: a line for each thing that is said, with all the wishes
// that it is said to.
func writeConflict(b *strings.Builder, rows []row, conflict string, alone map[string]bool) {
	var keys []string
	wishesOf := map[string][]string{}
	add := func(wish, rest string) {
		if wishesOf[rest] == nil {
			keys = append(keys, rest)
		}
		wishesOf[rest] = append(wishesOf[rest], wish)
	}
	for _, w := range conflicts() {
		if w.conflict != conflict {
			continue
		}
		for _, s := range sayings(rows, func(r *row) bool { return r.conflict == conflict && r.value == w.value }) {
			s.models = slices.DeleteFunc(s.models, func(to target) bool { return alone[to.name+s.words] })
			if len(s.models) > 0 {
				add(w.value, s.where()+" | "+s.words)
			}
		}
	}
	fmt.Fprintf(b, "\n### %s\n\n", strings.ToUpper(conflict[:1])+conflict[1:])
	if len(keys) == 0 {
		return
	}
	b.WriteString("| asked for | where | what comes of it |\n|---|---|---|\n")
	for _, rest := range keys {
		fmt.Fprintf(b, "| %s | %s |\n", strings.Join(wishesOf[rest], "<br>"), rest)
	}
}
