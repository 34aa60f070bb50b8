package telemetry

import (
	"log/slog"
	"regexp"

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
		log.Warn("telemetry is not exported", "problem", short(withoutValue(err.Error())))
	}))
}

// variable is the name of a variable of OpenTelemetry's.
var variable = regexp.MustCompile(`\bOTEL_[A-Z0-9_]+`)

// withoutValue cuts a complaint about a variable behind its name: some go on with its
// value, which may be the headers with which a collector is asked.
func withoutValue(s string) string {
	if name := variable.FindStringIndex(s); name != nil {
		return s[:name[1]]
	}
	return s
}

// short keeps what a collector says from filling the log.
func short(s string) string {
	const most = 300
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
