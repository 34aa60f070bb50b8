package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	delayStreams  = 8
	delayDeltas   = 100
	delayPause    = 20 * time.Millisecond
	firstRequests = 60
	mostDelay     = 0.2 // ms over direct
	mostFirst     = 0.5 // ms over direct
)

// delay is what a client waits for, in milliseconds: a paced delta, the first event of an
// answer and its first text.
type delay struct{ paced, first, text []float64 }

// measureDelay compares the way through each server with the direct one.
func (b *bench) measureDelay(ctx context.Context) error {
	servers, stop, err := b.servers(ctx)
	if err != nil {
		return err
	}
	defer stop()
	direct := &server{process: &process{name: "direct"}, client: newHTTPClient(b.mock.addr)}
	defer direct.client.close()
	servers = append([]*server{direct}, servers...)
	for _, sh := range []shape{chat, anthropic} {
		all := map[string]*delay{}
		for round := range b.rounds + 1 {
			for _, s := range servers {
				if s.skips(sh, paced(1, 0)) {
					continue
				}
				if all[s.name] == nil || round == 1 { // the first round warms up
					all[s.name] = &delay{}
				}
				if err := b.measureDelayOf(ctx, s, sh, all[s.name]); err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
			}
		}
		b.reportDelay(sh, servers, all)
	}
	return nil
}

// measureDelayOf begins with one request at a time: the server has been quiet meanwhile,
// as the target for the first event has it.
func (b *bench) measureDelayOf(ctx context.Context, s *server, sh shape, d *delay) error {
	for range b.share(firstRequests) {
		begun, first, words := time.Now(), time.Duration(0), time.Duration(0)
		err := s.client.stream(ctx, sh, text(1), func(piece string) {
			if first == 0 {
				first = time.Since(begun)
			}
			if piece != "" {
				words = time.Since(begun)
			}
		})
		if err != nil {
			return err
		}
		d.first, d.text = append(d.first, millis(first)), append(d.text, millis(words))
	}
	ages, err := pacedDelays(ctx, s.client, sh, b.share(delayDeltas))
	d.paced = append(d.paced, ages...)
	return err
}

// pacedDelays are the ages of all deltas of some paced streams, as they arrive.
func pacedDelays(ctx context.Context, c client, sh shape, deltas int) ([]float64, error) {
	var (
		mu    sync.Mutex
		ages  []float64
		fault error
		all   sync.WaitGroup
	)
	for i := range delayStreams {
		// Not all at the same moment.
		time.Sleep(delayPause / delayStreams * time.Duration(i%2))
		all.Go(func() {
			var own []float64
			err := c.stream(ctx, sh, paced(deltas, delayPause), func(piece string) {
				for _, d := range delays(piece, time.Now()) {
					own = append(own, millis(d))
				}
			})
			mu.Lock()
			defer mu.Unlock()
			if err == nil && len(own) != deltas {
				err = fmt.Errorf("%d of %d paced deltas came", len(own), deltas)
			}
			if err != nil {
				fault = err
			}
			ages = append(ages, own...)
		})
	}
	all.Wait()
	return ages, fault
}

func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func (b *bench) reportDelay(sh shape, servers []*server, all map[string]*delay) {
	t := table{head: []string{"ms", "p50", "p99", "over direct", "at most", ""}}
	for _, what := range []struct {
		name string
		of   func(*delay) []float64
		most float64 // 0 = there is no target
	}{
		{"delta", func(d *delay) []float64 { return d.paced }, mostDelay},
		{"first event", func(d *delay) []float64 { return d.first }, mostFirst},
		{"first text", func(d *delay) []float64 { return d.text }, 0},
	} {
		direct := median(what.of(all["direct"]))
		for _, s := range servers {
			if all[s.name] == nil {
				continue
			}
			ms := what.of(all[s.name])
			over := median(ms) - direct
			row := []string{what.name + ", " + s.name, fine(median(ms)), fine(percentile(ms, 99)), fine(over), "", ""}
			if s.judged && what.most > 0 {
				row[4], row[5] = number(what.most), verdict(over, what.most)
			}
			t.add(row...)
		}
	}
	t.print(b.out, fmt.Sprintf("### %s: delay of a paced delta (%d streams, one delta in %v each), and time to the first event and the first text", sh, delayStreams, delayPause))
}

func fine(f float64) string { return fmt.Sprintf("%.3f", f) }
