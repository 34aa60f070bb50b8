package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ParseError is one mistake in the configuration.
type ParseError struct {
	// File is the file's name as it was given, or "environment".
	File string
	// Line is counted from 1; 0 = the mistake has no line.
	Line int
	// Key is the path of the key, such as "providers[0].base_url"; it may be
	// empty where the file is not YAML.
	Key string
	// Problem says what is wrong, for people. It never holds a secret.
	Problem string
}

func (e *ParseError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// JoinErrors makes one error of all mistakes, in the order of their lines; nil if
// there are none. errors.As finds the first.
func JoinErrors(mistakes []*ParseError) error {
	slices.SortStableFunc(mistakes, func(a, b *ParseError) int { return a.Line - b.Line })
	all := make([]error, len(mistakes))
	for i, m := range mistakes {
		all[i] = m
	}
	return errors.Join(all...)
}
