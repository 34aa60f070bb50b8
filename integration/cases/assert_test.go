package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// requestBody is a body that assertions look into.
type requestBody struct {
	text string
	root any
}

// unmet says which assertion does not hold, "" if all do.
func (b *requestBody) unmet(assertions []map[string]any) string {
	for _, a := range assertions {
		if d := b.fails(a); d != "" {
			return d
		}
	}
	return ""
}

func (b *requestBody) fails(a map[string]any) string {
	if l, ok := a["any_of"].([]any); ok {
		var all []string
		for _, x := range l {
			d := b.fails(as[map[string]any](x))
			if d == "" {
				return ""
			}
			all = append(all, d)
		}
		return "none of: " + strings.Join(all, " | ")
	}
	if l, ok := a["all_of"].([]any); ok {
		for _, x := range l {
			if d := b.fails(as[map[string]any](x)); d != "" {
				return d
			}
		}
		return ""
	}
	pointer, _ := a["pointer"].(string)
	v, there := b.at(pointer)
	for name, arg := range a {
		if name != "pointer" && !b.holds(name, arg, v, there) {
			return fmt.Sprintf("%s %s %v: the value is %.200v", pointer, name, arg, plain(v))
		}
	}
	return ""
}

// holds decides one assertion about the value at the pointer; a name that it does
// not know holds never.
func (b *requestBody) holds(name string, arg, v any, there bool) bool {
	switch name {
	case "equals":
		return there && match(arg, v) == ""
	case "absent":
		return there != (arg == true)
	case "matches":
		return there && found(arg, plain(v))
	case "not_matches":
		return !there || !found(arg, plain(v))
	case "absent_or_matches":
		return !there || found(arg, plain(v))
	case "same_as", "differs_from":
		other, ok := b.at(as[string](arg))
		return there && ok && (match(other, v) == "") == (name == "same_as")
	case "less_than":
		other, _ := b.at(as[string](arg))
		x, y := rational(v), rational(other)
		return !there || x != nil && y != nil && x.Cmp(y) < 0
	case "no_key":
		return keys(v, as[string](arg)) == 0
	case "max_key_count":
		m := as[map[string]any](arg)
		most, err := as[json.Number](m["max"]).Int64()
		return err == nil && int64(keys(v, as[string](m["key"]))) <= most
	case "raw_matches":
		return found(arg, b.text)
	case "raw_not_matches":
		return !found(arg, b.text)
	case "valid_utf8":
		return utf8.ValidString(b.text)
	}
	return false
}

// at follows a JSON pointer (RFC 6901).
func (b *requestBody) at(pointer string) (any, bool) {
	v := b.root
	if pointer == "" {
		return v, true
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[token]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// plain is what a pattern searches: a string itself, all else as compact JSON.
func plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// keys counts the members of this name at any depth.
func keys(v any, name string) int {
	n := 0
	switch x := v.(type) {
	case map[string]any:
		for k, y := range x {
			if k == name {
				n++
			}
			n += keys(y, name)
		}
	case []any:
		for _, y := range x {
			n += keys(y, name)
		}
	}
	return n
}
