package fauxserver

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// statusOverloaded is the status that Anthropic answers with under load.
const statusOverloaded = 529

// failure is one way to fail. With a status it comes in place of an answer.
type failure struct {
	word         string // how scripts and the model "error" name it
	status       int
	typ, message string
	retryMS      int64
	html         bool
}

// failures lists all ways to fail, in the order in which a text is searched for
// their names.
func failures() []failure {
	tooLong := tooLong(234_567, 200_000)
	tooLong.word = "context"
	return []failure{
		{word: "rate_limit", status: http.StatusTooManyRequests, typ: "rate_limit", message: "Too many requests.", retryMS: 1000},
		{word: "quota", status: http.StatusPaymentRequired, typ: "insufficient_quota", message: "Your account has no credits left."},
		{word: "auth", status: http.StatusUnauthorized, typ: "authentication_error", message: "Invalid API key."},
		{word: "permission", status: http.StatusForbidden, typ: "permission_denied", message: "Your key may not use this model."},
		{word: "not_found", status: http.StatusNotFound, typ: "not_found", message: "The model was not found."},
		*tooLong,
		{word: "too_large", status: http.StatusRequestEntityTooLarge, typ: "request_too_large", message: "The request is larger than 32 MB."},
		{word: "html", status: http.StatusBadGateway, html: true},
		{word: "before", typ: "overloaded", message: "Overloaded."},
		{word: "mid-stream", typ: "overloaded", message: "Overloaded."},
		{word: "refusal", message: "This is a refusal, as asked for."},
		{word: "truncate"},
		{word: "reset"},
		{word: "malformed"},
		{word: "stall"},
		{word: "server", status: http.StatusInternalServerError, typ: "server_error", message: "Something broke."},
		{word: "overloaded", status: statusOverloaded, typ: "overloaded", message: "Overloaded."},
	}
}

// failureOf finds a way to fail by its name.
func failureOf(word string) (failure, bool) {
	for _, f := range failures() {
		if f.word == word {
			return f, true
		}
	}
	return failure{}, false
}

// failureIn finds the way to fail that a text speaks of.
func failureIn(text string) string {
	text = strings.ToLower(text)
	for _, f := range failures() {
		if strings.Contains(text, f.word) {
			return f.word
		}
	}
	return "mid-stream"
}

// write answers with the failure in place of a stream.
func (f *failure) write(w http.ResponseWriter) {
	if f.html {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.status)
		_, _ = fmt.Fprintf(w, "<html><body><h1>%d Bad Gateway</h1></body></html>\n", f.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if f.retryMS > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt((f.retryMS+999)/1000, 10))
	}
	w.WriteHeader(f.status)
	var j jsonwire.Writer
	j.BeginObject()
	f.member(&j)
	j.EndObject()
	_, _ = w.Write(j.Bytes()) // a caller that has left needs no answer
}

// member writes the member "error".
func (f *failure) member(j *jsonwire.Writer) {
	j.Key("error")
	j.BeginObject()
	j.Member("type", f.typ)
	j.Member("message", f.message)
	if f.retryMS > 0 {
		j.Key("retry_after_ms")
		j.Int(f.retryMS)
	}
	j.EndObject()
}
