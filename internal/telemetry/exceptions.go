package telemetry

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
)

// Event documents one event: a log record with a name.
type Event struct {
	Name       string
	Attributes []string
	Doc        string
}

// Events lists the events of the GenAI conventions.
func Events(c Conventions) []Event {
	attributes := []string{
		attrExceptionType, attrErrorType, attrOperation, attrProviderName, attrRequestModel, attrServerAddress, attrServerPort, attrProvider, attrAttempt,
	}
	var all []Event
	if c.v01() {
		all = append(all, Event{Name: eventException, Attributes: attributes, Doc: "An attempt at a provider failed: the span of the record's trace and span ids has `error.type`."})
	}
	if c.v141() {
		all = append(all, Event{Name: eventException141, Attributes: attributes, Doc: "As gen_ai.client.inference.exception."})
	}
	return all
}

// except tells that the attempt failed, if it did and if somebody wants to know. There
// is no exception.message: its words would be the provider's.
func (a *Attempt) except(failed string, at time.Time) {
	if failed == "" || a.t.events == nil {
		return
	}
	attributes := append(slices.Clip(a.t.addressed(a.model)), attribute.String(attrRequestModel, a.t.label(a.model)))
	attributes = append(attributes, attribute.String(attrExceptionType, failed), attribute.String(attrErrorType, failed),
		attribute.String(attrProvider, a.model.Provider), attribute.String(attrAttempt, a.nth))
	for _, e := range Events(a.t.options.GenAI) {
		var r otellog.Record
		r.SetEventName(e.Name)
		r.SetTimestamp(at)
		r.SetSeverity(otellog.SeverityWarn)
		r.SetSeverityText(otellog.SeverityWarn.String())
		r.AddAttributes(attributes...)
		a.t.events.Emit(a.ctx, r)
	}
}
