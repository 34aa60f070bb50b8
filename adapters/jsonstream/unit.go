package jsonstream

import "unicode/utf8"

// loneSurrogate replaces an escaped surrogate without its other half.
const loneSurrogate = `\ufffd`

// nextUnit splits the smallest decidable piece off the inside of a string (never its closing
// quote): a run of plain ASCII, one character beyond ASCII, one escape, or one fault. It
// returns the piece's size in bytes and, for a fault, what to put in its place. Size 0 means
// that the piece is not decided before more text has come; at most 11 bytes wait like that, a
// surrogate pair but for its last digit.
func nextUnit(rest []byte) (size int, mended string) {
	if n := plainRun(rest); n > 0 {
		return n, ""
	}
	switch b := rest[0]; {
	case b == '\\':
		return escapeUnit(rest)
	case b < 0x20:
		return 1, controlEscape(b)
	default:
		return characterUnit(rest)
	}
}

// plainRun counts the leading bytes that stand for themselves whatever follows.
func plainRun(rest []byte) int {
	for i, b := range rest {
		if b < 0x20 || b == '"' || b == '\\' || b >= utf8.RuneSelf {
			return i
		}
	}
	return len(rest)
}

func characterUnit(rest []byte) (size int, mended string) {
	if !utf8.FullRune(rest) {
		return 0, ""
	}
	// An encoding error has size 1; U+FFFD itself, properly encoded, has size 3.
	if r, n := utf8.DecodeRune(rest); r != utf8.RuneError || n > 1 {
		return n, ""
	}
	return 1, string(utf8.RuneError)
}

func escapeUnit(rest []byte) (size int, mended string) {
	if len(rest) == 1 {
		return 0, ""
	}
	switch rest[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, ""
	case 'u':
		return unicodeUnit(rest)
	default:
		return 1, `\\` // only the backslash; what follows it is a unit of its own
	}
}

// unicodeUnit decides a text that starts with \u.
func unicodeUnit(rest []byte) (size int, mended string) {
	unit, n := hexUnit(rest)
	switch {
	case n < 6 && n == len(rest):
		return 0, ""
	case n < 6:
		return 1, `\\`
	case unit>>11 != 0xd800>>11:
		return 6, "" // not a surrogate
	case unit >= 0xdc00:
		return 6, loneSurrogate
	}
	low, m := hexUnit(rest[6:])
	switch {
	case m == 6 && low>>10 == 0xdc00>>10:
		return 12, ""
	case m < 6 && m == len(rest)-6:
		return 0, "" // so far an escape that may become the low half
	default:
		return 6, loneSurrogate
	}
}

// hexUnit reads a \uXXXX escape as far as it goes: n bytes of it are there, 6 if it is whole.
func hexUnit(rest []byte) (unit rune, n int) {
	for n < min(6, len(rest)) {
		switch b := rest[n]; {
		case n == 0 && b == '\\', n == 1 && b == 'u':
		case n > 1 && isDigit(b):
			unit = unit<<4 | rune(b-'0')
		case n > 1 && 'a' <= b|0x20 && b|0x20 <= 'f':
			unit = unit<<4 | rune(b|0x20-'a'+10)
		default:
			return unit, n
		}
		n++
	}
	return unit, n
}

func controlEscape(b byte) string {
	switch b {
	case '\b':
		return `\b`
	case '\t':
		return `\t`
	case '\n':
		return `\n`
	case '\f':
		return `\f`
	case '\r':
		return `\r`
	}
	const hex = "0123456789abcdef"
	return `\u00` + hex[b>>4:b>>4+1] + hex[b&15:b&15+1]
}
