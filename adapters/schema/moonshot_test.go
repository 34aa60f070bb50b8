package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestMoonshot(t *testing.T) {
	const any7 = `"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"type":"array"},{"type":"null"}]`
	for in, want := range map[string]string{
		// https://github.com/MoonshotAI/kimi-cli/issues/1595
		`{"type":"object","properties":{"mode":{"description":"how"}}}`:                                        `{"type":"object","properties":{"mode":{"description":"how",` + any7 + `}}}`,
		`{"type":"array","anyOf":[{"items":{"type":"string"}},{"type":"array"}],"description":"x"}`:            `{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"array"}],"description":"x"}`,
		`{"type":"object","properties":{"a":{"type":"null"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`: `{"type":"object","properties":{"a":{"type":"null"}}}`,
		`{"enum":["a","b"]}`:                                                                         `{"type":"string","enum":["a","b"]}`,
		`{"enum":["a",null]}`:                                                                        `{"type":["string","null"],"enum":["a",null]}`,
		`{"type":"string","enum":["a",null,2]}`:                                                      `{"type":"string","enum":["a"]}`,
		`{"enum":["a",1,true,null,2.5],"title":"x"}`:                                                 `{"anyOf":[{"type":"string","enum":["a"]},{"type":"boolean","enum":[true]},{"type":"null"},{"type":"number","enum":[1,2.5]}],"title":"x"}`,
		`{"type":["string","integer","null"],"enum":["a",1]}`:                                        `{"anyOf":[{"type":"string","enum":["a"]},{"type":"integer","enum":[1]}]}`,
		`{"type":["string","integer"],"enum":["a",2.5],"minimum":1}`:                                 `{"anyOf":[{"type":"string","enum":["a"]}]}`,
		`{"type":"string","enum":[]}`:                                                                `{"type":"string"}`,
		`{"type":"string","enum":[{}],"title":"x"}`:                                                  `{"type":"string","title":"x"}`,
		`{"type":"number","enum":[2,3.33]}`:                                                          `{"type":"number","enum":[2,3.33]}`,
		`{"type":["string","null"],"minLength":1,"description":"d"}`:                                 `{"anyOf":[{"type":"string","minLength":1},{"type":"null"}],"description":"d"}`,
		`{"type":["object","null"],"properties":{"a":{"type":["integer","null"]}},"required":["a"]}`: `{"anyOf":[{"type":"object","properties":{"a":{"type":["integer","null"]}},"required":["a"]},{"type":"null"}]}`,
		`{"type":["string","null"],"default":null}`:                                                  `{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}`,
		`{"type":["string","null"],"enum":["a"]}`:                                                    `{"type":["string","null"],"enum":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"null"}},"required":["a","b"]}`:                  `{"type":"object","properties":{"a":{"type":"null"}},"required":["a"]}`,
		`{"properties":{"a":true}}`:                                                                  `{"type":"object","properties":{"a":{` + any7 + `}}}`,
		`{"minLength":1}`:                                                                            `{"type":"string","minLength":1}`,
		`{"const":2.5}`:                                                                              `{"type":"number","const":2.5}`,
		// https://github.com/MoonshotAI/kimi-cli/issues/2061 and CommandCodeAI/command-code/issues/594.
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b","description":"x"}},"$defs":{"b":{"type":"string","description":"y"}}}`: `{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/$defs/b"}],"description":"x"}},"$defs":{"b":{"type":"string","description":"y"}}}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`:                                          `{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/$defs/properties_a"}},"$defs":{"properties_a":{"type":"string"}}}`,
		`{"allOf":[{"$ref":"#/$defs/b"}],"default":"x","$defs":{"b":{"type":"string"}}}`:                                                `{"anyOf":[{"$ref":"#/$defs/b"}],"default":"x","$defs":{"b":{"type":"string"}}}`,
		// https://github.com/earendil-works/pi/issues/5822
		`{"type":"object","allOf":[{"if":{"type":"null"}},{"if":{"type":"string"}}]}`:                                     `{"type":"object"}`,
		`{"oneOf":[{"type":"string"},{"type":"null"}]}`:                                                                   `{"anyOf":[{"type":"string"},{"type":"null"}]}`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"x"}},"required":[],"additionalProperties":false}`: "",
	} {
		if want == "" {
			want = in
		}
		got, _ := Fit(in, MoonshotDraft())
		if got != want {
			t.Errorf("%s:\n%s, want\n%s", in, got, want)
		}
		if again, had := Fit(got, MoonshotDraft()); again != got || len(had) > 0 {
			t.Errorf("%s: again %s, for %v", got, again, had)
		}
	}
}

// flavors are the faults that the level "strict" of Moonshot's own validator finds, which is
// the least that is enforced: https://github.com/MoonshotAI/walle.
func flavors(s any, path string) (faults []string) {
	m, ok := s.(map[string]any)
	if !ok {
		return []string{path + ": no object"}
	}
	bad := func(format string, args ...any) { faults = append(faults, path+": "+fmt.Sprintf(format, args...)) }
	var types []string
	switch kind := m["type"].(type) {
	case string:
		types = []string{kind}
	case []any:
		for _, k := range kind {
			types = append(types, fmt.Sprint(k))
		}
	}
	_, union := m["anyOf"]
	_, ref := m["$ref"]
	_, parts := m["allOf"]
	enum, valued := m["enum"].([]any)
	if types != nil && (union || ref) {
		bad("type beside anyOf or $ref")
	}
	if len(types) == 0 && !union && !ref && !parts {
		bad("type is not defined")
	}
	if valued && (len(enum) == 0 || types == nil || len(types) > 2) {
		bad("enum")
	}
	for k := range m {
		if len(types) > 1 && !valued && !slices.Contains([]string{"type", "description", "title", "$defs", "$id"}, k) {
			bad("%s beside several types", k)
		}
	}
	properties, _ := m["properties"].(map[string]any)
	required, _ := m["required"].([]any)
	for _, r := range required {
		if properties[fmt.Sprint(r)] == nil {
			bad("required %v is no property", r)
		}
	}
	for _, v := range enum {
		text, _ := json.Marshal(v)
		if !fits(text, types) {
			bad("%s is not of %v", text, types)
		}
	}
	defs, _ := m["$defs"].(map[string]any)
	for _, all := range []map[string]any{properties, defs} {
		for k, p := range all {
			faults = append(faults, flavors(p, path+"/"+k)...)
		}
	}
	list, _ := m["anyOf"].([]any)
	if union && len(list) == 0 {
		bad("anyOf is empty")
	}
	for i, a := range list {
		faults = append(faults, flavors(a, fmt.Sprintf("%s/anyOf/%d", path, i))...)
		for k := range m {
			branch, _ := a.(map[string]any)
			if _, both := branch[k]; both && !slices.Contains([]string{"anyOf", "description", "title"}, k) {
				bad("conflicting keywords found in anyOf with parent: %s", k)
			}
		}
	}
	if items, ok := m["items"]; ok {
		faults = append(faults, flavors(items, path+"/items")...)
	}
	return faults
}

// TestMoonshotTakes: whatever comes in, what goes out is taken, and left as it is.
func TestMoonshotTakes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	var schema func(depth int) string
	schema = func(depth int) string {
		var words []string
		some := func(n int) string {
			list := make([]string, n)
			for i := range list {
				list[i] = schema(depth - 1)
			}
			return strings.Join(list, ",")
		}
		for range random.IntN(4) {
			words = append(words, pick(`"description":"x"`, `"title":"t"`, `"default":null`, `"type":"string"`, `"type":"object"`, `"type":["string","null"]`, `"type":["object","array"]`,
				`"enum":["a",null]`, `"enum":[1,2]`, `"enum":[]`, `"enum":["a",1]`, `"const":"a"`, `"minLength":1`, `"minimum":0`, `"required":["a","z"]`, `"$ref":"#/$defs/d"`, `"additionalProperties":false`, `"format":"date"`))
			if depth > 0 {
				words = append(words, pick(`"properties":{"a":`+some(1)+`}`, `"items":`+some(1), `"anyOf":[`+some(2)+`]`, `"oneOf":[`+some(2)+`]`, `"allOf":[`+some(1+random.IntN(2))+`]`, `"not":`+some(1), `"items":[`+some(2)+`]`, `"properties":{"a":true}`))
			}
		}
		seen := map[string]bool{}
		words = slices.DeleteFunc(words, func(w string) bool {
			key, _, _ := strings.Cut(w, ":")
			had := seen[key]
			seen[key] = true
			return had
		})
		return "{" + strings.Join(words, ",") + "}"
	}
	for range 2000 {
		in := `{"type":"object","properties":{"p":` + schema(2) + `},"$defs":{"d":` + schema(1) + `}}`
		got, _ := Fit(in, MoonshotDraft())
		var parsed any
		if err := json.Unmarshal([]byte(got), &parsed); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if faults := flavors(parsed, ""); len(faults) > 0 {
			t.Fatalf("%s\n%s: %v", in, got, faults)
		}
		if again, had := Fit(got, MoonshotDraft()); again != got || len(had) > 0 {
			t.Fatalf("%s\n%s\nagain %s, for %v", in, got, again, had)
		}
	}
}
