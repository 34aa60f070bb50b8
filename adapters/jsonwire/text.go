package jsonwire

import (
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is a JSON string as the provider sent it. It reads like a Go string, with
// one difference: the escape of a lone half of a surrogate pair is kept as its
// three bytes of WTF-8 (ED A0..BF xx) instead of becoming U+FFFD, because the
// other half may come with the next message. [Join] puts halves together. null
// reads as empty.
type Text string

var errNotString = errors.New("jsonwire: not a string")

// UnmarshalJSON implements json.Unmarshaler; data is valid JSON.
func (t *Text) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*t = ""
		return nil
	}
	if len(data) < 2 || data[0] != '"' {
		return errNotString
	}
	*t = Text(unquote(data[1 : len(data)-1]))
	return nil
}

// unquote reads the inside of a valid JSON string.
func unquote(in []byte) string {
	if plain(in) {
		return string(in)
	}
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		c := in[i]
		switch {
		case c == '\\' && in[i+1] == 'u':
			r := hex4(in[i+2:])
			i += 6
			if utf16.IsSurrogate(r) && i+6 <= len(in) && in[i] == '\\' && in[i+1] == 'u' {
				if pair := utf16.DecodeRune(r, hex4(in[i+2:])); pair != utf8.RuneError {
					r = pair
					i += 6
				}
			}
			out = appendWTF8(out, r)
		case c == '\\':
			out = append(out, unescape(in[i+1]))
			i += 2
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(in[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return string(out)
}

// plain: the inside of a string is its value.
func plain(in []byte) bool {
	for _, c := range in {
		if c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func hex4(in []byte) rune {
	var r rune
	for _, c := range in[:4] {
		switch {
		case c <= '9':
			c -= '0'
		case c >= 'a':
			c -= 'a' - 10
		default:
			c -= 'A' - 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

func appendWTF8(out []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(out, 0xED, byte(0x80|(r>>6)&0x3F), byte(0x80|r&0x3F))
	}
	return utf8.AppendRune(out, r)
}

// Joiner turns a stream of [Text] into valid UTF-8: it joins halves of surrogate
// pairs and pieces of code points across calls, and replaces what stays alone by
// U+FFFD. The zero value is ready.
type Joiner struct {
	held string // what may be completed by the next call: at most 5 bytes
}

// Next returns what can be decided of the text so far.
func (j *Joiner) Next(s string) string {
	if j.held == "" && utf8.ValidString(s) {
		return s
	}
	out, rest := join(j.held+s, false)
	j.held = rest
	return out
}

// Flush returns what was held back, decided.
func (j *Joiner) Flush() string {
	out, _ := join(j.held, true)
	j.held = ""
	return out
}

// Clean is a whole text as valid UTF-8.
func Clean(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	out, _ := join(s, true)
	return out
}

// join decides as much of s as it can; with final, all of it.
func join(s string, final bool) (out, rest string) {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || n > 1 {
			b = append(b, s[i:i+n]...)
			i += n
			continue
		}
		half, size := surrogate(s[i:])
		switch {
		case size == 3 && half < 0xDC00: // a high half
			low, lowSize := surrogate(s[i+3:])
			if lowSize == 3 {
				if pair := utf16.DecodeRune(half, low); pair != utf8.RuneError {
					b = utf8.AppendRune(b, pair)
					i += 6
					continue
				}
			} else if !final && (i+3 == len(s) || lowSize == 0 && isPiece(s[i+3:])) {
				return string(b), s[i:]
			}
			b = append(b, "\uFFFD"...)
			i += 3
		case size == 3:
			b = append(b, "\uFFFD"...)
			i += 3
		case !final && isPiece(s[i:]):
			return string(b), s[i:]
		default:
			b = append(b, "\uFFFD"...)
			i++
		}
	}
	return string(b), ""
}

// surrogate reads a half of a surrogate pair in WTF-8; size 0 = there is none.
func surrogate(s string) (r rune, size int) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2] < 0x80 || s[2] > 0xBF {
		return 0, 0
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
}

// isPiece says whether s is a beginning of a longer code point or surrogate half.
func isPiece(s string) bool {
	if len(s) == 0 || len(s) > 3 {
		return false
	}
	if s[0] == 0xED && (len(s) == 1 || len(s) == 2 && s[1] >= 0xA0 && s[1] <= 0xBF) {
		return true
	}
	return !utf8.FullRuneInString(s)
}
