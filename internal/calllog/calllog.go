// Package calllog carries what a handler knows of its call to the line that is
// logged when the call ends. It is a leaf: the interceptor that writes the line and
// the handlers that fill it know this package and not each other.
//
// Nothing that a caller or a provider said may be put here: no prompt, no answer, no
// key, no message of an error.
package calllog

import (
	"context"
	"log/slog"
	"sync"
)

type recordKey struct{}

// Record collects the attributes of one call. It is safe for concurrent use; a nil
// Record takes everything and keeps nothing.
type Record struct {
	mu    sync.Mutex
	attrs []slog.Attr
}

// With gives a call its record.
func With(ctx context.Context) (context.Context, *Record) {
	r := &Record{}
	return context.WithValue(ctx, recordKey{}, r), r
}

// From is the record of a call; nil if it has none.
func From(ctx context.Context) *Record {
	r, _ := ctx.Value(recordKey{}).(*Record)
	return r
}

// Add adds attributes.
func (r *Record) Add(attrs ...slog.Attr) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attrs = append(r.attrs, attrs...)
}

// Attrs are the attributes so far.
func (r *Record) Attrs() []slog.Attr {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]slog.Attr(nil), r.attrs...)
}
