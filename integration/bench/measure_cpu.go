package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// workload is one load whose cost per delta is measured.
type workload struct {
	name     string
	scenario scenario
	streams  int
	requests int
	// most is the target: processor time as a ratio to the empty llmd; 0 = there is none.
	most float64
}

func workloads() []workload {
	return []workload{
		{"1 stream, 1 delta", text(1), 1, 400, 0}, // what a request costs by itself
		{"1 stream, 100 deltas", text(100), 1, 200, 1.0},
		{"1 stream, 1000 deltas", text(1000), 1, 20, 1.0},
		{"64 streams, 1000 deltas", text(1000), 64, 128, 0.8},
		{"256 streams, 1000 deltas", text(1000), 256, 256, 0.8},
		{"64 streams, a delta in 5 ms each", paced(100, 5*time.Millisecond), 64, 64, 0}, // nothing can be merged
		{"64 streams, 16 deltas a write", text(1000).batched(16), 64, 128, 0.8},
		{"arguments of 8 kB", tool(8 << 10), 1, 20, 1.0},
		{"arguments of 64 kB", tool(64 << 10), 1, 4, 1.0},
		{"arguments of 256 kB", tool(256 << 10), 1, 1, 1.0},
	}
}

// workloads are those that were asked for.
func (b *bench) workloads() []workload {
	var all []workload
	for _, w := range workloads() {
		if strings.Contains(w.name, b.loads) {
			w.requests = b.share(w.requests)
			all = append(all, w)
		}
	}
	return all
}

// scenarios are those of all measurements.
func (b *bench) scenarios() []scenario {
	all := []scenario{imageModel, historyModel, text(1), text(1000), idle(0), paced(b.share(delayDeltas), delayPause)}
	for _, w := range workloads() {
		all = append(all, w.scenario)
	}
	return all
}

// cost is what one server took for one workload, in each round.
type cost struct {
	micros     []float64 // processor time a delta
	throughput []float64 // deltas a second
}

// measureCPU lets all servers take turns with each workload.
func (b *bench) measureCPU(ctx context.Context) error {
	for _, sh := range []shape{chat, anthropic} {
		costs := map[string]*cost{}
		servers, stop, err := b.servers(ctx)
		if err != nil {
			return err
		}
		for round := range b.rounds + 1 {
			for _, w := range b.workloads() {
				for _, s := range servers {
					if s.skips(sh, w.scenario) {
						continue
					}
					c := costs[s.name+w.name]
					if c == nil {
						c = &cost{}
						costs[s.name+w.name] = c
					}
					if err := s.measure(ctx, sh, w, c); err != nil {
						stop()
						return fmt.Errorf("%s, %s: %w", s.name, w.name, err)
					}
					if round == 0 { // to warm up
						*c = cost{}
					}
				}
			}
		}
		stop()
		b.reportCPU(sh, servers, costs)
	}
	return nil
}

// measure runs a workload once.
func (s *server) measure(ctx context.Context, sh shape, w workload, c *cost) error {
	before, err := s.cpu()
	if err != nil {
		return err
	}
	took, err := load(ctx, s.client, sh, w.scenario, w.streams, w.requests)
	if err != nil {
		return err
	}
	after, err := s.cpu()
	if err != nil {
		return err
	}
	deltas := float64(w.scenario.deltas() * w.requests)
	c.micros = append(c.micros, float64((after-before).Nanoseconds())/1000/deltas)
	c.throughput = append(c.throughput, deltas/took.Seconds())
	return nil
}

func (b *bench) reportCPU(sh shape, servers []*server, costs map[string]*cost) {
	micros := table{head: []string{"processor time, µs a delta"}}
	speed := table{head: []string{"deltas a second"}}
	for _, s := range servers {
		micros.head = append(micros.head, s.name)
		speed.head = append(speed.head, s.name)
	}
	for _, s := range servers {
		if s.judged {
			micros.head = append(micros.head, s.name+"/empty", "at most", "")
		}
	}
	for _, w := range b.workloads() {
		row, fast := []string{w.name}, []string{w.name}
		for _, s := range servers {
			if c := costs[s.name+w.name]; c != nil {
				row, fast = append(row, number(median(c.micros))), append(fast, number(median(c.throughput)))
			} else {
				row, fast = append(row, "-"), append(fast, "-")
			}
		}
		for _, s := range servers {
			if s.judged {
				ratio := medianRatio(costs[s.name+w.name].micros, costs["empty"+w.name].micros)
				row = append(row, number(ratio))
				if w.most > 0 {
					row = append(row, number(w.most), verdict(ratio, w.most))
				} else {
					row = append(row, "", "")
				}
			}
		}
		micros.add(row...)
		speed.add(fast...)
	}
	micros.print(b.out, fmt.Sprintf("### %s: processor time of the server", sh))
	b.reportGrowth(servers, costs)
	speed.print(b.out, fmt.Sprintf("### %s: throughput, client and mock on the same machine", sh))
}

// reportGrowth compares long arguments with short ones: the cost must be linear.
func (b *bench) reportGrowth(servers []*server, costs map[string]*cost) {
	const most = 1.2
	for _, s := range servers {
		long, short := costs[s.name+"arguments of 256 kB"], costs[s.name+"arguments of 8 kB"]
		if s.judged && long != nil && short != nil {
			ratio := median(long.micros) / median(short.micros)
			fmt.Fprintf(b.out, "\n%s: a delta of 256 kB costs %s times one of 8 kB, at most %s: %s\n", s.name, number(ratio), number(most), verdict(ratio, most))
		}
	}
}

// medianRatio compares round by round: what slows the machine slows both.
func medianRatio(of, to []float64) float64 {
	ratios := make([]float64, min(len(of), len(to)))
	for i := range ratios {
		ratios[i] = of[i] / to[i]
	}
	return median(ratios)
}
