package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// What net/http says of a provider that goes on after its answer; see readLoopPeekFailLocked
// in https://go.dev/src/net/http/transport.go.
func TestLibraries(t *testing.T) {
	var text bytes.Buffer
	l := libraries{slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	said := "Unsolicited response received on idle HTTP channel starting with \"data: {\\\"secret\\\"}\"; err=<nil>\n"
	if n, err := l.Write([]byte(said)); n != len(said) || err != nil {
		t.Errorf("Write gave %d, %v", n, err)
	}
	if got := text.String(); strings.Contains(got, "secret") || !strings.Contains(got, "what=\"Unsolicited response received on idle HTTP channel starting with\"") {
		t.Errorf("the log has %q", got)
	}
}
