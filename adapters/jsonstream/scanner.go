package jsonstream

import "bytes"

// MaxBytes is the largest text taken for one object, in bytes of UTF-8 after mending: 1 MiB.
const MaxBytes = 1 << 20

// Scanner reads one call's argument text as it arrives. The zero value is ready. A Scanner is
// not safe for concurrent use and must not be copied once written to.
//
// Its work is linear in the bytes written. It keeps the raw text, and a second buffer with the
// forwarded text only from the first mended character on.
type Scanner struct {
	g grammar

	raw    []byte // all that was written
	done   int    // raw[:done] is forwarded; the rest is undecided, at most 11 bytes
	mended []byte // the forwarded text, once it differs from raw[:done]; nil before
	n      int    // length of the forwarded text

	valid    int         // length of the closable prefix, <= n
	closing  string      // a quote and the closers owed, as of the last Prefix
	repaired bool        // something inside a string was mended
	fault    SyntaxError // the first fault; Reason "" means none
}

// Write takes the next fragment of the raw text, cut anywhere, and returns what to forward for
// it. The delta is always valid UTF-8. It may be empty: an escape, a surrogate pair or a UTF-8
// sequence is held back until it is whole.
func (s *Scanner) Write(fragment []byte) (delta string) {
	start := s.n
	s.raw = append(s.raw, fragment...)
	s.scan()
	return string(s.forwarded()[start:])
}

// Replace is for providers that send the whole text again when it is complete. If full goes on
// from the raw text written so far, the missing suffix is written and its delta returned. If
// not, the two contradict, nothing is changed, and the final text needs a [Repair] of its own.
//
// See response.function_call_arguments.done in
// https://platform.openai.com/docs/api-reference/responses-streaming.
func (s *Scanner) Replace(full []byte) (delta string, extends bool) {
	if !bytes.HasPrefix(full, s.raw) {
		return "", false
	}
	return s.Write(full[len(s.raw):]), true
}

// Len is the length of the forwarded text in bytes.
func (s *Scanner) Len() int { return s.n }

// Prefix says how many bytes of the forwarded text are certain, and what closes them: the first
// validBytes bytes and closing are always one valid JSON object. Neither validBytes nor the
// object behind it ever shrinks. After brackets it costs the depth of the text, else nothing.
func (s *Scanner) Prefix() (validBytes int, closing string) {
	if s.valid == 0 {
		return 0, "{}"
	}
	// Opening and closing a container always move the prefix along, so the closers owed by the
	// prefix are those owed by the text.
	if s.g.moved {
		s.refreshClosing()
	}
	if s.g.state == inValue {
		return s.valid, s.closing
	}
	return s.valid, s.closing[1:]
}

// Forwarded is all that was forwarded so far: the deltas joined. It copies.
func (s *Scanner) Forwarded() string { return string(s.forwarded()) }

// PartialJSON is the certain prefix, closed: always one valid JSON object. It copies the prefix,
// so asking after each fragment is quadratic.
func (s *Scanner) PartialJSON() string {
	n, closing := s.Prefix()
	return string(s.forwarded()[:n]) + closing
}

func (s *Scanner) refreshClosing() {
	s.g.moved = false
	var buf [MaxDepth + 1]byte
	closing := append(buf[:0], '"')
	for i := s.g.depth; i > 0; i-- {
		closing = append(closing, s.g.closers[i-1])
	}
	if string(closing) != s.closing {
		s.closing = string(closing)
	}
}

// forwarded is the forwarded text.
func (s *Scanner) forwarded() []byte {
	if s.mended != nil {
		return s.mended
	}
	return s.raw[:s.done]
}

// scan forwards all that can be decided.
func (s *Scanner) scan() {
	for decided := true; decided && s.done < len(s.raw); {
		switch rest := s.raw[s.done:]; {
		case s.fault.Reason != "":
			decided = s.scanFaulty(rest)
		case !s.g.inString() || rest[0] == '"':
			s.scanStructure(rest)
		default:
			decided = s.scanString(rest)
		}
	}
}

// scanStructure takes bytes, the first of which may close a string, up to the inside of the
// next string, the end of what is there, or a fault.
func (s *Scanner) scanStructure(rest []byte) {
	for _, b := range rest {
		if !s.take(b) || s.g.inString() {
			return
		}
	}
}

// take forwards one byte and moves the prefix along, or fails without taking it.
func (s *Scanner) take(b byte) bool {
	if s.n == MaxBytes {
		s.fail(faultSize)
		return false
	}
	p, fault := s.g.step(b)
	if p == before {
		s.valid = s.n
	}
	if fault != "" {
		s.fail(fault)
		return false
	}
	s.keep(1)
	if p == through {
		s.valid = s.n
	}
	return true
}

// scanString takes one piece of the inside of a string. It returns false if the piece is not
// decided yet.
func (s *Scanner) scanString(rest []byte) bool {
	room := MaxBytes - s.n
	size, mended := nextUnit(rest)
	switch {
	case size == 0:
		return false
	case mended != "" && len(mended) <= room:
		s.mend(size, mended)
		s.repaired = true
	case mended == "" && size <= room:
		s.keep(size)
	case plainRun(rest[:1]) == 1 && room > 0:
		s.keep(room) // a run may be split, or the result would depend on the fragments
	default:
		s.fail(faultSize)
	}
	if s.g.state == inValue && s.fault.Reason == "" {
		s.valid = s.n
	}
	return true
}

// scanFaulty forwards as it is what comes after a fault, except that deltas must be UTF-8. It
// returns false if half a character waits.
func (s *Scanner) scanFaulty(rest []byte) bool {
	n := 0
	for n < len(rest) {
		size, mended := 1, ""
		if rest[n] >= 0x80 {
			size, mended = characterUnit(rest[n:])
		}
		if size == 0 || mended != "" {
			s.keep(n)
			s.mend(size, mended)
			return size > 0
		}
		n += size
	}
	s.keep(n)
	return true
}

func (s *Scanner) fail(reason string) {
	s.fault = SyntaxError{Reason: reason, Offset: s.done}
}

// keep forwards the next size raw bytes as they are.
func (s *Scanner) keep(size int) {
	if s.mended != nil {
		s.mended = append(s.mended, s.raw[s.done:s.done+size]...)
	}
	s.done += size
	s.n += size
}

// mend forwards text in place of the next size raw bytes.
func (s *Scanner) mend(size int, text string) {
	if size == 0 {
		return
	}
	if s.mended == nil {
		s.mended = append(make([]byte, 0, len(s.raw)+len(text)), s.raw[:s.done]...)
	}
	s.mended = append(s.mended, text...)
	s.done += size
	s.n += len(text)
}
