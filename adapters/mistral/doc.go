// Package mistral speaks Mistral's chat API ("mistral-conversations").
//
// # The wire
//
// A request is one POST to /chat/completions, below a base URL that ends in /v1,
// with a list of messages; the answer is server-sent events, each a chunk with a
// delta of one message, and "[DONE]" at the end. https://docs.mistral.ai/api/
// describes it. It looks like OpenAI's chat API and differs where it matters:
//
//   - Content is a text or a list of typed chunks, also in answers. Thinking is a
//     chunk {"type":"thinking","thinking":[...]} among the others, and comes in
//     turns with text. https://docs.mistral.ai/capabilities/reasoning/
//   - The field "closed" of a thinking chunk does not say that the thinking is
//     over: streams set it on every piece. A block ends where another kind of
//     content begins.
//   - Ids of tool calls are exactly nine letters and digits.
//     https://docs.mistral.ai/capabilities/function_calling/
//   - Nothing beyond the known fields of a request is taken.
//
// # Order of messages
//
// A message of a tool may be followed by another one or by the assistant's, never
// by the user's ("Unexpected role 'user' after role 'tool'"). Where a conversation
// does that, the adapter puts in an assistant's word and reports it. Neighbours of
// one role are fine: Mistral joins them itself.
//
// The last message may be the assistant's with "prefix" set, a beginning to be
// continued. The answer then starts with that beginning, which the decoder takes
// out again: with other APIs the answer is what comes after it.
//
// # Signatures
//
// Mistral signs nothing: thinking goes back as it was shown. Only a thinking chunk
// that holds more than text, such as references to sources, has a signature of
// format mistral.thinking: the whole chunk as JSON, which goes back byte for byte.
package mistral
