// Package telemetry gives llmd its metrics, traces and events, by OpenTelemetry.
//
// # What it costs
//
// Nothing is made and nothing is measured unless somebody looks: an OTEL_ variable
// names an exporter, or the admin listener offers /metrics. Every method may be
// called on a nil *Telemetry and then does nothing, so that the code that is measured
// need not ask. What happens for each delta of an answer takes no lock and makes no
// garbage: a count in the attempt's own memory, added to the whole at its end.
//
// # Names
//
// The GenAI conventions are young and still rename things, so that their names are
// constants here (genai.go) and of no library. llmd's own metrics are the table in
// metrics.go, which is also the table of docs/telemetry.md.
//
// # What never gets here
//
// Nothing that a caller or a provider said: no prompt, no answer, no key, no message
// of an error. Labels of metrics have few values: what a caller can choose freely,
// such as the id of a model that no catalogue has, becomes "other".
package telemetry
