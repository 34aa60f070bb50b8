// Package turns proves that llmd sends back what it was given: every recorded
// request of a conversation with several turns is written again from the
// equivalent llmd conversation, and compared with the bytes that a real client sent
// and a real provider accepted.
//
// # What is compared
//
// A recorded request of ../shared/fixtures is read into a Generation: the system
// prompt, the messages with their ids, signatures and arguments, the tools and the
// options. PrepareContext writes the request that llmd would send, and the whole
// body is compared with the recording: order, kinds, texts, ids, opaque state;
// numbers by value, arguments of tools by their text. What the contract has no type
// for (server tools, options of one host) goes in by provider_options_json or as
// provider content, as any client of llmd would do it.
//
// Two conversations are built for each recording:
//
//   - read: all turns come from the recorded request itself. This proves the
//     encoders.
//   - looped: where an earlier turn of the same conversation is recorded, its bytes
//     are streamed through llmd by a real gRPC client, and the message that llmd gave
//     out takes the place of the one in the request. This proves the whole loop:
//     decoder, message, hand-off, encoder.
//
// # Differences
//
// A difference is either in the table of tolerated differences, with a name and a
// reason, or it fails the test. A tolerated difference says exactly what may stand
// for what: it rewrites the recorded value into the one that llmd sends, and the
// comparison goes on with the result. The log names, for each recording, those that
// were needed, and counts.
//
//	turns_test.go      the test
//	sees_test.go       the test of the test: each change of a recording is seen
//	recording_test.go  the recordings, their conversations and providers
//	llmd_test.go       llmd in this process, and the played provider
//	node_test.go       JSON with its exact text
//	compare_test.go    the comparison
//	tolerated_test.go  the differences of all APIs; tolerated_*_test.go those of one
//	read_*_test.go     recorded bodies as conversations, a file for each API
//
// Recordings are never copied here. Where ../shared is absent the test is skipped;
// with CI=true it fails.
package turns
