package main

import (
	"context"
	"os"
)

const (
	starts     = 10
	mostStart  = 150.0 // ms
	mostBinary = 60.0  // MB
)

// measureStart is the time from starting the process to a SERVING health answer,
// and the size of the binary.
func (b *bench) measureStart(ctx context.Context) error {
	t := table{head: []string{"server", "start p50, ms", "at most", "", "binary, MB", "at most", ""}}
	for _, v := range b.llmds {
		var took []float64
		for range b.share(starts) {
			p, d, err := b.startLLMD(ctx, v.name, v.binary)
			if err != nil {
				return err
			}
			p.stop()
			took = append(took, millis(d))
		}
		info, err := os.Stat(v.binary)
		if err != nil {
			return err
		}
		size := float64(info.Size()) / 1e6
		t.add(v.name, number(median(took)), number(mostStart), verdict(median(took), mostStart), number(size), number(mostBinary), verdict(size, mostBinary))
	}
	t.print(b.out, "### Start and size")
	return nil
}
