// Package adapters is the seam between llmd and the wire APIs of model
// providers.
//
// A wire API is a dialect, such as "anthropic-messages" or
// "openai-completions"; a provider is a host that speaks one. Each wire API is
// one folder below this one, with one type that implements [Adapter]: it writes
// a conversation as a request ([Adapter.Encode]), reads the answer frame by
// frame ([Decoder]) and reads error bodies ([Adapter.DecodeError]).
//
// # Terms
//
// A frame is one framing unit of a body, such as one server-sent event. A part
// is one fact that a decoder found in a frame: some text, a tool call's
// beginning, usage, the terminal marker. The assembler in service/generation
// turns parts into the events of the contract; nothing here knows that grammar.
//
// # What wire APIs share
//
// A wire API never imports another one. What several need is here or in a leaf:
// [ReadFrame] and [Failed] for decoders; the methods of [Call] and [Options] for
// encoders, which name fields as the caller wrote them ([Call.BlockField]), refuse what
// an API has no field for ([Call.Refuse]) and fit budgets ([FitBudget]); packages
// jsonwire and jsonstream for JSON, media for images, schema for strict tools, and turns
// for the two APIs in which turns alternate.
//
// # Rules
//
// Adapters are pure: no I/O, no goroutine, no clock, no randomness, no state
// outside a Decoder. They never read a body and never see a gRPC type. What
// hosts of one API do differently is data in package profile, never code here.
package adapters
