package turns

import (
	"fmt"
	"strings"
	"testing"
)

// TestSees changes recorded requests in one place at a time: the comparison must see
// each change, so that no tolerated difference lets more through than it says.
func TestSees(t *testing.T) {
	for _, f := range folders() {
		t.Run(f.folder, func(t *testing.T) {
			all := load(t, f.folder)
			l := start(t, f.api, f.base, all)
			changes := 0
			for _, c := range all {
				for _, r := range c {
					g, _ := readTurn(c, r, c.apiOf(f.api))
					shown, err := l.prepare(g)
					if err != nil {
						continue // TestTurns says why
					}
					sent, want := js(shown.GetRequest().GetBodyJson()), js(string(r.request))
					for path, changed := range mutants(want) {
						if strings.HasPrefix(r.Model, "gemini-2") && (strings.HasSuffix(path, "function_call.id") || strings.HasSuffix(path, "function_response.id")) {
							continue // the client's own, whatever it says: google.call-ids
						}
						changes++
						c := comparison{recording: r, exact: exactPlaces(), table: toleratedDifferences(), needed: map[string]int{}}
						if c.compare("", "", changed, sent); len(c.different) == 0 {
							t.Errorf("%s: a change of %s is not seen", r.name, path)
						}
					}
				}
			}
			t.Logf("%d changes, each of them seen", changes)
		})
	}
}

// mostMutants is how many places of a list are changed: the bodies with search
// results have thousands.
const mostMutants = 3

// mutants are the body with one text of the conversation changed, or one element
// left out.
func mutants(body *node) map[string]*node {
	out := map[string]*node{}
	for _, key := range []string{"messages", "contents", "input", "system", "systemInstruction", "instructions"} {
		if v := body.get(key); v != nil {
			change(v, key, func(path string, v *node) { out[path] = body.with(key, v) })
		}
	}
	return out
}

// change calls found with the value changed at every place below, with the path.
func change(v *node, path string, found func(string, *node)) {
	switch {
	case v.isString() && v.text != "":
		found(path, str(v.text+"x"))
	case v.isArray():
		step := max(1, len(v.items)/mostMutants)
		for i := 0; i < len(v.items); i += step {
			others := func(with ...*node) *node {
				return array(append(append(append([]*node{}, v.items[:i]...), with...), v.items[i+1:]...)...)
			}
			at := fmt.Sprintf("%s[%d]", path, i)
			found(at+" (left out)", others())
			change(v.items[i], at, func(p string, n *node) { found(p, others(n)) })
		}
	case v.isObject():
		for _, m := range v.members {
			change(m.value, path+"."+m.key, func(p string, n *node) { found(p, v.with(m.key, n)) })
		}
	}
}

// TestTable: the names are told apart and begin with the API.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range toleratedDifferences() {
		if seen[d.name] || !strings.Contains(d.name, ".") || d.why == "" || len(d.at) == 0 {
			t.Errorf("%q is named twice, or says too little", d.name)
		}
		seen[d.name] = true
	}
}
