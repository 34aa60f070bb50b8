// Package bedrock speaks ConverseStream, "bedrock-converse-stream": the one API of
// Amazon Bedrock for the models of many makers.
//
// # The domain
//
// The model stands in the path, all else in the body: turns that alternate between
// user and assistant, each a list of content blocks. A block is an object with one
// member, whose name is its type: text, image, toolUse, toolResult,
// reasoningContent, citationsContent. Results of tools are blocks of the user turn
// behind the calls. https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
//
// What only some models know goes into additionalModelRequestFields, in the model's
// own words: how much Claude, Nova 2 or GPT are to think, or top_k. Models are told
// apart by their names, as the API itself does; see models.go.
//
// Claude signs its thinking, and takes it back with the signature, untouched, or not
// at all. Redacted thinking is ciphertext, which the API writes in base64; the text of
// that base64 is what a signature holds here. Other makers do not sign.
// https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html
//
// A cachePoint is a block that asks for everything before it to be kept.
// https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
//
// An answer is a stream of binary messages: messageStart, then for each block
// contentBlockStart (where there is something to say), deltas and contentBlockStop,
// then messageStop with the stop reason, and metadata with the usage. An exception
// may come at any time. Each message carries "p", padding against eavesdroppers.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html
//
// # Blocks without a type of their own
//
// Calls of tools that run at the provider, their results and blocks of the future are
// kept as provider content in the shape in which the API takes them back: the block as
// it started, with its deltas worked in. Citations belong to a text; they are kept as a
// block of kind "citationsContent" without the text, which follows that text, and go
// back around it.
//
// # Reading order
//
// wire.go holds what the API says, models.go how models differ. encode.go makes a
// request from the decisions in options.go, thinking.go, tools.go and history.go
// (inputs.go), and turns.go writes the conversation; what is Anthropic's own API's as
// well is in package adapters/turns. decode.go reads an answer, with blocks.go,
// opaque.go and usage.go.
package bedrock
