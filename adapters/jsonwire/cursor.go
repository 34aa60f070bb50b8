package jsonwire

// Cursor reads one JSON text from front to back. It is the fast way for frames that
// come by the thousand and look all alike: it looks at each byte once, and allocates
// only the strings that are asked for.
//
// It is strict and simple: where the text is not what the caller asks for, or is not
// JSON, it fails for good and reads as empty from there on. What failed, or did not
// end with [Cursor.Whole], is read again with [Unmarshal], which knows what to make
// of it. So a caller needs to understand only the usual frame.
//
//	c := jsonwire.NewCursor(data)
//	for c.Begin('{'); c.More('}'); {
//		switch string(c.Key()) {
//		case "type":
//			kind = c.Text()
//		case "index":
//			index = c.Int()
//		case "created":
//			c.Skip()
//		default:
//			c.Fail() // it might mean something
//		}
//	}
//	if !c.Whole() { ... }
type Cursor struct {
	data   []byte
	at     int
	begun  bool // a container was entered and nothing of it was read
	failed bool

	pieces   int // calls of Piece
	from, to int // where the last one was
}

// NewCursor begins to read data, which must not change meanwhile.
func NewCursor(data []byte) Cursor { return Cursor{data: data} }

// Fail gives the text up.
func (c *Cursor) Fail() {
	c.failed = true
	c.at = len(c.data)
}

// Whole says that the one value was read to its end and nothing was amiss.
func (c *Cursor) Whole() bool {
	return c.peek() == 0 && c.at == len(c.data) && !c.failed
}

// peek skips white space and gives the next byte; 0 = there is none. Most often there is
// no space, and this is short enough to be inlined.
func (c *Cursor) peek() byte {
	if c.at < len(c.data) && c.data[c.at] > ' ' {
		return c.data[c.at]
	}
	return c.pastSpace()
}

func (c *Cursor) pastSpace() byte {
	for c.at < len(c.data) {
		switch b := c.data[c.at]; b {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return b
		}
	}
	return 0
}

func (c *Cursor) take(b byte) {
	if c.peek() != b {
		c.Fail()
		return
	}
	c.at++
}

// Begin enters an object ('{') or an array ('[').
func (c *Cursor) Begin(open byte) {
	c.take(open)
	c.begun = true
}

// More goes on to the next member or element; at the end it leaves the container.
func (c *Cursor) More(closing byte) bool {
	b, begun := c.peek(), c.begun
	c.begun = false
	switch {
	case c.failed:
		return false
	case b == closing:
		c.at++
		return false
	case begun:
		return true
	}
	c.take(',')
	if c.peek() == closing { // a comma too many
		c.Fail()
	}
	return !c.failed
}

// Key reads the name of a member. Names with escapes or beyond ASCII fail.
func (c *Cursor) Key() []byte {
	key, plain := c.raw()
	if !plain {
		c.Fail()
		return nil
	}
	c.take(':')
	return key
}

// Next is the first byte of the value that is next, where it may be of several types; 0 =
// there is none.
func (c *Cursor) Next() byte { return c.peek() }

// Null takes a null if one is next.
func (c *Cursor) Null() bool {
	if c.peek() != 'n' {
		return false
	}
	c.literal("null")
	return true
}

func (c *Cursor) literal(word string) {
	if len(c.data)-c.at < len(word) || string(c.data[c.at:c.at+len(word)]) != word {
		c.Fail()
		return
	}
	c.at += len(word)
}

// Text reads a string, as [Text] does; null reads as empty.
func (c *Cursor) Text() string { return c.Known("") }

// Piece is Text for the string in which frames differ, see [Repeat]. An empty one is the
// same in all that repeat, like what stands around the piece.
func (c *Cursor) Piece() string {
	c.peek()
	from := c.at
	text := c.Text()
	if text != "" {
		c.pieces++
		c.from, c.to = from, c.at
	}
	return text
}

// Known is Text for a string that is probably this one, which then is not allocated
// anew.
func (c *Cursor) Known(probably string) string {
	if c.Null() {
		return ""
	}
	switch raw, plain := c.raw(); {
	case !plain:
		return unquote(raw)
	case string(raw) == probably:
		return probably
	default:
		return string(raw)
	}
}

// Word reads a string without escapes, for a switch over known ones.
func (c *Cursor) Word() []byte {
	raw, plain := c.raw()
	if !plain {
		c.Fail()
		return nil
	}
	return raw
}

// raw reads a string and gives what stands between its quotes. plain: that is its
// value, without escapes and in ASCII.
func (c *Cursor) raw() (in []byte, plain bool) {
	c.take('"')
	plain = true
	// The place is kept here, where it can be in a register: strings are most of a frame.
	from, at, data := c.at, c.at, c.data
	for at < len(data) {
		switch b := data[at]; {
		case b == '"':
			c.at = at + 1
			return data[from:at], plain
		case b == '\\':
			plain = false
			c.at = at
			c.escape()
			at = c.at
		case b < ' ':
			c.Fail()
			return nil, true
		case b >= 0x80:
			plain = false
			at++
		default:
			at++
		}
	}
	c.Fail()
	return nil, true
}

// escape reads one escape.
func (c *Cursor) escape() {
	size := 2
	if len(c.data)-c.at < size {
		c.Fail()
		return
	}
	switch c.data[c.at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
	case 'u':
		size = 6
		if len(c.data)-c.at < size {
			c.Fail()
			return
		}
		for _, b := range c.data[c.at+2 : c.at+6] {
			if (b < '0' || b > '9') && (b|0x20 < 'a' || b|0x20 > 'f') {
				c.Fail()
				return
			}
		}
	default:
		c.Fail()
		return
	}
	c.at += size
}

// maxDigits of an integer are read; more could overflow.
const maxDigits = 9

// Int reads a small integer without sign, exponent or fraction.
func (c *Cursor) Int() int {
	c.peek()
	from, n := c.at, 0
	for c.at < len(c.data) && c.data[c.at] >= '0' && c.data[c.at] <= '9' {
		n = n*10 + int(c.data[c.at]-'0')
		c.at++
	}
	digits := c.at - from
	if digits == 0 || digits > maxDigits || digits > 1 && c.data[from] == '0' || c.numberGoesOn() {
		c.Fail()
		return 0
	}
	return n
}

func (c *Cursor) numberGoesOn() bool {
	if c.at == len(c.data) {
		return false
	}
	switch c.data[c.at] {
	case '.', 'e', 'E', '+', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return true
	}
	return false
}

// maxSkipDepth is how deep a value may be that is skipped.
const maxSkipDepth = 32

// Skip reads any value and forgets it.
func (c *Cursor) Skip() { c.skip(maxSkipDepth) }

// Raw reads any value and gives its text, which is a part of what the cursor reads.
func (c *Cursor) Raw() []byte {
	c.peek()
	from := c.at
	c.Skip()
	if c.failed {
		return nil
	}
	return c.data[from:c.at]
}

func (c *Cursor) skip(depth int) {
	switch b := c.peek(); {
	case depth == 0:
		c.Fail()
	case b == '"':
		c.raw()
	case b == '{':
		for c.Begin('{'); c.More('}'); {
			c.raw()
			c.take(':')
			c.skip(depth - 1)
		}
	case b == '[':
		for c.Begin('['); c.More(']'); {
			c.skip(depth - 1)
		}
	case b == 'n':
		c.literal("null")
	case b == 't':
		c.literal("true")
	case b == 'f':
		c.literal("false")
	default:
		c.number()
	}
}

// number skips a number: -?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?
func (c *Cursor) number() {
	c.sign("-")
	from := c.at
	if n := c.digits(); n == 0 || n > 1 && c.data[from] == '0' {
		c.Fail()
		return
	}
	if c.sign(".") && c.digits() == 0 {
		c.Fail()
		return
	}
	if c.sign("eE") {
		c.sign("+-")
		if c.digits() == 0 {
			c.Fail()
		}
	}
}

// sign takes one of these bytes if it is next.
func (c *Cursor) sign(of string) bool {
	if c.at == len(c.data) {
		return false
	}
	for i := range len(of) {
		if c.data[c.at] == of[i] {
			c.at++
			return true
		}
	}
	return false
}

func (c *Cursor) digits() int {
	from := c.at
	for c.at < len(c.data) && c.data[c.at] >= '0' && c.data[c.at] <= '9' {
		c.at++
	}
	return c.at - from
}
