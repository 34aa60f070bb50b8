package turns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// node is a JSON value that keeps its exact text. A nil node is an absent value,
// of which everything may be asked.
type node struct {
	raw     []byte
	members []member // of an object, in order
	items   []*node  // of an array
	text    string   // of a string
	taken   map[string]bool
}

type member struct {
	key   string
	value *node
}

// parse reads one JSON value.
func parse(raw []byte) (*node, error) {
	raw = bytes.TrimSpace(raw)
	if !json.Valid(raw) {
		return nil, fmt.Errorf("not JSON: %.60q", raw)
	}
	n := &node{raw: raw}
	switch raw[0] {
	case '{':
		members, err := jsonwire.Members(raw)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			v, err := parse(m.Value)
			if err != nil {
				return nil, err
			}
			n.members = append(n.members, member{m.Key, v})
		}
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, err
		}
		for _, item := range items {
			v, err := parse(item)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, v)
		}
	case '"':
		if err := json.Unmarshal(raw, &n.text); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// js is a node of JSON text that is known to be good.
func js(text string) *node {
	n, err := parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return n
}

// str is a string as a node.
func str(s string) *node { return js(string(jsonwire.AppendString(nil, s))) }

func (n *node) kind() byte {
	if n == nil {
		return 0
	}
	return n.raw[0]
}

func (n *node) isNull() bool   { return n.kind() == 'n' }
func (n *node) isString() bool { return n.kind() == '"' }
func (n *node) isArray() bool  { return n.kind() == '[' }
func (n *node) isObject() bool { return n.kind() == '{' }

// none: absent or null.
func (n *node) none() bool { return n == nil || n.isNull() }

func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// take is get; it marks the member as read.
func (n *node) take(key string) *node {
	v := n.get(key)
	if v != nil {
		if n.taken == nil {
			n.taken = map[string]bool{}
		}
		n.taken[key] = true
	}
	return v
}

// left are the members that nobody took, as an object, without what was taken from
// within them; empty = none.
func (n *node) left() string {
	var w jsonwire.Writer
	w.BeginObject()
	some := false
	for _, m := range n.members {
		raw := string(m.value.raw)
		if len(m.value.taken) > 0 {
			raw = m.value.left()
		}
		if !n.taken[m.key] && raw != "" {
			some = true
			w.Key(m.key)
			w.Raw(raw)
		}
	}
	w.EndObject()
	if !some {
		return ""
	}
	return string(w.Bytes())
}

// with is an object with a member set, in its place or at the end; nil removes it.
func (n *node) with(key string, value *node) *node {
	out := slices.Clone(n.members)
	at := slices.IndexFunc(out, func(m member) bool { return m.key == key })
	switch {
	case at < 0 && value != nil:
		out = append(out, member{key, value})
	case at >= 0 && value != nil:
		out[at].value = value
	case at >= 0:
		out = slices.Delete(out, at, at+1)
	}
	return object(out...)
}

func object(members ...member) *node {
	var w jsonwire.Writer
	w.BeginObject()
	for _, m := range members {
		w.Key(m.key)
		w.RawBytes(m.value.raw)
	}
	w.EndObject()
	return js(string(w.Bytes()))
}

func array(items ...*node) *node {
	var raws []string
	for _, i := range items {
		raws = append(raws, string(i.raw))
	}
	return js("[" + strings.Join(raws, ",") + "]")
}

// equal compares values: objects without regard to order, numbers by value.
func equal(a, b *node) bool {
	if a.kind() == 0 || b.kind() == 0 {
		return a.kind() == b.kind()
	}
	switch {
	case a.isObject() && b.isObject():
		if len(a.members) != len(b.members) {
			return false
		}
		for _, m := range a.members {
			if o := b.get(m.key); o == nil || !equal(m.value, o) {
				return false
			}
		}
		return true
	case a.isArray() && b.isArray():
		return slices.EqualFunc(a.items, b.items, equal)
	case a.isString() && b.isString():
		return a.text == b.text
	}
	x, okX := new(big.Rat).SetString(string(a.raw))
	y, okY := new(big.Rat).SetString(string(b.raw))
	if okX && okY {
		return x.Cmp(y) == 0
	}
	return bytes.Equal(a.raw, b.raw)
}

// compact is a JSON text without white space between its tokens.
func compact(raw []byte) string {
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // was parsed before
	return b.String()
}

// list are the items of an array; none if it is no array.
func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.items
}
