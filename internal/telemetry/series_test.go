package telemetry

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/llmd-dev/llmd/adapters/profile"
)

// TestSeries: the labels that are kept are those that would be made anew, and making them
// changes nothing that others share.
func TestSeries(t *testing.T) {
	made, _ := pageOf(t, ConventionsBoth)
	m := &profile.Model{API: "anthropic-messages", Provider: "anthropic", ID: "claude", BaseURL: "https://api.anthropic.com"}
	shared := made.addressed(m)
	before := slices.Clone(shared)
	s := newSeries(&seriesKey{place: placeOf(m), request: "claude", response: "claude-2"}, shared)
	want := attribute.NewSet(
		attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", "anthropic"),
		attribute.String("gen_ai.request.model", "claude"), attribute.String("gen_ai.response.model", "claude-2"),
		attribute.String("server.address", "api.anthropic.com"), attribute.Int("server.port", 443),
	)
	if !s.plain.Equals(&want) {
		t.Errorf("the labels are %v", s.plain.ToSlice())
	}
	if !slices.Equal(shared, before) || !slices.Equal(made.addressed(m), before) || !slices.Equal(s.labels[:len(before)], before) {
		t.Error("what is shared has changed")
	}
	other := *m
	other.BaseURL = "http://127.0.0.1:8080"
	if a := made.addressed(&other); a[2].Value.AsString() != "127.0.0.1" || a[3].Value.AsInt64() != 8080 {
		t.Errorf("another place is %v", a)
	}
}

// TestKept: it has what was made, never of another key, and never more than its bound.
func TestKept(t *testing.T) {
	var k kept[int, string]
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 3 * mostKept {
				if got := k.get(i, func() string { return strconv.Itoa(i) }); got != strconv.Itoa(i) {
					t.Errorf("%d is %s", i, got)
				}
			}
		})
	}
	all.Wait()
	if len(k.all) > mostKept {
		t.Errorf("%d are kept", len(k.all))
	}
	k.get(-1, func() string { return "a" })
	if got := k.get(-1, func() string { return "b" }); got != "a" {
		t.Error("it was made twice")
	}
}
