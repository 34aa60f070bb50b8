// Package frame cuts the body of a provider's HTTP answer into frames: the
// units an adapter's decoder understands one at a time.
//
// # The domain
//
// Providers stream in three ways. A [Reader] hides which one it is.
//
//   - Server-sent events: lines of text, an event ends at a blank line.
//     https://html.spec.whatwg.org/multipage/server-sent-events.html
//   - AWS event stream: binary messages, each with its length in front, typed
//     headers and two CRC-32 checksums.
//     https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html
//     and https://smithy.io/2.0/aws/amazon-eventstream.html
//   - One JSON array whose elements arrive over time: Google's
//     streamGenerateContent without alt=sse.
//     https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
//
// Hosts do not always answer in the way they were asked. So a body asked for as
// text ([SSE] and [JSON]) is judged by its first byte that is not white space:
// '[' is an array, '{' is a bare JSON document (a plain error or a whole answer
// sent with status 200), anything else is server-sent events. An [EventStream]
// body that begins with '{' is a bare document too: read as a length, that byte
// means 2 GB.
//
// # How a body ends
//
// Whether an answer is complete is for the decoder to say; this package only
// says what happened to the bytes, exactly and without guessing:
//
//   - [io.EOF], never wrapped: the body ended where its framing allows it.
//     Server-sent events have no end mark, so their body may end anywhere.
//   - [*TruncatedError]: it ended where the framing does not allow it.
//   - A read error as it came, or inside [*TruncatedError] when it cut a frame
//     of which nothing could be given out.
//   - [*TooLargeError] and [*CorruptError]: the bytes themselves are at fault.
//   - [ErrNoEvents]: it is a text of another kind, such as a page of HTML.
//
// A text frame that the end of the body cut is still given out, with
// Unterminated set; the end or the error follows at the next call. Often only
// the delimiter is missing, and the decoder can tell by parsing the data.
// A cut binary message is never given out: it fails its checksum.
// Every error is final: later calls return it again.
//
// # Differences from the WHATWG rules
//
//   - The event pending at the end of the body is given out (see above).
//   - An event without data, or whose data does not begin with '{' or '['
//     (after white space), is skipped: hosts send "ping", "OK" and the like as
//     data. "[DONE]" does begin so, and is a frame.
//   - A line that begins with '{' is data, and the field "error" is an event of
//     that name with its value as data, unless the event has data already: so
//     llama.cpp and others report a failure in mid-stream. Google's goes over
//     several lines: those up to the last bracket belong to it.
//   - Bytes are passed on as they came; invalid UTF-8 is not replaced.
//   - "id" and "retry" are ignored: an answer cannot be resumed.
//
// # Cost
//
// Each byte is looked at once and copied once. A frame is given out as soon as
// the byte that ends it was read; a Reader never asks for more input while it
// holds a whole frame. Memory is one read buffer and the largest frame so far.
package frame
