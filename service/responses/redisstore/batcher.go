package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxAsked is how many questions go into one round trip; asking is how long more of
	// them are waited for.
	maxAsked = 256
	asking   = time.Millisecond
)

// batcher puts the questions of many callers into one round trip.
type batcher struct {
	store  *Store
	health *health
	asks   chan *question
}

// question adds its commands to a round trip. reply gets the error of that, once.
type question struct {
	fill  func(context.Context, redis.Pipeliner)
	reply chan error
}

func newBatcher(s *Store, h *health) *batcher {
	return &batcher{store: s, health: h, asks: make(chan *question, maxAsked)}
}

// ask makes one's commands part of the next round trip.
func (b *batcher) ask(ctx context.Context, fill func(context.Context, redis.Pipeliner)) error {
	if err := b.health.ask(); err != nil {
		return err
	}
	q := &question{fill: fill, reply: make(chan error, 1)}
	select {
	case b.asks <- q:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-q.reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loop makes the round trips.
func (b *batcher) loop(ctx context.Context) {
	for {
		var asked []*question
		select {
		case q := <-b.asks:
			asked = append(asked, q)
		case <-ctx.Done():
			return
		}
		more := time.NewTimer(asking)
		for open := true; open && len(asked) < maxAsked; {
			select {
			case q := <-b.asks:
				asked = append(asked, q)
			case <-more.C:
				open = false
			}
		}
		more.Stop()
		err := b.store.run(ctx, b.health, func(ctx context.Context, p redis.Pipeliner) {
			for _, q := range asked {
				q.fill(ctx, p)
			}
		})
		for _, q := range asked {
			q.reply <- err
		}
	}
}
