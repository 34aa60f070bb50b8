package adapters

import (
	"fmt"
	"iter"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/schema"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// ToolRules is what a model and its API take of the schemas of tools.
type ToolRules struct {
	// Draft is what is taken of the drafts of JSON Schema.
	Draft schema.Draft
	// Typed: a schema must say that it is one of an object.
	Typed bool
	// Listed: it must have "properties", too.
	Listed bool
	// Root are keywords that the top of a schema must not have.
	Root []string
	// RootAlone are those that it may have alone, and so it has no definitions; nil = all.
	RootAlone []string
	// Regular: it must have no regular expression that not every engine reads.
	Regular bool
	// Grammar: it must have nothing that llama.cpp makes no grammar of.
	Grammar bool
	// Note is told what was left out.
	Note func(string)
	// NotStrict says why the model cannot be held to a schema; empty = it can.
	NotStrict string
	// Strict is what it takes of a schema that it is held to.
	Strict schema.Rules
	// Room is what is left in the request for schemas that it is held to; nil has no end.
	// Tools for which it must be come first, see [RequiredFirst].
	Room *schema.Room
}

// ToolSchema is the schema of a tool as it goes out, and whether the model is to be
// held to it, for which it is made strict. That PREFER cannot be fulfilled is no error;
// for REQUIRE the error names the tool, and the keyword that is in the way.
func (c *Call) ToolSchema(t *llmdv1.Tool, rules ToolRules) (text string, strict bool, err error) {
	text = t.GetParametersJsonSchema()
	switch {
	case text == "":
		text = schema.NoParameters
	case jsonstream.Object([]byte(text)) != nil:
		return "", false, &FieldError{Field: c.ToolField(t) + ".parameters_json_schema", Detail: notObject}
	}
	if rules.Draft.Moonshot {
		// What stands at the root matters to how it is put.
		text = rules.flat(t, schema.Typed(text))
	}
	text = FitSchema(text, rules.Draft, fmt.Sprintf("tool %q", t.GetName()), rules.Note)
	if rules.Typed {
		text = schema.Typed(text)
	}
	if rules.Listed {
		text = schema.Listed(text)
	}
	mode := t.GetStrict()
	if mode != llmdv1.StrictMode_STRICT_MODE_PREFER && mode != llmdv1.StrictMode_STRICT_MODE_REQUIRE {
		return rules.flat(t, text), false, nil
	}
	why := rules.NotStrict
	if why == "" {
		converted, err := schema.Strict(text, rules.Strict)
		if err == nil {
			err = rules.Room.Take(converted)
		}
		if err == nil {
			return converted, true, nil
		}
		why = strings.TrimPrefix(err.Error(), "schema: ")
	}
	if mode == llmdv1.StrictMode_STRICT_MODE_REQUIRE {
		return "", false, &CapabilityError{
			Capability: "strict_tools", Field: c.ToolField(t) + ".strict", Detail: fmt.Sprintf("tool %q: %s", t.GetName(), why),
		}
	}
	return rules.flat(t, text), false, nil
}

// RequiredFirst are tools with their places, first those to whose schemas the model must
// be held.
func RequiredFirst(tools []*llmdv1.Tool) iter.Seq2[int, *llmdv1.Tool] {
	return func(yield func(int, *llmdv1.Tool) bool) {
		for _, first := range []bool{true, false} {
			for i, t := range tools {
				if required := t.GetStrict() == llmdv1.StrictMode_STRICT_MODE_REQUIRE; required == first && !yield(i, t) {
					return
				}
			}
		}
	}
}

// FitSchema puts a schema in the words of the draft that is taken, and notes what was put
// otherwise; what is what the schema is of.
func FitSchema(text string, draft schema.Draft, what string, note func(string)) string {
	fit, had := schema.Fit(text, draft)
	if len(had) > 0 && note != nil {
		note(fmt.Sprintf("%s: %s of the schema is put in the words of JSON Schema that the API takes", what, strings.Join(had, ", ")))
	}
	return fit
}

// RegularSchema is a schema without the regular expressions that not every engine reads,
// and notes that they are left out; what is what the schema is of.
func RegularSchema(text, what string, note func(string)) string {
	regular, had := schema.Fit(text, schema.Regular())
	if len(had) > 0 && note != nil {
		note(fmt.Sprintf("%s: regular expressions of the schema are left out that the API does not read (%s)", what, strings.Join(had, ", ")))
	}
	return regular
}

// GrammarSchema is a schema without what llama.cpp makes no grammar of, and notes that it is
// left out; what is what the schema is of.
func GrammarSchema(text, what string, note func(string)) string {
	fit, had := schema.Fit(text, schema.GrammarDraft())
	if len(had) > 0 && note != nil {
		note(fmt.Sprintf("%s: %s of the schema is left out, of which the host makes no grammar", what, strings.Join(had, ", ")))
	}
	return fit
}

// flat takes out what a schema must not have to which the model is not held.
func (r *ToolRules) flat(t *llmdv1.Tool, text string) string {
	if r.Regular {
		text = RegularSchema(text, fmt.Sprintf("tool %q", t.GetName()), r.Note)
	}
	if r.Grammar {
		text = GrammarSchema(text, fmt.Sprintf("tool %q", t.GetName()), r.Note)
	}
	root := r.Root
	if r.RootAlone != nil {
		text = r.inlined(t, text)
		root = schema.Besides(text, r.RootAlone)
	}
	flat, had := schema.Flat(text, root)
	if len(had) > 0 && r.Listed {
		flat = schema.Listed(flat)
	}
	if len(had) > 0 && r.Note != nil {
		r.Note(fmt.Sprintf("tool %q: %s at the top of the schema is left out, which the API refuses there", t.GetName(), strings.Join(had, ", ")))
	}
	return flat
}

// inlined takes the definitions out of a schema.
func (r *ToolRules) inlined(t *llmdv1.Tool, text string) string {
	text, changed := schema.Inlined(text)
	if changed && r.Note != nil {
		r.Note(fmt.Sprintf("tool %q: what the references of the schema refer to stands in their place, as the API takes no definitions", t.GetName()))
	}
	return text
}

// NeedsTool fails where a tool must be called and there is none.
func (c *Call) NeedsTool() error {
	if c.Options.ToolMode == llmdv1.ToolMode_TOOL_MODE_REQUIRED {
		return &FieldError{Field: "generation.tool_choice", Detail: "there is no such tool to be called"}
	}
	return nil
}

// HistoryTools are the names of the tools that the history called, for APIs that take
// no calls without the tools.
func HistoryTools(history *llmdv1.Context) []string {
	var names []string
	seen := map[string]bool{}
	for _, m := range history.GetMessages() {
		for _, b := range m.GetAssistant().GetContent() {
			if call := b.GetToolCall(); call != nil && !seen[call.GetName()] {
				seen[call.GetName()] = true
				names = append(names, call.GetName())
			}
		}
	}
	return names
}

// MaxToolName is the longest name of a tool that the contract and most APIs take.
const MaxToolName = 64

// WordChar says whether a letter may stand in the name of a tool.
func WordChar(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
