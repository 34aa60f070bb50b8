package turns

import (
	"fmt"
	"slices"
)

// tolerated is a difference that is allowed. It turns what was recorded into what
// llmd sends instead, and only what is named: the comparison goes on with the pair
// that it gives.
type tolerated struct {
	// name and why go into the log; the name begins with the API.
	name, why string
	// apis are the folders of recordings it is for; empty = all.
	apis []string
	// at are the places, with [] for any element: "messages[].content"; "*" is any.
	at []string
	// only narrows it to some recordings; nil = all.
	only func(*recording) bool
	// mend gives the pair to go on with; false = this is another difference.
	mend func(want, got *node) (*node, *node, bool)
}

// comparison compares one body.
type comparison struct {
	*recording
	exact     []string // places whose text counts, not only its value
	table     []tolerated
	needed    map[string]int // names of the differences that were tolerated
	different []string       // those that were not
}

func (c *comparison) tolerance(place string, want, got *node, used []string) (*node, *node, string) {
	for i := range c.table {
		t := &c.table[i]
		switch {
		case len(t.apis) > 0 && !slices.Contains(t.apis, c.folder), t.only != nil && !t.only(c.recording),
			!slices.Contains(t.at, place) && !slices.Contains(t.at, "*"), slices.Contains(used, t.name):
			continue
		}
		if w, g, ok := t.mend(want, got); ok {
			return w, g, t.name
		}
	}
	return nil, nil, ""
}

// agree says whether two values are the same at a place.
func (c *comparison) agree(place string, want, got *node) bool {
	if want != nil && got != nil && slices.Contains(c.exact, place) {
		return compact(want.raw) == compact(got.raw)
	}
	return equal(want, got)
}

// compare looks at a value in both bodies. path is where it is, place the same
// without numbers.
func (c *comparison) compare(path, place string, want, got *node) {
	var used []string
	for !c.agree(place, want, got) {
		w, g, name := c.tolerance(place, want, got, used)
		if name == "" {
			break
		}
		used = append(used, name)
		c.needed[name]++
		want, got = w, g
	}
	switch {
	case slices.Contains(c.exact, place) && c.agree(place, want, got):
	case want.isObject() && got.isObject():
		for _, m := range want.members {
			c.compare(join(path, m.key), join(place, m.key), m.value, got.get(m.key))
		}
		for _, m := range got.members {
			if want.get(m.key) == nil {
				c.compare(join(path, m.key), join(place, m.key), nil, m.value)
			}
		}
	case want.isArray() && got.isArray() && len(want.items) == len(got.items):
		for i := range want.items {
			c.compare(fmt.Sprintf("%s[%d]", path, i), place+"[]", want.items[i], got.items[i])
		}
	case !c.agree(place, want, got):
		c.different = append(c.different, fmt.Sprintf("%s: recorded %s, llmd sends %s", path, show(want), show(got)))
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func show(n *node) string {
	if n == nil {
		return "nothing"
	}
	return fmt.Sprintf("%.300s", n.raw)
}
