package toolcheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// shape is what a JSON text looks like from outside.
type shape struct {
	// kind is the JSON type of the whole.
	kind string
	// values counts the values in it and the names of properties, depth how deeply
	// they are nested.
	values, depth int
	// nulls counts the nulls, text the bytes of strings and names.
	nulls, text int
}

var errNotJSON = errors.New("it is not JSON")

// survey reads a JSON text once and refuses what is too dear to work with.
func survey(text string) (shape, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	s, depth := shape{}, 0
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) && s.values > 0 && depth == 0 {
			return s, nil
		}
		if err != nil || depth == 0 && s.values > 0 {
			return s, errNotJSON
		}
		if s.values == 0 {
			s.kind = kindOf(t)
		}
		switch t := t.(type) {
		case json.Delim:
			if t == '}' || t == ']' {
				depth--
				continue
			}
			depth++
			if s.depth = max(s.depth, depth); depth > maxDepth {
				return s, errors.New("it is nested too deeply")
			}
		case nil:
			s.nulls++
		case string:
			s.text += len(t)
		case json.Number:
			if !ordinary(t) {
				return s, errors.New("it has a number out of range")
			}
		}
		s.values++
	}
}

// ordinary: a number within the range of a double. Exact arithmetic with 1e1000000
// takes as long as with a million digits.
func ordinary(n json.Number) bool {
	if _, err := n.Float64(); err != nil || len(n) > 400 {
		return false
	}
	// Small numbers become zero without an error.
	_, exponent, ok := strings.Cut(strings.ToLower(n.String()), "e")
	return !ok || len(exponent) <= len("-400")
}

func kindOf(t json.Token) string {
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			return "array"
		}
		return "object"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	}
	return "null"
}

// inside is a value in a JSON text, by the name of a property or the index of an
// item.
func inside(text json.RawMessage, token string) (value json.RawMessage, array bool) {
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		var items []json.RawMessage
		_ = json.Unmarshal(text, &items) // it has been read before
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(items) {
			return items[i], true
		}
		return nil, true
	}
	var properties map[string]json.RawMessage
	_ = json.Unmarshal(text, &properties)
	return properties[token], false
}
