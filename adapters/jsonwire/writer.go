package jsonwire

import (
	"encoding/base64"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Writer appends JSON to a buffer. Commas and colons are its business: call Key
// before each value in an object, and just the values in an array. The zero value
// is ready. It does not check that calls balance; tests of its callers do.
type Writer struct {
	buf   []byte
	holes []Hole // large data that belongs into buf
	comma bool   // a comma is due before the next key or value
}

// Body is what was written. It is valid until the next call.
func (w *Writer) Body() Body { return Body{Text: w.buf, Large: w.holes} }

// Bytes is what was written, in one piece. It is valid until the next call.
func (w *Writer) Bytes() []byte { return w.Body().Bytes() }

func (w *Writer) sep() {
	if w.comma {
		w.buf = append(w.buf, ',')
	}
	w.comma = true
}

// BeginObject opens an object.
func (w *Writer) BeginObject() { w.sep(); w.buf = append(w.buf, '{'); w.comma = false }

// EndObject closes it.
func (w *Writer) EndObject() { w.buf = append(w.buf, '}'); w.comma = true }

// BeginArray opens an array.
func (w *Writer) BeginArray() { w.sep(); w.buf = append(w.buf, '['); w.comma = false }

// EndArray closes it.
func (w *Writer) EndArray() { w.buf = append(w.buf, ']'); w.comma = true }

// Key begins a member.
func (w *Writer) Key(k string) {
	w.sep()
	w.buf = AppendString(w.buf, k)
	w.buf = append(w.buf, ':')
	w.comma = false
}

// String writes a string; invalid UTF-8 becomes U+FFFD.
func (w *Writer) String(s string) { w.sep(); w.buf = AppendString(w.buf, s) }

// Int writes an integer.
func (w *Writer) Int(n int64) { w.sep(); w.buf = strconv.AppendInt(w.buf, n, 10) }

// Float writes a finite number in its shortest form.
func (w *Writer) Float(f float64) {
	w.sep()
	w.buf = strconv.AppendFloat(w.buf, f, 'f', -1, 64)
}

// Bool writes true or false.
func (w *Writer) Bool(b bool) { w.sep(); w.buf = strconv.AppendBool(w.buf, b) }

// Null writes null.
func (w *Writer) Null() { w.sep(); w.buf = append(w.buf, "null"...) }

// Raw writes valid JSON text as it is.
func (w *Writer) Raw(json string) { w.sep(); w.buf = append(w.buf, json...) }

// RawBytes is Raw for bytes.
func (w *Writer) RawBytes(json []byte) { w.sep(); w.buf = append(w.buf, json...) }

// Base64 writes bytes as a string of standard base64 after prefix, which must
// need no escaping. Large data is not copied, so that it must not change.
func (w *Writer) Base64(prefix string, data []byte) {
	w.sep()
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, prefix...)
	if len(data) > largeData {
		w.holes = append(w.holes, Hole{At: len(w.buf), Data: data})
	} else {
		w.buf = base64.StdEncoding.AppendEncode(w.buf, data)
	}
	w.buf = append(w.buf, '"')
}

// Member writes a key with a string value.
func (w *Writer) Member(k, v string) { w.Key(k); w.String(v) }

// MemberIf is Member for a value that is not empty.
func (w *Writer) MemberIf(k, v string) {
	if v != "" {
		w.Member(k, v)
	}
}

// FloatIf is Float under a key for a number that is there.
func (w *Writer) FloatIf(k string, f *float64) {
	if f != nil {
		w.Key(k)
		w.Float(*f)
	}
}

// StringsIf writes a list of strings under a key unless it is empty.
func (w *Writer) StringsIf(k string, list []string) {
	if len(list) == 0 {
		return
	}
	w.Key(k)
	w.BeginArray()
	for _, s := range list {
		w.String(s)
	}
	w.EndArray()
}

// Grow makes room for so many more bytes: a body that grows as it is written is copied
// again and again.
func (w *Writer) Grow(n int) { w.buf = slices.Grow(w.buf, n) }

// AppendString appends s as a JSON string: only what JSON must escape is escaped,
// and invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		i += plainWords(s[i:])
		for end := min(i+wordBytes, len(s)); i < end; {
			c := s[i]
			if c >= utf8.RuneSelf {
				r, n := utf8.DecodeRuneInString(s[i:])
				if r == utf8.RuneError && n == 1 {
					dst = append(dst, s[start:i]...)
					dst = append(dst, "\uFFFD"...)
					start = i + 1
				}
				i += n
				continue
			}
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
			}
			i++
			start = i
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// wordBytes is how many bytes are looked at at once.
const wordBytes = 8

// plainWords is the length of the words that s begins with and that stand in a JSON
// string as they are: ASCII without quotes, backslashes and control characters. Most of
// a request's bytes are such text.
func plainWords(s string) int {
	const (
		ones = 0x0101010101010101
		tops = 0x80 * ones
	)
	n := 0
	for ; len(s)-n >= wordBytes; n += wordBytes {
		w := s[n : n+wordBytes]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 | uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		// Without the top bits, y-z borrows into a byte's top bit where y is 0.
		quote, slash := x^('"'*ones), x^('\\'*ones)
		if (x|(x-' '*ones)|(quote-ones)|(slash-ones))&tops != 0 {
			break
		}
	}
	return n
}
