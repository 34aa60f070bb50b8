package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// count adds to one of llmd's own counters.
func (t *Telemetry) count(ctx context.Context, name string, n int64, labels ...attribute.KeyValue) {
	if t == nil {
		return
	}
	t.own.counters[name].Add(ctx, n, metric.WithAttributes(labels...))
}

// begin puts the counters at 0 that are there from the start.
func (t *Telemetry) begin(ctx context.Context) {
	table := Metrics()
	for n := range table {
		m := &table[n]
		switch {
		case !m.starts():
		case len(m.Labels) == 0:
			t.count(ctx, m.Name, 0)
		default:
			for _, value := range m.Known {
				t.count(ctx, m.Name, 0, attribute.String(m.Labels[0], value))
			}
		}
	}
}

// Provider has the counters of a provider's troubles begin at 0.
func (t *Telemetry) Provider(id string) {
	for _, name := range []string{nameCredentials, nameStalls} {
		t.count(context.Background(), name, 0, attribute.String(attrProvider, id))
	}
}

// Stream counts a call in that is being answered; the end must be called.
func (t *Telemetry) Stream(ctx context.Context, method string) (end func()) {
	if t == nil {
		return func() {}
	}
	label := t.methods.get(method, func() metric.MeasurementOption { return labelsOf(attribute.String(attrMethod, method)) })
	streams := t.own.upDowns[nameStreams]
	streams.Add(ctx, 1, label)
	return func() { streams.Add(ctx, -1, label) }
}

// Connection counts connections: 1 for one more, -1 for one less.
func (t *Telemetry) Connection(ctx context.Context, change int64) {
	if t != nil {
		t.own.upDowns[nameConnections].Add(ctx, change)
	}
}

// Failed counts a call that ended with an error; reason is that of its ErrorInfo.
func (t *Telemetry) Failed(ctx context.Context, method, reason string) {
	t.count(ctx, nameErrors, 1, attribute.String(attrMethod, method), attribute.String(attrErrorType, reason))
}

// Hit counts a limit that was met.
func (t *Telemetry) Hit(ctx context.Context, limit string) {
	t.count(ctx, nameLimitHits, 1, attribute.String(attrLimit, limit))
}

// Stalled counts a silence of a provider.
func (t *Telemetry) Stalled(ctx context.Context, m *profile.Model) {
	if t != nil {
		t.count(ctx, nameStalls, 1, attribute.String(attrProvider, m.Provider))
	}
}

// Blocked is told how long the reading of a provider stood still for a client.
func (t *Telemetry) Blocked(ctx context.Context, d time.Duration) {
	if t != nil {
		t.own.histograms[nameBlocked].Record(ctx, d.Seconds())
	}
}

// Merged counts events that a queue merged.
func (t *Telemetry) Merged(ctx context.Context, events int) {
	if events > 0 {
		t.count(ctx, nameMerged, int64(events))
	}
}

// Changed counts the changes of a hand-off.
func (t *Telemetry) Changed(ctx context.Context, changes []*llmdv1.HandoffChange) {
	if t == nil {
		return
	}
	for _, c := range changes {
		t.count(ctx, nameHandoff, 1, attribute.String(attrHandoffRule, c.GetRule()), attribute.String(attrHandoffAction, word(c.GetAction().String(), "HANDOFF_ACTION_")))
	}
}

// Images counts images that were to be downloaded.
func (t *Telemetry) Images(ctx context.Context, result string, n int) {
	t.count(ctx, nameImages, int64(n), attribute.String(attrResult, result))
}

// Reloaded counts a reload of the configuration.
func (t *Telemetry) Reloaded(ok bool) {
	result := resultOK
	if !ok {
		result = resultFailed
	}
	t.count(context.Background(), nameReloads, 1, attribute.String(attrResult, result))
}

// Panicked counts a panic.
func (t *Telemetry) Panicked(ctx context.Context) { t.count(ctx, namePanics, 1) }

// Response is one that has ended.
type Response struct {
	Model *profile.Model
	// Message is what is known of the answer; nil = it never began.
	Message *llmdv1.AssistantMessage
	// Reason is why it failed, in the words of docs/errors.md; empty = it did not.
	Reason string
	// Abort is why it was aborted; empty = it was not.
	Abort string
	// Caller is who asked.
	Caller string
}

// Ended counts a response that has ended, and what it cost.
func (t *Telemetry) Ended(ctx context.Context, r *Response) {
	if t == nil {
		return
	}
	key := endKey{caller: r.Caller, provider: r.Model.Provider, model: t.label(r.Model), stop: "error", reason: r.Reason}
	if !t.options.Callers {
		key.caller = ""
	}
	if r.Message != nil {
		key.stop = stopReason(r.Message)
	}
	l := t.ends.get(key, func() *endLabels { return t.newEndLabels(&key) })
	if cost := r.Message.GetUsage().GetCost(); cost != nil {
		t.own.counters[nameCost].Add(ctx, cost.GetTotalPicoUsd(), l.cost)
	}
	if r.Abort != "" {
		t.count(ctx, nameAborts, 1, attribute.String(attrAbortCause, r.Abort))
	}
	t.own.counters[nameResponses].Add(ctx, 1, l.response)
}

// caller is the label of who asked, if callers are labels. Those that need not
// authenticate have no name.
func (t *Telemetry) caller(name string) []attribute.KeyValue {
	if !t.options.Callers {
		return nil
	}
	return []attribute.KeyValue{attribute.String(attrCaller, name)}
}
