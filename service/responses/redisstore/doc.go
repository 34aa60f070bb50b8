// Package redisstore shares running and recent responses between processes by way of
// Redis or Valkey. It is a [responses.Store].
//
// # What is in Redis
//
// Of each response a hash (whose it is, its state) and a Redis Stream of its events,
// and of each request id a key that names its response. The process that makes a
// response, its owner, is the only one that writes events; its token is in the hash,
// and every write checks it. What callers or models said is encrypted (cipher.go);
// the names of keys are digests.
//
// An entry of a stream holds the events up to a number, and its id is that number
// plus one: to read on behind event n is XRANGE from (n+2)-0. Where events are gone,
// because Redis lost them or was away too long or the response is large, the owner
// replaces all entries by one that holds started and a snapshot; see sink.go.
//
// # Who does what
//
//	writer.go   one goroutine writes the new events of all responses, in one round
//	            trip for each interval; no response ever waits for it
//	lease.go    signs of life, the expiry of keys, wishes of other processes
//	reader.go   what is read for those who follow responses of other processes
//	batcher.go  the round trips that somebody waits for, many questions in each
//	lost.go     the end of a response whose owner is gone
//
// # When Redis fails
//
// Responses go on. What could not be written waits, within bounds, and is replaced by
// a snapshot where it does not fit. health.go keeps a failing Redis from being asked
// too often.
package redisstore
