package telemetry

import (
	"context"
	"log/slog"
	"slices"
	"strings"
)

// VariableError is a value of an environment variable that cannot be understood. It
// does not tell the value.
type VariableError struct{ Name, Problem string }

func (e *VariableError) Error() string { return e.Name + ": " + e.Problem }

// Check refuses what [New] refuses for the environment, and starts nothing.
func Check(env func(string) (string, bool)) error {
	if traces, metrics, logs := wanted(env); !traces && !metrics && !logs {
		return nil
	}
	if err := understood(env); err != nil {
		return err
	}
	_, err := describe(context.Background(), Options{Env: env})
	return err
}

// understood names the variable whose value autoexport would refuse without saying
// which one it is of.
func understood(env func(string) (string, bool)) error {
	protocols := []string{"grpc", "http/protobuf"}
	for _, v := range []struct {
		name   string
		values []string
	}{
		{"OTEL_TRACES_EXPORTER", []string{"otlp", "console", "none"}},
		{"OTEL_METRICS_EXPORTER", []string{"otlp", "console", "prometheus", "none"}},
		{"OTEL_LOGS_EXPORTER", []string{"otlp", "console", "none"}},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", protocols},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", protocols},
		{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", protocols},
		{"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", protocols},
	} {
		if value, _ := env(v.name); value != "" && !slices.Contains(v.values, value) {
			return &VariableError{v.name, "must be one of: " + strings.Join(v.values, ", ")}
		}
	}
	return nil
}

// withoutScheme names the endpoints that lack the scheme without which they are not
// understood.
func withoutScheme(env func(string) (string, bool), log *slog.Logger) {
	for _, name := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
	} {
		if value, _ := env(name); value != "" && !strings.Contains(value, "://") {
			log.Warn("the address of the collector must begin with http:// or https://", "variable", name)
		}
	}
}
