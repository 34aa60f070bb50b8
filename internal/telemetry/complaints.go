package telemetry

import (
	"log/slog"
	"regexp"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// complaints is what OpenTelemetry's packages say of their own troubles. The values
// beside their messages are left out: they quote environment variables, among them
// the headers with which a collector is asked.
type complaints struct{ log *slog.Logger }

func (complaints) Init(logr.RuntimeInfo)            {}
func (complaints) Enabled(int) bool                 { return false }
func (complaints) Info(int, string, ...any)         {}
func (c complaints) WithValues(...any) logr.LogSink { return c }
func (c complaints) WithName(string) logr.LogSink   { return c }
func (c complaints) Error(_ error, m string, _ ...any) {
	c.log.Warn("telemetry is not as it was meant", "problem", short(m))
}

// listen sends complaints to the log. They are the process's: the last listener gets
// them.
func listen(log *slog.Logger) {
	otel.SetLogger(logr.New(complaints{log: log}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if name := ignored(err.Error()); name != "" {
			log.Warn("a variable is not understood, and ignored", "variable", name)
			return
		}
		log.Warn("telemetry is not exported", "problem", short(err.Error()))
	}))
}

// variable is the name of a variable of OpenTelemetry's.
var variable = regexp.MustCompile(`\bOTEL_[A-Z0-9_]+`)

// ignored is the variable that a complaint is about; empty = it is about none. The rest
// of it is not told: it may be the value, such as the headers with which a collector is
// asked.
func ignored(complaint string) string {
	switch {
	case strings.HasPrefix(complaint, "unsupported sampler"):
		return "OTEL_TRACES_SAMPLER"
	case strings.HasPrefix(complaint, "parsing sampler argument"), strings.HasPrefix(complaint, "invalid trace ID ratio"):
		return "OTEL_TRACES_SAMPLER_ARG"
	}
	return variable.FindString(complaint)
}

// short keeps what a collector says from filling the log.
func short(s string) string {
	const most = 300
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
