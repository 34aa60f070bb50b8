package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Range is what a number must lie in, ends included, as they are written: "1ms", "64 KiB".
// The zero value is no range.
type Range struct {
	Least, Most string
	// Open: Most is only the largest number that there is.
	Open bool
}

func (r Range) String() string {
	switch {
	case r == Range{}:
		return ""
	case r.Open:
		return "at least " + r.Least
	}
	return "from " + r.Least + " to " + r.Most
}

// outside says that a value is no such number, or not within its range.
func (v value) outside(r Range, what, example string) {
	v.within = r
	v.bad("must be %s from %s to %s%s", what, r.Least, r.Most, example)
}

// rangeOf is that of a key. Nothing is no number, so that the reading of one says what it
// would take.
func rangeOf(k *key) Range {
	switch kind, _, _ := strings.Cut(k.kind, " or "); kind {
	case "whole number", "decimal", "bytes", "duration":
		r := &reader{}
		k.read(value{reader: r, node: &yaml.Node{}})
		return r.within
	}
	return Range{}
}

// spellSize is a number of bytes with the largest unit that makes it whole.
func spellSize(n int64) string {
	for _, u := range sizeUnits() {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d %s", n/u.bytes, u.name)
		}
	}
	return strconv.FormatInt(n, 10)
}

// spellDuration leaves out the units that are zero.
func spellDuration(d time.Duration) string {
	s := d.String()
	if rest, ok := strings.CutSuffix(s, "m0s"); ok {
		s = rest + "m"
	}
	if rest, ok := strings.CutSuffix(s, "h0m"); ok {
		s = rest + "h"
	}
	return s
}
