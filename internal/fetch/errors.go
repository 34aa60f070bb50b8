package fetch

import (
	"fmt"
	"net/url"
	"unicode/utf8"
)

// Error means that an image cannot be had. The same URL is not worth a retry
// within the same request.
type Error struct {
	// URL has neither user nor query nor fragment, and at most 120 bytes.
	URL string
	// Problem says what is wrong, for people. It quotes neither the URL nor the
	// answer.
	Problem string
	// Index is the place of the image among those of a [Batch]; 0 otherwise.
	Index int
}

func (e *Error) Error() string { return "fetch: " + e.URL + ": " + e.Problem }

// refusal is a problem on its way to an Error, where the URL is not known.
type refusal string

func (r refusal) Error() string { return string(r) }

// maxShown is the most bytes of a URL that an error shows.
const maxShown = 120

// shown is a URL as errors show it.
func shown(u *url.URL) string {
	if u == nil {
		return "(not a URL)"
	}
	s := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	if len(s) <= maxShown {
		return s
	}
	end := maxShown - len("...")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }
