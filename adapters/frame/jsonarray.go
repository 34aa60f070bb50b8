package frame

import "io"

// jsonParser cuts out the elements of one JSON array. Google's elements are
// objects; a scalar has no place in a stream of answers and is refused.
//
// It knows only where a value ends: strings, escapes and the depth of brackets.
// What is inside is checked by the decoder, which parses it anyhow.
type jsonParser struct {
	in *body
	// bare means that the body began with a value instead of '['. Then the body
	// may end after any value; commonly there is only the one.
	bare bool

	value  []byte
	offset int64 // of value
	nesting
	cut bool // the end of the body came inside a value
}

// nesting is where in a JSON value a parser stands.
type nesting struct {
	depth    int // open brackets; 0 between values
	inString bool
	escaped  bool // behind a backslash
}

func (p *jsonParser) next() (Frame, error) {
	p.value = p.value[:0]
	for p.in.more() {
		if p.depth == 0 {
			if err := p.between(); err != nil {
				return Frame{}, err
			}
			continue
		}
		n := p.scan(p.in.window)
		if n > p.in.max-len(p.value) {
			return Frame{}, p.in.tooLarge(p.offset)
		}
		p.value = append(p.value, p.in.window[:n]...)
		p.in.skip(n)
		if p.depth == 0 {
			return Frame{Data: p.value, Offset: p.offset}, nil
		}
	}
	return p.finish()
}

// between takes one byte between two values. Commas are not counted: a missing
// or doubled one loses nothing.
func (p *jsonParser) between() error {
	switch p.in.window[0] {
	case ' ', '\t', '\r', '\n', ',':
		p.in.skip(1)
	case ']':
		return io.EOF // what follows is not read: the body may stay open
	case '{', '[':
		p.offset = p.in.offset
		p.value = append(p.value, p.in.window[0])
		p.depth = 1
		p.in.skip(1)
	default:
		return p.in.corrupt(p.in.offset, "unexpected byte between the elements of a JSON array")
	}
	return nil
}

// scan returns how many bytes of b belong to the value; depth is 0 if they end
// it.
func (n *nesting) scan(b []byte) int {
	for i, c := range b {
		switch {
		case n.escaped:
			n.escaped = false
		case n.inString:
			n.inString, n.escaped = c != '"', c == '\\'
		case c == '"':
			n.inString = true
		case c == '{' || c == '[':
			n.depth++
		case c == '}' || c == ']':
			n.depth--
			if n.depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}

// finish is called at the end of the body, first with a value that was cut, if
// there is one, then without.
func (p *jsonParser) finish() (Frame, error) {
	if p.depth > 0 {
		p.depth = 0
		p.cut = true
		return Frame{Data: p.value, Offset: p.offset, Unterminated: true}, nil
	}
	if p.in.err == io.EOF && (p.cut || !p.bare) {
		return Frame{}, p.in.truncated(p.in.offset)
	}
	return Frame{}, p.in.err
}
