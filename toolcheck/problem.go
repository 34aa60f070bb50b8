package toolcheck

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Problem is one place where arguments do not fit.
type Problem struct {
	// Path is where, for people: "filter.tags[2]", or "root" for the arguments as a
	// whole. Long ones are cut.
	Path string
	// Pointer is where as a JSON Pointer (RFC 6901): "/filter/tags/2", or "" for the
	// arguments as a whole. It is whole, but where it would have more than 1 KiB it
	// is that of the innermost value around the place for which it has not.
	Pointer string
	// Message is what is wrong, for people. It does not quote the arguments.
	Message string
}

func (p Problem) String() string { return p.Path + ": " + p.Message }

const (
	root        = "root"
	maxProblems = 20
	maxPath     = 200
	maxPointer  = 1 << 10
	maxKey      = 64
	maxChoices  = 200
)

// problems lists what a failed validation found, in the order of the places.
func problems(e *jsonschema.ValidationError, arguments string) []Problem {
	var l listing
	l.add(e)
	slices.SortStableFunc(l, func(a, b finding) int {
		return cmp.Or(slices.CompareFunc(a.at, b.at, compareTokens), cmp.Compare(a.message, b.message))
	})
	var all []Problem
	for _, f := range l {
		p := Problem{Path: path(json.RawMessage(arguments), f.at), Pointer: pointer(f.at), Message: f.message}
		if n := len(all); n == 0 || all[n-1] != p {
			all = append(all, p)
		}
		if len(all) == maxProblems {
			break
		}
	}
	return all
}

// compareTokens puts the items of arrays in the order of their numbers.
func compareTokens(a, b string) int {
	if i, err := strconv.Atoi(a); err == nil {
		if j, err := strconv.Atoi(b); err == nil {
			return cmp.Compare(i, j)
		}
	}
	return cmp.Compare(a, b)
}

// finding is a problem whose place is not spelled yet.
type finding struct {
	at      []string
	message string
}

type listing []finding

func (l *listing) put(at []string, format string, args ...any) {
	*l = append(*l, finding{at: at, message: fmt.Sprintf(format, args...)})
}

// add lists a failure, or those that it consists of.
func (l *listing) add(e *jsonschema.ValidationError) {
	at := e.InstanceLocation
	child := func(name string) []string { return append(slices.Clone(at), name) }
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			l.put(child(name), "missing")
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			l.put(child(name), "missing")
		}
	case *kind.Dependency:
		for _, name := range k.Missing {
			l.put(child(name), "missing")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			l.put(child(name), "unexpected property")
		}
	case *kind.PropertyNames:
		l.put(child(k.Property), "unexpected name of a property")
	case *kind.AnyOf, *kind.OneOf:
		l.put(at, "%s", alternatives(e))
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, c := range e.Causes {
			l.add(c)
		}
	case *kind.RefCycle:
		// The schema's fault, not that of the arguments.
	default:
		l.put(at, "%s", plain(e.ErrorKind))
	}
}

// alternatives says that no alternative fits, or more than one where one alone may.
func alternatives(e *jsonschema.ValidationError) string {
	if k, ok := e.ErrorKind.(*kind.OneOf); ok && len(k.Subschemas) > 0 {
		return "fits more than one alternative"
	}
	var want []string
	got := ""
	for _, c := range e.Causes {
		k, ok := c.ErrorKind.(*kind.Type)
		if !ok || !slices.Equal(c.InstanceLocation, e.InstanceLocation) {
			return fmt.Sprintf("fits none of %d alternatives", len(e.Causes))
		}
		want, got = append(want, k.Want...), k.Got
	}
	return "expected " + strings.Join(want, " or ") + ", got " + got
}

// plain says what a keyword wants.
func plain(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "expected " + strings.Join(k.Want, " or ") + ", got " + k.Got
	case *kind.Enum:
		return choices(k.Want)
	case *kind.Const:
		return choices([]any{k.Want})
	case *kind.FalseSchema:
		return "not allowed"
	case *kind.Not:
		return "fits what is excluded"
	case *kind.Pattern:
		return "does not match the pattern"
	case *kind.Format:
		return "expected the format " + k.Want
	case *kind.Minimum:
		return "expected at least " + number(k.Want)
	case *kind.Maximum:
		return "expected at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "expected more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "expected less than " + number(k.Want)
	case *kind.MultipleOf:
		return "expected a multiple of " + number(k.Want)
	}
	return counted(k)
}

// counted says what the keywords about sizes want.
func counted(k jsonschema.ErrorKind) string {
	const least, most = "expected at least %d %s, got %d", "expected at most %d %s, got %d"
	switch k := k.(type) {
	case *kind.MinLength:
		return fmt.Sprintf(least, k.Want, "characters", k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf(most, k.Want, "characters", k.Got)
	case *kind.MinItems:
		return fmt.Sprintf(least, k.Want, "items", k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf(most, k.Want, "items", k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf(least, k.Want, "properties", k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf(most, k.Want, "properties", k.Got)
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d items too many", k.Count)
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains, *kind.MinContains:
		return "has too few items of the kind that it must contain"
	case *kind.MaxContains:
		return "has too many items of the kind that it must contain"
	}
	return "does not fit the schema"
}

// choices lists the values that a schema allows: they are the tool's words, not the
// model's.
func choices(want []any) string {
	text, err := json.Marshal(want)
	if err != nil || len(text) > maxChoices {
		return fmt.Sprintf("expected one of %d values", len(want))
	}
	return "expected one of " + string(text)
}

func number(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// path spells a place. The arguments tell the index of an array from a property
// whose name is a number.
func path(v json.RawMessage, at []string) string {
	var b strings.Builder
	for _, token := range at {
		var array bool
		v, array = inside(v, token)
		switch {
		case array:
			b.WriteString("[" + token + "]")
		case !isWord(token):
			fmt.Fprintf(&b, "[%q]", clip(token, maxKey))
		case b.Len() > 0:
			b.WriteString("." + clip(token, maxKey))
		default:
			b.WriteString(clip(token, maxKey))
		}
	}
	if b.Len() == 0 {
		return root
	}
	return clip(b.String(), maxPath)
}

// pointer spells a place as a JSON Pointer.
func pointer(at []string) string {
	var b strings.Builder
	for _, token := range at {
		token = strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
		if b.Len()+1+len(token) > maxPointer {
			break
		}
		b.WriteString("/" + token)
	}
	return b.String()
}

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// clip cuts a text to at most n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len("...")], "") + "..."
}
