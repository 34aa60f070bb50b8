package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const cancels = 100

// measureCancel is the time from a client's cancellation to the moment at which the
// provider sees its connection closed.
func (b *bench) measureCancel(ctx context.Context) error {
	servers, stop, err := b.servers(ctx)
	if err != nil {
		return err
	}
	defer stop()
	took := map[string][]float64{}
	for range b.rounds {
		for _, s := range servers {
			if s.name == "memory" {
				continue
			}
			for range b.share(cancels) {
				d, err := s.cancelled(ctx, b)
				if err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
				took[s.name] = append(took[s.name], millis(d))
			}
		}
	}
	t := table{head: []string{"ms", "p50", "p99"}}
	for _, s := range servers {
		if f := took[s.name]; f != nil {
			t.add(s.name, fine(median(f)), fine(percentile(f, 99)))
		}
	}
	t.print(b.out, "### From cancel to the close of the provider's connection")
	return nil
}

// cancelled cancels one stream after its first delta.
func (s *server) cancelled(ctx context.Context, b *bench) (time.Duration, error) {
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	id := b.number()
	var at time.Time
	err := s.client.stream(own, chat, idle(id), onText(func() {
		at = time.Now()
		cancel()
	}))
	if at.IsZero() {
		return 0, fmt.Errorf("no delta came: %w", err)
	}
	closed, err := b.closedAt(ctx, id)
	return closed.Sub(at), err
}

// closedAt asks the mock when the other side left.
func (b *bench) closedAt(ctx context.Context, id int) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.mock.addr+closedPath+strconv.Itoa(id), http.NoBody)
	if err != nil {
		return time.Time{}, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return time.Time{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return time.Time{}, err
	}
	n, err := strconv.ParseInt(string(body), 10, 64)
	return time.Unix(0, n), err
}
