package cases

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"unicode/utf8"
)

// match says how got differs from want, "" if it does not. An object of one member
// whose name begins with a dollar is a matcher.
func match(want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		for name, arg := range w {
			if len(w) == 1 && strings.HasPrefix(name, "$") {
				return matcher(name, arg, got)
			}
		}
		return matchObject(w, got)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return differ(want, got)
		}
		for i := range w {
			if d := match(w[i], g[i]); d != "" {
				return fmt.Sprintf("[%d] %s", i, d)
			}
		}
		return ""
	case json.Number:
		if x, y := rational(w), rational(got); x != nil && y != nil && x.Cmp(y) == 0 {
			return ""
		}
		return differ(want, got)
	}
	if want != got {
		return differ(want, got)
	}
	return ""
}

func matchObject(want map[string]any, got any) string {
	g, ok := got.(map[string]any)
	if !ok || len(g) != len(want) {
		return differ(want, got)
	}
	for k, v := range want {
		if _, ok := g[k]; !ok {
			return differ(want, got)
		}
		if d := match(v, g[k]); d != "" {
			return k + ": " + d
		}
	}
	return ""
}

func matcher(name string, arg, got any) string {
	text, isText := got.(string)
	ok := false
	switch name {
	case "$any":
		for _, x := range as[[]any](arg) {
			ok = ok || match(x, got) == ""
		}
	case "$nonempty":
		ok = isText && text != ""
	case "$regex":
		ok = isText && found(arg, text)
	case "$length":
		ok = isText && match(arg, number(utf8.RuneCountInString(text))) == ""
	case "$between":
		limits := as[[]any](arg)
		x := rational(got)
		ok = x != nil && x.Cmp(rational(limits[0])) >= 0 && x.Cmp(rational(limits[1])) <= 0
	default:
		return "unknown matcher " + name
	}
	if ok {
		return ""
	}
	return differ(map[string]any{name: arg}, got)
}

func differ(want, got any) string {
	return fmt.Sprintf("is %.200v, want %.200v", got, want)
}

func number(n int) json.Number { return json.Number(fmt.Sprint(n)) }

// rational is a number's exact value, so that 1, 1.0 and 10e-1 are equal.
func rational(v any) *big.Rat {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	r, _ := new(big.Rat).SetString(n.String())
	return r
}

func found(pattern any, text string) bool {
	return regexp.MustCompile(as[string](pattern)).MatchString(text)
}

func parse(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// as is a value of a case file that must have this type.
func as[T any](v any) T {
	x, ok := v.(T)
	if !ok {
		panic(fmt.Sprintf("the case file has %v where a %T belongs", v, x))
	}
	return x
}
