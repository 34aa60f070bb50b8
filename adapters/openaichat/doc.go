// Package openaichat speaks the Chat Completions API ("openai-completions"):
// OpenAI's own, and that of the many hosts that imitate it.
//
// # The wire
//
// A request is one POST to /chat/completions with a list of messages; the answer
// is server-sent events, each a chunk with a delta of one message, and "[DONE]"
// at the end. https://platform.openai.com/docs/api-reference/chat and
// https://platform.openai.com/docs/api-reference/chat-streaming describe it.
//
// # Terms
//
// A choice is one of several answers to the same request; llmd asks for one and
// reads choice 0. The finish_reason of its last delta is the terminal marker.
// Usage comes with that delta, after it, or in every chunk.
//
// # What OpenAI does not specify
//
// The API has no place for reasoning, so hosts made their own. A message's thinking
// block remembers which way it came:
//
//   - A text in a field of its own: "reasoning_content" (DeepSeek, xAI, Zai),
//     "reasoning" (Groq, Ollama, Cerebras) or "reasoning_text". The signature
//     has format chat.reasoning_field and holds the field's name; the text goes
//     back in that field.
//   - A list "reasoning_details" of typed and possibly signed or encrypted items
//     (OpenRouter, Vercel), beside "reasoning" for display. The signature has
//     format chat.reasoning_details and holds the list, which goes back as it
//     is. https://openrouter.ai/docs/use-cases/reasoning-tokens
//   - A list "thinking_blocks" of Claude's own blocks (LiteLLM), beside
//     "reasoning_content". The signature has format chat.thinking_blocks and
//     holds those that are signed, which go back as they are.
//     https://docs.litellm.ai/docs/reasoning_content
//   - A word "reasoning_opaque" behind the thoughts in "reasoning_text" (GitHub
//     Copilot). The signature has format chat.reasoning_opaque and holds that
//     word, which goes back with the thoughts.
//     https://github.com/anomalyco/opencode/pull/8900
//
// Google signs calls, and the text of an answer, in "extra_content" beside them. The
// signature has format chat.extra_content and holds that object, which goes back where
// it stood. https://ai.google.dev/gemini-api/docs/thought-signatures#openai
// Databricks has it in "thoughtSignature" beside a call; its format is
// chat.thought_signature.
// LiteLLM puts the signature into the call's id; where the id is too long with it, that
// end of the id is the signature, of format chat.tool_call_id.
//
// How thinking is asked for differs even more; see thinking.go. All that is data
// in profile.Compat: no host is known here by name.
//
// # Tolerance
//
// Hosts differ in types, too: absent, null and empty mean the same here, a text
// may come as a list of parts, arguments as an object instead of a string, a
// whole answer as one JSON document. Tool calls are matched by index, else by id,
// else by their order (calls.go). Only what says how the answer ended is strict:
// without a finish_reason it is truncated.
package openaichat
