package transform

import (
	"fmt"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
)

// unnamed is what a call without a name is sent as.
const unnamed = "unknown"

// nameRule is the target's rule for names of tools. Tools that are exposed keep it; a
// history may hold calls that another model made up, or of tools that are gone.
type nameRule struct{ adapters.NameRule }

// allows says whether a name may be sent as it is.
func (r nameRule) allows(name string) bool {
	return r.MaxLen == 0 || name != "" && len(name) <= r.MaxLen && !strings.ContainsFunc(name, r.forbids) && !r.badStart(name)
}

func (r nameRule) forbids(c rune) bool {
	return !adapters.WordChar(c) && !strings.ContainsRune(r.Extra, c)
}

func (r nameRule) badStart(name string) bool {
	first := rune(name[0])
	return r.LetterFirst && (first != '_' && !adapters.WordChar(first) || first == '-' || '0' <= first && first <= '9')
}

// spelling is a name within the rule: what is forbidden becomes an underscore, what is
// too long is cut.
func (r nameRule) spelling(name string) string {
	if name == "" {
		return unnamed
	}
	name = strings.Map(func(c rune) rune {
		if r.forbids(c) {
			return '_'
		}
		return c
	}, name)
	if r.badStart(name) {
		name = "_" + name
	}
	return name[:min(len(name), r.MaxLen)]
}

// name is what a call's tool is called in what is sent.
func (a *answer) name(k int, name string) string {
	rule := nameRule{a.Constraints.ToolNames}
	if rule.allows(name) {
		return name
	}
	fit := rule.spelling(name)
	a.note(k, rewritten, ruleCallName, fmt.Sprintf("%q is sent as %q", clip(name), fit))
	return fit
}
