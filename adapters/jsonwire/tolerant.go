package jsonwire

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Word is a short string. A number is taken as its text, all else as empty.
type Word string

// UnmarshalJSON implements json.Unmarshaler.
func (v *Word) UnmarshalJSON(b []byte) error {
	*v = ""
	switch c := b[0]; {
	case c == '"':
		return (*Text)(v).UnmarshalJSON(b)
	case c >= '0' && c <= '9', c == '-':
		*v = Word(b)
	}
	return nil
}

// Number is an integer; hosts also write 3.0 and "3". All else is 0.
type Number int64

// UnmarshalJSON implements json.Unmarshaler.
func (v *Number) UnmarshalJSON(b []byte) error {
	*v = 0
	s := strings.Trim(string(b), `"`)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		*v = Number(n)
	} else if f, err := strconv.ParseFloat(s, 64); err == nil && f > -1<<53 && f < 1<<53 {
		*v = Number(f)
	}
	return nil
}

// Says tells a value that is there from the ways of saying nothing: many hosts send
// an empty field instead of none.
func Says(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "{}", "[]", "false", "0":
		return false
	}
	return true
}
