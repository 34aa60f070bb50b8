// Package responses knows the running and the recent responses, for Abort,
// GetResponse and repeated request ids.
//
// A running response is [Live]; when it ends its [Record] is kept for five
// minutes, at most 64 MiB in all, the least recently used going first. Both are
// found by the response id or by the caller's request id, and only by their
// owner: for others they do not exist. An Abort for a request id that is not
// known yet leaves a tombstone for ten seconds, which the request finds when it
// comes.
package responses
