package jsonstream

// MaxDepth is how deep objects and arrays may nest; the arguments object itself is level 1.
const MaxDepth = 128

// state is the place in the grammar of RFC 8259 before the next byte. A state is named after
// what comes next or what the byte is inside of.
type state uint8

const (
	beforeRoot state = iota
	keyOrEnd         // after {
	key              // after a comma in an object
	colon
	value      // after a colon, or a comma in an array
	valueOrEnd // after [
	afterValue
	afterRoot
	inKey // from here on white space means something
	inValue
	literal
	minus
	zero
	integer
	dot
	fraction
	exponent
	exponentSign
	exponentDigits
)

// progress says how far one byte moved the closable prefix.
type progress uint8

const (
	stays   progress = iota
	before           // to just before this byte: it ended a number
	through          // to just after this byte
)

// grammar is a push-down machine over the bytes outside strings; the bytes inside strings are
// the caller's, see [nextUnit]. The zero value stands before the root.
type grammar struct {
	state   state
	rest    string // what of a literal is still to come
	depth   int
	moved   bool           // the closers changed; for whoever keeps a copy of them
	closers [MaxDepth]byte // closers[:depth] are the closing brackets owed, outermost first
}

// inString says whether the next byte belongs to a string, its closing quote included.
func (g *grammar) inString() bool { return g.state == inKey || g.state == inValue }

// step takes the next byte: outside strings any, inside a string its closing quote only. After
// a fault ("" means none) the stack is as before the byte, and the machine must not go on.
func (g *grammar) step(b byte) (progress, string) {
	if g.state < inKey && isSpace(b) {
		return stays, ""
	}
	switch g.state {
	case beforeRoot:
		if b != '{' {
			return stays, faultNotObject
		}
		return g.open(keyOrEnd, '}')
	case keyOrEnd, key:
		return g.stepKey(b)
	case inKey:
		g.state = colon
		return stays, ""
	case colon:
		if b != ':' {
			return stays, faultColon
		}
		g.state = value
		return stays, ""
	case value, valueOrEnd:
		return g.stepValue(b)
	case inValue:
		g.state = afterValue
		return through, ""
	case afterValue:
		return g.stepAfterValue(b)
	case afterRoot:
		return stays, faultAfter
	case literal:
		return g.stepLiteral(b)
	default:
		return g.stepNumber(b)
	}
}

func (g *grammar) open(next state, closer byte) (progress, string) {
	if g.depth == MaxDepth {
		return stays, faultDepth
	}
	g.closers[g.depth] = closer
	g.depth++
	g.moved = true
	g.state = next
	return through, ""
}

func (g *grammar) close() (progress, string) {
	g.depth--
	g.moved = true
	g.state = afterValue
	if g.depth == 0 {
		g.state = afterRoot
	}
	return through, ""
}

func (g *grammar) stepKey(b byte) (progress, string) {
	switch {
	case b == '"':
		g.state = inKey // not shown before its value starts
		return stays, ""
	case b == '}' && g.state == keyOrEnd:
		return g.close()
	default:
		return stays, faultKey
	}
}

func (g *grammar) stepValue(b byte) (progress, string) {
	switch b {
	case '"':
		g.state = inValue
		return through, ""
	case '{':
		return g.open(keyOrEnd, '}')
	case '[':
		return g.open(valueOrEnd, ']')
	case ']':
		if g.state == valueOrEnd {
			return g.close()
		}
	case 't':
		return g.openLiteral("rue")
	case 'f':
		return g.openLiteral("alse")
	case 'n':
		return g.openLiteral("ull")
	default:
		if next, ok := numberStart(b); ok {
			g.state = next
			return stays, ""
		}
	}
	return stays, faultValue
}

func (g *grammar) stepAfterValue(b byte) (progress, string) {
	closer := g.closers[g.depth-1]
	switch {
	case b == closer:
		return g.close()
	case b != ',':
		return stays, faultComma
	case closer == '}':
		g.state = key
	default:
		g.state = value
	}
	return stays, ""
}

func (g *grammar) openLiteral(rest string) (progress, string) {
	g.state, g.rest = literal, rest
	return stays, ""
}

func (g *grammar) stepLiteral(b byte) (progress, string) {
	if b != g.rest[0] {
		return stays, faultLiteral
	}
	g.rest = g.rest[1:]
	if g.rest != "" {
		return stays, ""
	}
	g.state = afterValue
	return through, ""
}

// stepNumber shows a number only once a byte has come that can stand after it: until then it
// may grow into another number, or into no number at all, like 1. or 01.
func (g *grammar) stepNumber(b byte) (progress, string) {
	if next, ok := numberNext(g.state, b); ok {
		g.state = next
		return stays, ""
	}
	if !numberComplete(g.state) || !isDelimiter(b) {
		return stays, faultNumber
	}
	g.state = afterValue
	p, fault := g.step(b)
	return max(p, before), fault
}

func numberStart(b byte) (state, bool) {
	switch b {
	case '-':
		return minus, true
	case '0':
		return zero, true
	default:
		return integer, isDigit(b)
	}
}

// numberNext is the state after one more byte of a number, or false if the number cannot go on
// with it.
func numberNext(s state, b byte) (state, bool) {
	switch s {
	case minus:
		if b == '-' {
			return 0, false
		}
		return numberStart(b)
	case integer, zero, fraction:
		switch {
		case isDigit(b):
			return s, s != zero // no leading zeros
		case b == 'e' || b == 'E':
			return exponent, true
		default:
			return dot, b == '.' && s != fraction
		}
	case dot:
		return fraction, isDigit(b)
	case exponent:
		if b == '+' || b == '-' {
			return exponentSign, true
		}
	default: // behind the exponent's sign, or among its digits
	}
	return exponentDigits, isDigit(b)
}

func numberComplete(s state) bool {
	return s == zero || s == integer || s == fraction || s == exponentDigits
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\r' || b == '\t' }

func isDelimiter(b byte) bool { return b == ',' || b == '}' || b == ']' || isSpace(b) }
