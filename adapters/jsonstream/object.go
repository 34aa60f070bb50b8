package jsonstream

// Object reports whether text is exactly one JSON object as the contract wants it from callers:
// white space around it is fine, UTF-8 without a byte order mark, at most [MaxDepth] levels and
// [MaxBytes] bytes. Duplicate keys and lone escaped surrogates are legal JSON and let through;
// blank text is not an object. The error is a [*SyntaxError].
func Object(text []byte) error {
	if len(text) > MaxBytes {
		return &SyntaxError{Reason: faultSize, Offset: MaxBytes}
	}
	var g grammar
	for i := 0; i < len(text); {
		size, fault := g.strict(text[i:])
		if fault != "" {
			err := &SyntaxError{Reason: fault, Offset: i}
			err.refine(text)
			return err
		}
		i += size
	}
	switch g.state {
	case afterRoot:
		return nil
	case beforeRoot:
		return &SyntaxError{Reason: faultEmpty, Offset: len(text)}
	default:
		return &SyntaxError{Reason: cutFault(&g), Offset: len(text)}
	}
}

// strict takes one piece of the text, without mending.
func (g *grammar) strict(rest []byte) (size int, fault string) {
	if !g.inString() || rest[0] == '"' {
		_, fault = g.step(rest[0])
		return 1, fault
	}
	size, mended := nextUnit(rest)
	switch {
	case size == 0:
		return len(rest), "" // the end of the text speaks for itself
	case mended == "" || mended == loneSurrogate:
		return size, ""
	case rest[0] == '\\':
		return 0, faultEscape
	case rest[0] < 0x20:
		return 0, faultControl
	default:
		return 0, faultUTF8
	}
}
