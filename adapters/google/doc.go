// Package google speaks Google's generateContent: the Gemini API
// (google-generative-ai) and Vertex AI (google-vertex). One [Adapter] serves
// both; they differ in an enum, a header and the address, which is the
// catalogue's.
//
// # The domain
//
// A conversation is a list of contents, each of role "user" or "model", each a
// list of parts. A part holds one thing: text, inline data, a function call, its
// response, or a piece of a tool that Google runs itself. An answer is a stream
// of small responses of the same shape; the parts of all of them, in order, are
// the answer. There are no block numbers: adjacent text parts are one text.
//
//   - Thinking is text with "thought": true, a summary of what the model thought.
//   - The thought signature is opaque state on any part ("thoughtSignature"),
//     often on an empty text at the very end. Gemini 3 and later refuse a
//     conversation whose first function call of a step lost its signature.
//   - A function call comes whole in one part. Vertex can also stream its
//     arguments, as pairs of a JSON path and a value; see [argsBuilder].
//   - Function calls of Gemini before 3 have no ids: responses are matched by
//     name and order, so they must all stand in one content, in the calls' order.
//   - "finishReason" is the terminal marker; some old models send it with every
//     response, so the end of the body decides when reading ends.
//
// The rules are Google's:
//
//   - https://ai.google.dev/api/generate-content
//   - https://ai.google.dev/gemini-api/docs/thinking
//   - https://ai.google.dev/gemini-api/docs/thought-signatures
//   - https://ai.google.dev/gemini-api/docs/function-calling
//   - https://ai.google.dev/gemini-api/docs/structured-output
//   - https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference
package google
