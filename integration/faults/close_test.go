package faults

import (
	"slices"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/integration/harness"
)

// closeGoal is the goal for the 99th percentile, on loopback and an idle machine.
// The test fails at ten times that: machines in use are no measure.
const closeGoal = 20 * time.Millisecond

// TestUpstreamClose measures how long after a cancel, or an Abort, the connection to
// the provider is closed.
func TestUpstreamClose(t *testing.T) {
	wires := spoken(t)
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, wires)...)
	each := 5
	if long() {
		each = 100
	}
	for _, f := range clientFaults() {
		if f.resume || f.ctx != nil {
			continue
		}
		var delays []time.Duration
		for n := range each {
			for _, w := range wires {
				for _, phase := range []Phase{beforeHeaders, inText, inTool} {
					if d, ok := newTrial(t, l, p, w, phase, "close "+f.name, n).client(f); ok {
						delays = append(delays, d)
					}
				}
			}
		}
		p99 := percentile(delays, 0.99)
		t.Logf("%s: n %d, p50 %v, p99 %v, most %v", f.name, len(delays), percentile(delays, 0.50), p99, slices.Max(delays))
		if p99 > 10*closeGoal {
			t.Errorf("%s: p99 is %v, the goal is %v", f.name, p99, closeGoal)
		}
	}
}
