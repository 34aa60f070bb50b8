// Package fauxserver plays the provider of package faux: the server's side.
//
// [Transport] answers requests inside the process, without a socket; [Handler] is
// the same provider for an HTTP server. Answers are a function of the request:
// the same request gives the same bytes, ids included. It is the one place below
// adapters with goroutines and timers, because a provider has them; the adapter
// stays pure.
//
// # Models
//
//   - echo answers with the last user text.
//   - text-only is echo without images: it refuses them.
//   - agent thinks (signed), says a few words and calls the first tool with
//     arguments made from its schema. Once the results are in, it thinks again and
//     reports them. Without tools it just answers.
//   - parallel calls three tools at once, their arguments interleaved.
//   - think thinks at length, in two signed blocks and a redacted one.
//   - long answers with about 2,000 chunks, 3 ms apart, until it is cancelled.
//   - slow answers with ten chunks, a second apart.
//   - error fails in the way that the last user text names: see below.
//
// A tool choice "required" makes every model but error call a tool, "none" keeps
// all from it. Limits on output, stop sequences and an output schema hold for all.
//
// # Ways to fail
//
// With an HTTP status: rate_limit (429, retry after a second), quota (402), auth
// (401), permission (403), not_found (404), context (400, the prompt is too long),
// too_large (413), server (500), overloaded (529), html (502 with a page instead
// of JSON).
//
// With status 200: before (an error event comes first), mid-stream (an error event
// after some text; the default), refusal (some text, then the reason "refusal"),
// truncate (the body ends without its terminal marker), reset (the connection
// breaks), malformed (an event that is not JSON), stall (nothing but comments
// until the caller gives up).
//
// # Scripts
//
// A user text that begins with "faux:" decides the answer of any model exactly.
// What follows is JSON: one step, an array of steps, or an array of arrays for one
// answer after another as tool results come in. After the last array, and after an
// answer given as a flat array, the model goes on as an agent would: it reports the
// results.
//
//	faux: {"text": "hi", "delay_ms": 5}
//	faux: [{"thinking": "Hm."}, {"text": "Wait."},
//	       {"tool_call": {"name": "weather", "arguments": {"city": "Bern"}}}]
//	faux: [[{"tool_call": {"name": "weather"}}], [{"text": "Sunny."}]]
//
// A step has one of these:
//
//	"text", "thinking"   a block with this text; thinking is signed
//	"redacted"           a redacted block that hides this text
//	"tool_call"          {"name", "arguments", "id"}; "arguments_text" in place of
//	                     "arguments" is sent as it is, JSON or not
//	"tool_calls"         several of them, their arguments interleaved
//	"error"              one of the ways to fail above, a status becoming an error event
//	                     unless it comes first; nothing is sent before a first step
//	"stop"               ends the answer with this reason, known or not
//	"message"            (with "stop") the provider's words
//
// and may have
//
//	"delay_ms"           alone: a pause; else before each chunk of the step
//	"chunk"              characters in a chunk; default: words, six for arguments
//	"repeat"             the text this many times over
//
// An answer without a stop or an error ends with "tool_use" if it called a tool,
// else with "stop". A script may send at most 16 MiB.
//
// # Two more dialects
//
// [AnthropicHandler] and [ChatHandler] are small, strict servers of two real wire
// APIs for `llmd demo`, so that a conversation can be handed from one dialect to
// another on one machine. They answer with a sentence about what they were given.
package fauxserver
