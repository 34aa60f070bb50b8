package google

import (
	"fmt"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// manyCalls is an answer with n calls, and their results in the wrong order.
func manyCalls(n int) *adapters.Call {
	var blocks []*llmdv1.AssistantContent
	var results []*llmdv1.Message
	for i := range n {
		blocks = append(blocks, callBlock(fmt.Sprint(i), "{}", ""))
		results = append(results, result(fmt.Sprint(n-1-i), "found", false))
	}
	c := &llmdv1.Context{Messages: append([]*llmdv1.Message{user("go"), assistant(blocks...)}, results...)}
	return &adapters.Call{
		Generation: &llmdv1.Generation{Context: c}, Context: c, Model: &profile.Model{API: geminiAPI, Provider: "google", ID: "gemini-2.5-flash"}, Options: &adapters.Options{},
	}
}

// BenchmarkCalls should cost the same for each call, however many there are.
func BenchmarkCalls(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			call := manyCalls(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New().Encode(call); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/call")
		})
	}
}

// Memory is in proportion to the calls: eight times as many take at most nine times as
// many allocations, and a change is reported for each result that had to move.
func TestCallsTakeWhatTheyNeed(t *testing.T) {
	allocations := func(n int) float64 {
		call := manyCalls(n)
		return testing.AllocsPerRun(3, func() {
			if _, err := New().Encode(call); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocations(250), allocations(2000); many > 9*few {
		t.Errorf("%v allocations for 250 calls, %v for 2000", few, many)
	}
	r, err := New().Encode(manyCalls(50))
	if err != nil || len(r.Changes) != 49 {
		t.Errorf("%v, %d changes", err, len(r.Changes))
	}
}
