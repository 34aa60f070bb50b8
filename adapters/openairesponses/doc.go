// Package openairesponses speaks OpenAI's Responses API, "openai-responses", and
// the same API at Azure, "azure-openai-responses".
//
// # The domain
//
// A conversation is a flat list of items. A message is an item, and so are each
// piece of reasoning, each call of a function and each output of one; a turn of
// the assistant is simply the run of items between two others. The system prompt
// is a message of role "developer" (or "system"), the first item.
// https://platform.openai.com/docs/api-reference/responses
//
// OpenAI can keep conversations on its side. llmd does not use that ("store" is
// always false): the history belongs to the caller. So reasoning must travel: the
// request asks for "reasoning.encrypted_content", and the item comes back and goes
// in again byte for byte. https://platform.openai.com/docs/guides/reasoning
//
// An answer is a stream of server-sent events. Each item begins with
// response.output_item.added, grows by deltas, and is said once more as a whole in
// response.output_item.done, which is its last word; response.completed,
// response.incomplete or response.failed ends the answer, and says all items a
// third time. https://platform.openai.com/docs/api-reference/responses-streaming
//
// # What becomes of the items
//
//   - reasoning: a thinking block; its signature ("openai.reasoning_item") is the
//     whole item as it came. The API refuses such an item without the one that it
//     led to, so a turn never ends with one: it is dropped and reported.
//   - message: one text block; its signature ("openai.message") holds the item's
//     id and phase. Citations stand inside a message; they are kept as a block of
//     kind "message_content" that follows the text, with all parts of the message
//     as they came, and they go back inside their message.
//   - function_call: a tool call; its id is the call_id, and the item's own id is
//     its signature ("openai.item_id").
//   - custom_tool_call: a tool call, too. A custom tool, which provider options may
//     name, takes a text: the call's only argument, "input". The item's id says what
//     it was, so that it goes back as one.
//   - everything else (web_search_call, code_interpreter_call, mcp_call, items of
//     the future) is provider content, and goes back as it came.
//
// # Reading order
//
// wire.go holds what the API sends. encode.go makes a request from decisions in
// options.go, tools.go and history.go (turn.go). decode.go
// reads an answer, with items.go for its items, citations.go, stop.go for its end and
// usage.go.
package openairesponses
