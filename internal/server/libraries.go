package server

import (
	"log"
	"log/slog"
	"strings"
)

// libraries is what libraries say by Go's standard logger, which would go to standard
// error as it is. net/http quotes there up to 4 KiB of what a provider sends after its
// answer, which may be more of the answer: what is quoted is left out.
type libraries struct{ log *slog.Logger }

// listen sends it to the log. It is the process's: the last listener gets it.
func listen(to *slog.Logger) {
	log.SetFlags(0)              //nolint:forbidigo // nothing is logged: what libraries log is taken
	log.SetOutput(libraries{to}) //nolint:forbidigo // the same
}

// Write implements io.Writer.
func (l libraries) Write(p []byte) (int, error) {
	said, _, _ := strings.Cut(string(p), `"`)
	l.log.Debug("a library says", "what", strings.TrimSpace(said))
	return len(p), nil
}
