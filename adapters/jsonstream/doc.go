// Package jsonstream reads the arguments of a tool call while they are still being written.
//
// # The problem
//
// A model writes the arguments of a tool call as JSON text, a few bytes at a time, and the
// text is the model's, not a serializer's: it may stop anywhere (token limit, broken
// connection), and it may be wrong in small ways (a raw line feed in a string, a Windows path
// with single backslashes). A client wants to show what has arrived, in any language, with the
// JSON parser it already has, and to get the text byte for byte, because replaying it
// unchanged keeps the provider's prompt cache warm and numbers exact.
//
// # Words
//
//   - The raw text is what the provider wrote, in fragments cut anywhere.
//   - The forwarded text is the concatenation of the deltas that a [Scanner] returns. It is the
//     raw text with the faults inside strings mended; without faults the two are equal.
//   - The prefix is the part of the forwarded text that is certain and can be closed; the
//     closing is the few characters that make one valid JSON object of it: at most one quote,
//     then brackets. So parse(text[:prefix]+closing) works with any stock parser, at whatever
//     pace the client likes, and the stream stays linear in its length.
//   - A fault is what cannot be mended: anything wrong outside a string. It freezes the prefix.
//
// # What the prefix holds
//
// Containers and strings are shown as soon as they open, strings with what has arrived. What
// could still turn into something else is cut: keys, members without a value, literals before
// their last letter, numbers before the character that ends them (12 may become 123 or 12e9),
// commas and colons, and inside strings half an escape, half a surrogate pair, half a UTF-8
// sequence. The prefix therefore never shrinks and never shows a value that later changes,
// except that an open string, array or object grows. `{"path":"/etc/ho` gives 16 and `"}`;
// `{"a":1,"b` gives 6 and `}`; before the first brace the pair is 0 and `{}`. It counts
// bytes of UTF-8: a client whose strings are UTF-16 must encode before it cuts.
//
// # What is mended
//
// Inside strings only, keys included: a control character becomes its escape; a backslash that
// begins no escape of RFC 8259 section 7 is doubled; an escaped surrogate without its other
// half becomes \ufffd (legal JSON that many parsers refuse, RFC 8259 section 8.2); a byte that
// is not UTF-8 becomes U+FFFD. Outside strings nothing is guessed: no commas are put in, no
// code fences taken off.
//
// # Limits
//
// Objects nest at most [MaxDepth] deep and hold at most [MaxBytes] bytes, the limits of the
// contract; what goes beyond is a fault. After a fault the text is still forwarded, changed
// only where it is not UTF-8, so that nothing the model wrote is lost.
//
// Everything here is a pure function of the bytes written, independent of how they were cut.
package jsonstream
