package options

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// node is a JSON value that remembers the order of its members and the spelling of
// its numbers.
type node struct {
	kind    byte // '{', '[' or 'v' for all else
	text    string
	members []member // of an object; of a list, without keys
}

type member struct {
	key   string
	value *node
}

// parse reads one JSON value. A key that stands twice in an object is an error.
func parse(text []byte) (*node, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	n, err := read(d)
	if err == nil && d.More() {
		err = errors.New("there is more than one value")
	}
	return n, err
}

func read(d *json.Decoder) (*node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		text, err := compact(t)
		return &node{kind: 'v', text: text}, err
	}
	n := &node{kind: byte(delim)}
	for d.More() {
		var m member
		if n.kind == '{' {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			if m.key = key.(string); n.get(m.key) != nil {
				return nil, fmt.Errorf("key %q stands twice", m.key)
			}
		}
		if m.value, err = read(d); err != nil {
			return nil, err
		}
		n.members = append(n.members, m)
	}
	_, err = d.Token()
	return n, err
}

func compact(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSpace(b.String()), err
}

// get finds a value by keys; nil if it is not there.
func (n *node) get(path ...string) *node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		i := slices.IndexFunc(n.members, func(m member) bool { return m.key == key })
		if n.kind != '{' || i < 0 {
			return nil
		}
		n = n.members[i].value
	}
	return n
}

func (n *node) String() string {
	if n.kind == 'v' {
		return n.text
	}
	var b strings.Builder
	b.WriteByte(n.kind)
	for i, m := range n.members {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.kind == '{' {
			key, _ := compact(m.key)
			b.WriteString(key + ":")
		}
		b.WriteString(m.value.String())
	}
	b.WriteByte(n.kind + 2) // '}' and ']' are two behind
	return b.String()
}

// change is one difference: a value that came, went or became another one.
type change struct {
	path     string
	old, new *node
}

// containers are objects that only hold other options: what comes in them is shown
// by its own path.
func containers() []string {
	return []string{
		"generationConfig", "inferenceConfig", "additionalModelRequestFields", "text", "output_config", "toolConfig",
	}
}

// diff finds what differs, in the order of the bodies.
func diff(path string, old, new *node) []change {
	switch {
	case old == nil && new == nil:
		return nil
	case old == nil || new == nil:
		return expand(path, old, new)
	case old.kind != new.kind || old.kind == 'v':
		if old.String() == new.String() {
			return nil
		}
		return []change{{path, old, new}}
	case old.kind == '[':
		return diffLists(path, old, new)
	}
	var all []change
	for _, key := range merged(old, new) {
		all = append(all, diff(join(path, key), old.get(key), new.get(key))...)
	}
	return all
}

// expand shows a value that came or went, its members one by one if it is only a
// container.
func expand(path string, old, new *node) []change {
	n := new
	if n == nil {
		n = old
	}
	last := path[strings.LastIndexByte(path, '.')+1:]
	if n.kind != '{' || len(n.members) == 0 || !slices.Contains(containers(), last) {
		return []change{{path, old, new}}
	}
	var all []change
	for _, m := range n.members {
		all = append(all, expand(join(path, m.key), old.get(m.key), new.get(m.key))...)
	}
	return all
}

// merged are the keys of both objects, those of the new one in its order.
func merged(old, new *node) []string {
	var keys []string
	for _, m := range new.members {
		keys = append(keys, m.key)
	}
	for _, m := range old.members {
		if new.get(m.key) == nil {
			keys = append(keys, m.key)
		}
	}
	return keys
}

// diffLists compares what stands at the same place, once equal ends are left away if
// the lists are not of one length.
func diffLists(path string, old, new *node) []change {
	a, b := old.members, new.members
	same := func(x, y member) bool { return x.value.String() == y.value.String() }
	from, end := 0, 0
	if len(a) != len(b) {
		for from < min(len(a), len(b)) && same(a[from], b[from]) {
			from++
		}
		for end < min(len(a), len(b))-from && same(a[len(a)-1-end], b[len(b)-1-end]) {
			end++
		}
	}
	var all []change
	for i := from; i < max(len(a), len(b))-end; i++ {
		var x, y *node
		if i < len(a)-end {
			x = a[i].value
		}
		if i < len(b)-end {
			y = b[i].value
		}
		all = append(all, diff(fmt.Sprintf("%s[%d]", path, i), x, y)...)
	}
	return all
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// String is "+path: value", "-path" or "path: old -> new".
func (c change) String() string {
	switch {
	case c.old == nil:
		return "+" + c.path + ": " + c.new.String()
	case c.new == nil:
		return "-" + c.path
	}
	return c.path + ": " + c.old.String() + " -> " + c.new.String()
}

// inOrder says whether the members that two values share stand in the same order.
func inOrder(old, new *node) bool {
	if old == nil || new == nil || old.kind != new.kind || old.kind == 'v' {
		return true
	}
	if old.kind == '[' {
		for i := range min(len(old.members), len(new.members)) {
			if !inOrder(old.members[i].value, new.members[i].value) {
				return false
			}
		}
		return true
	}
	at := 0
	for _, m := range old.members {
		i := slices.IndexFunc(new.members, func(n member) bool { return n.key == m.key })
		if i < 0 {
			continue
		}
		if i < at || !inOrder(m.value, new.members[i].value) {
			return false
		}
		at = i
	}
	return true
}

func TestDiff(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{`{"a":1}`, `{"a":1}`, ""},
		{`{"a":1.0}`, `{"a":1}`, "a: 1.0 -> 1"},
		{`{"a":1}`, `{"b":{"c":[]},"a":1}`, `+b: {"c":[]}`},
		{`{}`, `{"generationConfig":{"seed":1,"thinkingConfig":{"x":1}}}`, `+generationConfig.seed: 1, +generationConfig.thinkingConfig: {"x":1}`},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"c":3}}`, "a.c: 2 -> 3, -a.b"},
		{`{"a":[1,2,3]}`, `{"a":[1,4,3]}`, "a[1]: 2 -> 4"},
		{`{"a":[1,2,3]}`, `{"a":[1,3]}`, "-a[1]"},
		{`{"a":[{"k":1}]}`, `{"a":[{"k":1,"m":"<"}]}`, `+a[0].m: "<"`},
		{`{"a":"x"}`, `{"a":["x"]}`, `a: "x" -> ["x"]`},
	} {
		old, err := parse([]byte(tt.old))
		if err != nil {
			t.Fatal(err)
		}
		new, err := parse([]byte(tt.new))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range diff("", old, new) {
			got = append(got, c.String())
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.old, tt.new, got, tt.want)
		}
	}
	if _, err := parse([]byte(`{"a":1,"a":2}`)); err == nil {
		t.Error("a double key went unseen")
	}
}
