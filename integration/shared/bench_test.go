package sharedtest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
	"github.com/llmd-dev/llmd/integration/redistest"
)

// BenchmarkDelta is what one delta of a provider costs, all in all, by where
// responses are known: time, and time of the processors of this process, which has
// the client and the built-in provider in it too.
func BenchmarkDelta(b *testing.B) {
	for _, c := range []struct {
		name     string
		redis    bool
		detached time.Duration
	}{{name: "memory"}, {name: "memory, detached", detached: time.Minute}, {name: "redis", redis: true}, {name: "redis, detached", redis: true, detached: time.Minute}} {
		b.Run(c.name, func(b *testing.B) {
			config := ""
			if c.redis {
				r := redistest.Start(b)
				config = fmt.Sprintf("  responses:\n    store: redis\n    encryption_keys: [{id: k, key: %q}]\n    redis: {addresses: [%q]}\n", strings.Repeat("0f", 32), r.Addr)
			}
			l := harness.Start(b, config)
			const deltas = 5000
			req := script("", deltas, 0, c.detached)
			text := fmt.Sprintf(`faux: {"text": "word ", "repeat": %d}`, deltas)
			req.Generation.Context.Messages[0].GetUser().Content[0].GetText().Text = text
			if c.detached > 0 {
				req.Options = &llmdv1.StreamOptions{Detached: durationpb.New(c.detached)}
			}
			before := processors()
			for b.Loop() {
				stream, err := l.Stream(harness.Limited(b, time.Minute), req)
				events, err := read(stream, err, everything)
				if err != nil || last(events).GetDone() == nil {
					b.Fatal(err)
				}
			}
			n := float64(b.N) * deltas
			b.ReportMetric(float64(processors()-before)/n, "cpu-ns/delta")
			b.ReportMetric(float64(b.Elapsed())/n, "ns/delta")
		})
	}
}

func processors() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
