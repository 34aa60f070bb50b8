// Package faux speaks the wire API of the built-in provider, which answers
// without keys, network or chance: for a first try, for demonstrations and for
// the tests of every client.
//
// The provider itself, the server's side, is package fauxserver; it plays a
// strict one that checks histories and signatures. [Models] lists its models.
// This package writes its requests and reads its answers, and is as pure as any
// other adapter.
//
// # Request
//
// POST /v1/generate with one JSON object. What stays the same from turn to turn
// comes first, as a prompt cache would want it:
//
//	{"model": "agent",
//	 "system": "Be brief.",
//	 "tools": [{"name": "weather", "description": "...", "parameters": {...}, "strict": true}],
//	 "messages": [
//	   {"role": "user", "content": [
//	     {"type": "text", "text": "..."},
//	     {"type": "image", "mime_type": "image/png", "data": "<base64>"}]},
//	   {"role": "assistant", "content": [
//	     {"type": "thinking", "thinking": "...", "signature": "..."},
//	     {"type": "redacted", "signature": "..."},
//	     {"type": "text", "text": "..."},
//	     {"type": "tool_call", "id": "call_1", "name": "weather", "arguments": {...}}]},
//	   {"role": "tool", "tool_call_id": "call_1", "is_error": true, "content": [...]}],
//	 "tool_choice": {"mode": "required", "name": "weather"},
//	 "thinking": {"mode": "on", "effort": "high", "budget_tokens": 2048, "summary": true},
//	 "max_output_tokens": 100, "temperature": 0.5, "top_p": 1, "top_k": 40,
//	 "stop_sequences": ["END"], "seed": 7, "output_schema": {...},
//	 "parallel_tool_calls": false, "service_tier": "flex", "verbosity": "low",
//	 "cache": {"retention": "long", "session_key": "..."}, "user": "..."}
//
// Only what the caller named is sent. The provider honours the limits on output,
// stop sequences, tool choice, parallel calls, the output schema and thinking; as
// it is deterministic anyway, the other options change nothing. Options in
// provider_options_json under the provider's id are laid over the finished body.
//
// # Answer
//
// Server-sent events, each with one JSON object as data:
//
//	{"type":"start","id":"faux_1f...","model":"agent"}
//	{"type":"thinking","block":0,"text":"The user "}        appends to block 0
//	{"type":"signature","block":0,"signature":"9a..."}      signs it, before its end
//	{"type":"end","block":0}                                block 0 is whole
//	{"type":"redacted","block":1,"signature":"c2..."}       thinking that is not shown
//	{"type":"text","block":2,"text":"Hi"}
//	{"type":"tool_call","block":3,"id":"call_7b...","name":"weather"}
//	{"type":"args","block":3,"text":"{\"ci"}
//	{"type":"usage","input":12,"output":7,"reasoning":3}    cumulative
//	{"type":"stop","reason":"tool_use"}                     the terminal marker
//	{"type":"error","error":{"type":"overloaded","message":"..."}}
//
// Blocks may be interleaved. The last usage comes before the terminal marker, so
// nothing follows it. Reasons are "stop", "length", "tool_use" and "refusal" (with
// "message", the provider's words). A token is four characters, rounded up;
// "output" includes "reasoning".
//
// Errors before the answer have an HTTP status and the body
//
//	{"error":{"type":"rate_limit","message":"...","retry_after_ms":1000}}
//
// # Signatures
//
// Thinking is signed over the model and the text, format "faux.thinking";
// redacted thinking is its own signature, format "faux.redacted". The provider
// refuses any that it did not issue for this model and this text, as real ones
// do: a replay shows at once whether a hand-off kept every byte.
package faux
