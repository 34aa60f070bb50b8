package soak

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// What an answer's provider does.
const (
	whole      = "whole"
	cut        = "cut"        // the body ends before its terminal marker
	reset      = "reset"      // the connection breaks
	overloaded = "overloaded" // at the first request; the retry is whole
	failing    = "failing"    // a frame with an error
)

// answer is what a seed makes of a prompt, for the provider and for the client alike.
type answer struct {
	seed   uint64
	fate   string
	deltas int
	at     int // deltas before the fault
	pause  time.Duration
}

func answerOf(seed uint64) answer {
	r := rand.New(rand.NewPCG(seed, 3))
	a := answer{seed: seed, fate: whole, deltas: 20 + r.IntN(400)}
	switch n := r.IntN(100); {
	case n < 5:
		a.fate = cut
	case n < 9:
		a.fate = reset
	case n < 14:
		a.fate = overloaded
	case n < 18:
		a.fate = failing
	}
	a.at = r.IntN(a.deltas)
	if r.IntN(3) == 0 {
		a.pause = time.Duration(1+r.IntN(10)) * time.Millisecond
	}
	return a
}

func (a answer) delta(i int) string {
	return " w" + strconv.FormatUint((a.seed+uint64(i)*7919)%100_000, 10)
}

// text is the first n deltas.
func (a answer) text(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(a.delta(i))
	}
	return b.String()
}

var seeds = regexp.MustCompile(`seed=(\d+)`)

// newProvider speaks Chat Completions.
func newProvider(t *testing.T) string {
	t.Helper()
	// refused are the seeds that were asked for, for those that are overloaded at first.
	var refused sync.Map
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		found := seeds.FindSubmatch(body)
		if found == nil {
			http.Error(w, "no seed", http.StatusBadRequest)
			return
		}
		seed, _ := strconv.ParseUint(string(found[1]), 10, 64)
		a := answerOf(seed)
		if a.fate == overloaded && notYet(&refused, seed) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After-Ms", "5")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":{"message":"The engine is overloaded","type":"server_error"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		a.play(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// notYet: it is the first request with this seed. The second one forgets it.
func notYet(seen *sync.Map, seed uint64) bool {
	if _, again := seen.LoadAndDelete(seed); again {
		return false
	}
	seen.Store(seed, true)
	return true
}

func (a answer) play(w http.ResponseWriter, r *http.Request) {
	flush := http.NewResponseController(w)
	send := func(frame string) bool {
		_, err := io.WriteString(w, "data: "+frame+"\n\n")
		return err == nil && flush.Flush() == nil && r.Context().Err() == nil
	}
	chunk := func(choice string) string {
		return fmt.Sprintf(`{"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1,"model":"m","choices":[%s]}`, a.seed, choice)
	}
	for i := range a.deltas {
		if i == a.at {
			switch a.fate {
			case cut:
				return
			case reset:
				panic(http.ErrAbortHandler)
			case failing:
				send(`{"error":{"message":"The server had an error","type":"server_error"}}`)
				return
			}
		}
		if !send(chunk(`{"index":0,"delta":{"content":` + strconv.Quote(a.delta(i)) + `}}`)) {
			return
		}
		if a.pause > 0 && i%8 == 0 {
			time.Sleep(a.pause)
		}
	}
	send(chunk(`{"index":0,"delta":{},"finish_reason":"stop"}`))
	send(fmt.Sprintf(`{"id":"chatcmpl-%d","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":%d,"total_tokens":%d}}`, a.seed, a.deltas, a.deltas+7))
	send("[DONE]")
}
