package adapters

import "net/http"

// RequestID is the provider's id of a request, by the first of these headers that it
// sent.
func RequestID(h http.Header, names ...string) string {
	for _, name := range names {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// Failed is the error of an answer that the provider ended by a word instead of an
// error. What it means is known by the word; the limits on what an error carries apply
// all the same.
func Failed(f ErrorFacts, reason string) *UpstreamError {
	e := Classify(f)
	e.Reason, e.Status, e.RetryDelay = reason, 0, nil
	return e
}
