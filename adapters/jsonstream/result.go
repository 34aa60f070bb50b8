package jsonstream

import "strings"

// Result is what a text came to.
type Result struct {
	// Tail is what was held back and never completed, in valid UTF-8. Forward it as a last
	// delta before the end of the call, so that nothing the model wrote is lost; it is not
	// part of the prefix. It is empty unless Error is set.
	Tail string
	// JSON is always one valid JSON object: the whole forwarded text if it is one, else its
	// closed prefix, which is {} if nothing could be read. Blank text is {} too.
	JSON string
	// Repaired says that characters inside strings were mended.
	Repaired bool
	// Error is empty if JSON is the model's own object. Else it says in a short phrase, which
	// does not quote the text, why it is not, and the call must not be executed.
	Error string
}

// Finish ends the scan. Nothing may be written afterwards; Prefix stays as it was.
func (s *Scanner) Finish() Result {
	if s.fault.Reason == "" && s.g.state != afterRoot && s.g.state != beforeRoot {
		s.fault = SyntaxError{Reason: cutFault(&s.g), Offset: len(s.raw)}
	}
	s.fault.refine(s.raw)
	r := Result{Tail: s.flush(), Repaired: s.repaired}
	switch {
	case s.fault.Reason != "":
		valid, closing := s.Prefix()
		r.JSON = string(s.forwarded()[:valid]) + closing
		r.Error = s.fault.phrase()
	case s.g.state == afterRoot:
		r.JSON = string(s.forwarded())
	default:
		r.JSON = "{}"
	}
	return r
}

// flush forwards what is still undecided.
func (s *Scanner) flush() string {
	start, held := s.n, string(s.raw[s.done:])
	if text := strings.ToValidUTF8(held, "\ufffd"); text != held {
		s.mend(len(held), text)
	} else {
		s.keep(len(held))
	}
	return string(s.forwarded()[start:])
}

// Repair reads a text that arrived whole, by the rules of a [Scanner]. There was nothing to
// hold back, so Tail is empty: forward JSON as the only delta. The text is not kept.
func Repair(text []byte) Result {
	s := Scanner{raw: text}
	s.scan()
	r := s.Finish()
	r.Tail = ""
	return r
}
