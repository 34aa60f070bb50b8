package redisstore

import "sync/atomic"

// Stats count what a store did since its start.
type Stats struct {
	// Flushes are round trips that wrote, Entries and Events and Bytes what they wrote.
	Flushes, Entries, Events, Bytes int64
	// Checkpoints are snapshots that took the place of events; Dropped are responses
	// whose events did not fit into memory while Redis was away.
	Checkpoints, Dropped int64
	// Fenced are responses that others ended, Lost those that this process ended for
	// others.
	Fenced, Lost int64
	// Forgotten are responses that made room before their time.
	Forgotten int64
	// Failures are round trips that failed.
	Failures int64
	// Running are the responses of this process; BufferedBytes wait to be written;
	// StoredBytes are in Redis.
	Running, BufferedBytes, StoredBytes int64
	// Reading and Writing say why Redis cannot be asked; "" = it can.
	Reading, Writing string
}

type counters struct {
	flushes, entries, events, bytes, checkpoints, dropped, fenced, lost, forgotten, failures atomic.Int64
}

// Stats is what happened so far.
func (s *Store) Stats() Stats {
	c := &s.count
	out := Stats{
		Flushes: c.flushes.Load(), Entries: c.entries.Load(), Events: c.events.Load(), Bytes: c.bytes.Load(),
		Checkpoints: c.checkpoints.Load(), Dropped: c.dropped.Load(), Fenced: c.fenced.Load(), Lost: c.lost.Load(),
		Forgotten: c.forgotten.Load(), Failures: c.failures.Load(),
		Reading: s.reading.failing(), Writing: s.writing.failing(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Running, out.StoredBytes = int64(len(s.sinks)), int64(s.stored)
	for _, k := range s.sinks {
		out.BufferedBytes += int64(k.waiting())
	}
	return out
}

// limitStored is the store's own word for OnLimit.
const limitStored = "shared_store"

// OnLimit says who is told of limits that are met: the store's, and those of the memory
// of this process for its own responses. told is called under locks and must be quick.
func (s *Store) OnLimit(told func(limit string)) {
	s.local.OnLimit(told)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limited = told
}

// forgot counts a response that made room. The caller holds the lock.
func (s *Store) forgot() {
	s.count.forgotten.Add(1)
	if s.limited != nil {
		s.limited(limitStored)
	}
}

// Size is how much that memory holds.
func (s *Store) Size() (responses, bytes, tombstones int) { return s.local.Size() }
