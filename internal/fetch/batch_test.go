package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestBatch(t *testing.T) {
	var asked, now, most atomic.Int32
	full := make(chan struct{})
	s := newSite(t, false, func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		// The first ones wait until as many are under way as may be.
		if asked.Add(1) == atOnce {
			close(full)
		}
		wait(t, full)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		now.Add(-1)
		image(w, "image/png", onePixel)
	})
	var urls []string
	for i := range MaxImages {
		urls = append(urls, fmt.Sprintf("http://img.example/%d", i/2)) // each twice
	}
	b := s.NewBatch()
	got, err := b.Fetch(t.Context(), urls)
	if err != nil || len(got) != MaxImages/2 || !bytes.Equal(got["http://img.example/3"].Data, onePixel) {
		t.Fatalf("%d images, %v", len(got), err)
	}
	if asked.Load() != MaxImages/2 || most.Load() != atOnce {
		t.Errorf("%d requests, %d at once", asked.Load(), most.Load())
	}
	// The next model gets the same images.
	if _, err := b.Fetch(t.Context(), append(urls[2:], "http://img.example/new")); err != nil || asked.Load() != MaxImages/2+1 {
		t.Errorf("%d requests, %v", asked.Load(), err)
	}
	_, err = b.Fetch(t.Context(), append(urls, "http://img.example/21?secret"))
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Index != MaxImages || e.URL != "http://img.example/21" || !strings.Contains(e.Problem, "20 images") {
		t.Error(err)
	}
}

// All occurrences count, for they are all sent.
func TestBatchBytes(t *testing.T) {
	s := newSite(t, false, func(w http.ResponseWriter, _ *http.Request) { image(w, "image/png", onePixel) })
	s.limits.batchBytes = 3 * int64(len(onePixel))
	a, b := "http://img.example/a", "http://img.example/b"
	if _, err := s.NewBatch().Fetch(t.Context(), []string{a, b, a}); err != nil {
		t.Error(err)
	}
	if _, err := s.NewBatch().Fetch(t.Context(), []string{a, a, a, a}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
	known := s.NewBatch()
	if _, err := known.Fetch(t.Context(), []string{a}); err != nil {
		t.Error(err)
	}
	if _, err := known.Fetch(t.Context(), []string{a, a, a, a}); err == nil || !strings.Contains(err.Error(), "http://img.example/a: makes the images") {
		t.Error(err)
	}
}

// The image that failed is named, not those that were stopped because of it.
func TestBatchFailure(t *testing.T) {
	begun, stopped := make(chan struct{}), make(chan struct{})
	s := newSite(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			wait(t, begun)
			w.WriteHeader(http.StatusNotFound)
			return
		}
		close(begun)
		<-r.Context().Done()
		close(stopped)
	})
	_, err := s.NewBatch().Fetch(t.Context(), []string{"http://img.example/slow", "http://img.example/bad"})
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Index != 1 || e.URL != "http://img.example/bad" || e.Problem != "answered HTTP 404" {
		t.Error(err)
	}
	wait(t, stopped)
}

func TestBatchTime(t *testing.T) {
	s := newSite(t, false, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.limits.batchTimeout = 50 * time.Millisecond
	var urls []string
	for i := range 2 * atOnce {
		urls = append(urls, fmt.Sprintf("http://img.example/%d", i))
	}
	_, err := s.NewBatch().Fetch(t.Context(), urls)
	if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Problem, "after the 50ms") {
		t.Error(err)
	}
}
