// Package adaptertest is what the tests of all adapters share.
//
// [Run] checks an adapter against golden files, [Recordings] against recorded
// answers of real providers. Beside the expected result both check what every
// decoder owes its caller:
//
//   - the way in which the bytes are cut into reads changes nothing;
//   - decoders share no state, and keep no byte of a frame;
//   - an answer cut anywhere before the last byte of its terminal marker is never
//     taken for whole, and what was read of it is the beginning of what the whole
//     answer gives;
//   - an answer cut anywhere behind it keeps its stop reason.
//
// [Encode], [Decode] and [Fold] are for tests of an adapter's own, and the functions
// beside Encode make histories. [Cases] reads the public cases.
//
// # Golden files
//
// A golden is a txtar archive (golang.org/x/tools/txtar) with these sections; its
// comment says what it shows:
//
//	wire         the body, as it is
//	wire.quoted  or: one quoted Go string a line, joined; for bytes that a text
//	             file cannot show, such as CR or a missing last line end
//	wire.frames  or, for AWS event streams: one JSON object a line,
//	             {"event": "messageStop", "payload": {...}}, with "exception": true
//	             for an exception
//	model        YAML, optional: id, provider, api, reasoning, images and compat,
//	             laid over the API's defaults
//	status       optional: the body is an error's; first line the HTTP status, then
//	             headers
//	want         what comes out, one part a line; an error last
//
// `go test ./adapters/faux -update` writes the want sections of that adapter anew.
package adaptertest
