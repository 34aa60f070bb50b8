// Package providersim plays the providers: one loopback server that speaks every
// wire API of llmd, refuses what the real one refuses, and otherwise answers.
//
// # Rules
//
// A provider refuses a request for a reason that it documents, in words, in an
// error message, or both. Each such reason is a [Rule] here: a stable id such as
// "anthropic.tool_result.follows_tool_use", a link to where it comes from, and one
// function that looks for a breach. [Check] runs them over a body; the server
// answers a breach with the status and the error body of that provider.
//
// Rules are written from the provider's documentation and from recorded answers,
// not from llmd's encoders: the two must agree without knowing each other. Tests
// hold them against the recordings of ../shared/fixtures: what a real provider
// took must pass, what it refused for its structure must fail.
//
// Where hosts of one API differ (Chat Completions), or models of one host (Claude
// with and without a thinking budget, Gemini before and after 3), the model's name
// decides which rules hold, as it does at the provider.
//
// # Answers
//
// [Answer] is a whole body as the provider streams it: thinking, words, calls of
// the request's own tools, now and then something odd. It is a function of the
// request: the same bytes give the same answer. Every piece of text holds a word
// that is found nowhere else, so that a test can follow it through a hand-off.
//
// # Signatures
//
// Opaque state is an HMAC over the API, the model and what it belongs to. So one
// that comes back in another place, to another model, shortened or with changed
// words is caught without the simulator remembering anything. [CheckStructure]
// leaves these rules out, for requests of real conversations.
package providersim
