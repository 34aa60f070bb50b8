// Package transform makes a conversation fit the model it goes to: the hand-off.
//
// A conversation is often begun with one model and continued with another. What
// the first one left in the history is not all for the second to read: thinking
// is signed by its issuer and rejected elsewhere, ids of tool calls have another
// shape, a model without eyes refuses images, an aborted answer leaves calls that
// nobody answered. Providers refuse such a request as a whole, so one stale block
// would end the conversation.
//
// [Apply] is given the history and what the target asks for (adapters.Constraints)
// and returns the history that is sent, with a report of every difference. Its
// laws:
//
//   - The caller's history is never changed. What needs no change is shared with
//     the result, so neither may be modified afterwards.
//   - Opaque state goes back to its issuer byte for byte and to nobody else. Since
//     only the outgoing copy loses it, a conversation that goes from A to B and
//     back to A still holds all of A's signatures.
//   - The same input gives the same result, and a result given back in comes out
//     unchanged and without changes to report.
//   - Every call of a tool is followed directly by exactly one result.
//   - Nothing is lost in silence: what is not sent as it was is named by a change
//     at its place in the caller's history. Only texts of no characters and
//     arguments that were left empty go without one, because they say nothing.
//   - Appending a turn leaves what was made of the earlier ones as it was, so that
//     providers' prompt caches keep hitting, unless a rule is about the end of the
//     history.
//
// The rules, each with a stable id, are in report.go and explained in
// docs/handoff.md.
package transform
