// Package telemetry tests what comes out of llmd beside its answers: an OTLP receiver
// and a real Prometheus look at it.
package telemetry
