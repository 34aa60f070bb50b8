package web

import (
	"net/http"
	"time"
)

// writer gives up on a client that reads nothing for a while. The gRPC server gives up
// earlier (SLOW_CONSUMER); this ends what would wait to say so. A server's WriteTimeout
// would not do: it ends streams that are long, too.
type writer struct {
	http.ResponseWriter
	flusher  http.Flusher
	patience time.Duration
	timer    *time.Timer
}

func newWriter(w http.ResponseWriter, patience time.Duration) *writer {
	flusher, _ := w.(http.Flusher)
	control := http.NewResponseController(w)
	timer := time.AfterFunc(patience, func() {
		_ = control.SetWriteDeadline(time.Now()) // a write that waits fails now
	})
	timer.Stop()
	return &writer{ResponseWriter: w, flusher: flusher, patience: patience, timer: timer}
}

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (int, error) {
	w.timer.Reset(w.patience)
	defer w.timer.Stop()
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (w *writer) Flush() {
	w.timer.Reset(w.patience)
	defer w.timer.Stop()
	w.flusher.Flush()
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
