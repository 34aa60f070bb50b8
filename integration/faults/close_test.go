package faults

import (
	"slices"
	"testing"
	"time"

	"github.com/llmd-dev/llmd/integration/harness"
)

// TestUpstreamClose: after a cancel, or an Abort, the connection to the provider is
// closed. It prints how soon; the goal for that is the benchmark's (integration/bench),
// since a busy machine is no measure.
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
		if len(delays) == 0 {
			t.Errorf("%s: no connection was seen to close", f.name)
			continue
		}
		t.Logf("%s: n %d, p50 %v, p99 %v, most %v", f.name, len(delays), percentile(delays, 0.50), percentile(delays, 0.99), slices.Max(delays))
	}
}
