package config

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/internal/near"
)

// Key documents one key of the configuration.
type Key struct {
	// Path is where it stands, such as "providers[].base_url".
	Path string
	// Type is what its value must be, in words.
	Type string
	// Range is that of a number.
	Range Range
	// Default is what holds when it is left out; empty = nothing.
	Default string
	// Doc says what it does.
	Doc string
}

// key is one key of a mapping: its documentation and how it is read, in one
// place so that they cannot part.
type key struct {
	name, kind, def, doc string
	read                 func(value)
	// below are the keys of the mapping that this key holds, or of each item; for
	// the documentation only.
	below func() []key
}

// object reads a mapping by its keys.
func (v value) object(keys []key) {
	v.mapping(func(name *yaml.Node, below value) {
		for _, k := range keys {
			if k.name == name.Value {
				k.read(below)
				return
			}
		}
		below.fail(name.Line, below.path, "unknown key%s", nearest(name.Value, keys))
	})
}

// nearest lists what could have been written instead.
func nearest(name string, keys []key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	if like := like(name, names); len(like) > 0 {
		return near.Question(like)
	}
	return "; there are: " + strings.Join(names, ", ")
}

// like are the names that may have been meant. One that is only spelt in another
// style, such as camelCase, is the only one.
func like(name string, names []string) []string {
	plain := strings.NewReplacer("_", "", "-", "")
	for _, n := range names {
		if strings.EqualFold(plain.Replace(n), plain.Replace(name)) {
			return []string{n}
		}
	}
	return near.Names(name, names)
}

// Keys lists every key of the configuration in the order of the documentation.
func Keys() []Key {
	var all []Key
	var walk func(prefix string, keys []key)
	walk = func(prefix string, keys []key) {
		for _, k := range keys {
			path := joinPath(prefix, k.name)
			all = append(all, Key{Path: path, Type: k.kind, Range: rangeOf(&k), Default: k.def, Doc: k.doc})
			if strings.HasPrefix(k.kind, "list of") {
				path += "[]"
			}
			if k.below != nil {
				walk(path, k.below())
			}
		}
	}
	walk("", fileKeys(&File{}))
	for _, name := range profile.CompatKeys() {
		all = append(all, Key{Path: "providers[].compat." + name, Type: profile.CompatKind(name)})
	}
	return all
}
