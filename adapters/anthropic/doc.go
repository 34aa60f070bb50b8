// Package anthropic speaks Anthropic's Messages API, "anthropic-messages": the
// API of Claude at Anthropic itself and of hosts that copy it.
//
// # The domain
//
// A conversation is a list of turns that alternate between user and assistant,
// each a list of content blocks: text, image, thinking, tool_use, tool_result.
// The results of an assistant's calls are the first blocks of the user turn that
// follows it, all of them in that one turn. The system prompt and the tools stand
// beside the turns. https://docs.anthropic.com/en/api/messages
//
// Thinking is signed. A thinking block goes back with its signature, untouched,
// or not at all; a redacted_thinking block is ciphertext alone. Older models
// think with a budget of tokens ("enabled"), newer ones with an effort
// ("adaptive"). https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking
//
// Google Vertex AI serves Claude by the same API but for its address, which names the
// model, and for the version, which stands in the body.
// https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai
//
// Caching is asked for by markers: everything up to a marked block is kept, and
// at most four blocks may be marked.
// https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
//
// An answer is a stream of server-sent events: message_start, then for each block
// content_block_start, deltas and content_block_stop, then message_delta with the
// stop reason and message_stop, which alone proves that the answer is whole.
// https://docs.anthropic.com/en/docs/build-with-claude/streaming
//
// # Blocks without a type of their own
//
// Whatever the API sends beyond the blocks above (calls of its own server tools
// and their results, compaction, blocks of the future) is kept as provider content
// in the shape in which the API takes it back: the block as it started, with its
// deltas worked in. Citations belong to a text block; they are kept as a block of
// kind "text_citations" that follows it, and go back inside that text block.
//
// # Reading order
//
// wire.go holds what the API sends and says about itself. encode.go makes a
// request from the decisions in options.go, thinking.go, tools.go and history.go,
// and turns.go writes the conversation; what is Converse's as well is in package
// adapters/turns. decode.go reads an answer, with blocks.go and usage.go.
package anthropic
