package fetch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Image is a downloaded image.
type Image struct {
	Data []byte
	// MIME is its media type by its bytes.
	MIME string
}

// Batch is the downloads of one request. It remembers what it has, so that several
// models can be tried with the same images. It is not safe for concurrent use.
type Batch struct {
	fetcher *Fetcher
	have    map[string]Image
}

// NewBatch begins the downloads of a request.
func (f *Fetcher) NewBatch() *Batch { return &Batch{fetcher: f, have: map[string]Image{}} }

// Fetch downloads all images of a request; a URL that occurs more than once is
// downloaded once, but counts as often as it occurs, because it is sent as often.
// The first failure ends the other downloads.
func (b *Batch) Fetch(ctx context.Context, urls []string) (map[string]Image, error) {
	if len(urls) > MaxImages {
		return nil, failed(urls[MaxImages], MaxImages, "is one more than the %d images that a request may have by URL", MaxImages)
	}
	limited, cancel := context.WithTimeoutCause(ctx, b.fetcher.limits.batchTimeout, errSlow)
	defer cancel()
	jobs := b.jobs(urls)
	b.run(limited, cancel, jobs)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := failure(limited, jobs, b.fetcher.limits); err != nil {
		return nil, err
	}
	for _, j := range jobs {
		b.have[j.url] = j.image
	}
	return b.have, nil
}

// job is the download of one URL.
type job struct {
	url string
	// at is where it occurs first, times how often.
	at    int
	times int64
	known bool
	image Image
	err   error
}

func (b *Batch) jobs(urls []string) []*job {
	byURL := make(map[string]*job, len(urls))
	var jobs []*job
	for i, u := range urls {
		j := byURL[u]
		if j == nil {
			j = &job{url: u, at: i}
			j.image, j.known = b.have[u]
			byURL[u] = j
			jobs = append(jobs, j)
		}
		j.times++
	}
	return jobs
}

func (b *Batch) run(ctx context.Context, stop context.CancelFunc, jobs []*job) {
	var spent atomic.Int64
	most := b.fetcher.limits.batchBytes
	spend := func(n int64) error {
		if spent.Add(n) > most {
			return refuse("makes the images of the request more than %d bytes", most)
		}
		return nil
	}
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, atOnce)
	for _, j := range jobs {
		if j.known {
			if err := spend(j.times * int64(len(j.image.Data))); err != nil {
				j.err = failed(j.url, j.at, "%s", err)
				stop()
				return
			}
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			j.err = ctx.Err()
			return
		}
		running.Go(func() {
			defer func() { <-slots }()
			j.image.Data, j.image.MIME, j.err = b.fetcher.fetch(ctx, j.url, func(n int64) error { return spend(n * j.times) })
			if j.err != nil {
				stop()
			}
		})
	}
}

// failure is why a batch has failed: the first image that did so by itself, not
// because another one had failed before it.
func failure(ctx context.Context, jobs []*job, l limits) error {
	var cut *job
	for _, j := range jobs {
		if e, ok := errors.AsType[*Error](j.err); ok {
			e.Index = j.at
			return e
		}
		if j.err != nil && cut == nil {
			cut = j
		}
	}
	if cut == nil {
		return nil
	}
	if !errors.Is(context.Cause(ctx), errSlow) {
		return cut.err
	}
	return failed(cut.url, cut.at, "was not there after the %s that all images of a request have", l.batchTimeout)
}

func failed(rawURL string, at int, format string, args ...any) *Error {
	u, _ := parse(rawURL)
	return &Error{URL: shown(u), Problem: fmt.Sprintf(format, args...), Index: at}
}
