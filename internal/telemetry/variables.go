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
	check := func(name string, values ...string) error {
		if value, _ := env(name); value != "" && !slices.Contains(values, value) {
			return &VariableError{name, "must be one of: " + strings.Join(values, ", ")}
		}
		return nil
	}
	traces, metrics, logs := wanted(env)
	for _, signal := range []struct {
		name      string
		wanted    bool
		exporters []string
	}{
		{"TRACES", traces, []string{"otlp", "console", "none"}},
		{"METRICS", metrics, []string{"otlp", "console", "prometheus", "none"}},
		{"LOGS", logs, []string{"otlp", "console", "none"}},
	} {
		if !signal.wanted {
			continue
		}
		exporter := "OTEL_" + signal.name + "_EXPORTER"
		if err := check(exporter, signal.exporters...); err != nil {
			return err
		}
		if value, _ := env(exporter); value != "" && value != "otlp" {
			continue // it has no protocol
		}
		protocol := "OTEL_EXPORTER_OTLP_" + signal.name + "_PROTOCOL"
		if value, _ := env(protocol); value == "" {
			protocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
		}
		if err := check(protocol, "grpc", "http/protobuf"); err != nil {
			return err
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
