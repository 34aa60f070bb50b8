package config

import (
	"crypto/sha256"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Reload reads the configuration again, as [Load] did. What the process made up
// for itself, its instance name, stays. A file that can be read only once, such as
// a pipe, is an error: what is left of it would pass for an empty configuration. So is
// one that has become empty: that is how writing a file begins, and how it ends where
// the disk is full, and nobody's callers or providers are to be lost by it.
func (f *File) Reload(env Env) (*File, error) {
	if f.Path != "" {
		info, err := os.Stat(f.Path)
		if err != nil {
			return nil, &ParseError{File: f.Path, Problem: cause(err)}
		}
		if !info.Mode().IsRegular() {
			return nil, &ParseError{File: f.Path, Problem: "is not a regular file and can only be read at the start"}
		}
		if info.Size() == 0 && f.Digest != sha256.Sum256(nil) {
			return nil, &ParseError{File: f.Path, Problem: "has become empty; to configure nothing, write {}"}
		}
	}
	file, err := load(f.Path, env)
	if err != nil {
		return nil, err
	}
	if file.Server.Instance == "" {
		file.Server.Instance = f.Server.Instance
	}
	return file, nil
}

// Sources are the files that the configuration is made of: its own and those that
// it names, of keys and certificates. Each is listed once.
func (f *File) Sources() []string {
	var all []string
	add := func(path string) {
		if path != "" && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	add(f.Path)
	for i := range f.Providers {
		add(f.Providers[i].APIKeyFile)
		add(f.Providers[i].CAFile)
	}
	return all
}

// Changed lists the keys of "server" whose values differ, such as
// "server.listen", in the order of the documentation.
func (s Server) Changed(other Server) []string {
	var keys []string
	a, b := reflect.ValueOf(s), reflect.ValueOf(other)
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			keys = append(keys, "server."+snakeCase(a.Type().Field(i).Name))
		}
	}
	return keys
}

// snakeCase is the key of a field: the two are spelt alike.
func snakeCase(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
