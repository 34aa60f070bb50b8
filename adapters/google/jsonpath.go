package google

import (
	"strconv"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
)

// step is one step of a path: a key, or an index.
type step struct {
	key   string
	index int // -1 = key
}

// parsePath reads the paths that name one place: "$.a.b[0]['c d']". One that is deeper
// than arguments may be is none.
//
// https://datatracker.ietf.org/doc/html/rfc9535#name-normalized-paths
func parsePath(s string) ([]step, bool) {
	s, ok := strings.CutPrefix(s, "$")
	if !ok {
		return nil, false
	}
	var path []step
	for s != "" {
		var next step
		switch {
		case s[0] == '.':
			n := strings.IndexAny(s[1:], ".[") + 1
			if n == 0 {
				n = len(s)
			}
			next, s = step{key: s[1:n], index: -1}, s[n:]
			ok = next.key != ""
		case strings.HasPrefix(s, "['") || strings.HasPrefix(s, `["`):
			next.index = -1
			next.key, s, ok = quotedKey(s[1:])
		default:
			next.index, s, ok = index(s)
		}
		if !ok || len(path) == jsonstream.MaxDepth {
			return nil, false
		}
		path = append(path, next)
	}
	return path, true
}

// index reads "[12]".
func index(s string) (n int, rest string, ok bool) {
	digits, rest, ok := strings.Cut(strings.TrimPrefix(s, "["), "]")
	n, err := strconv.Atoi(digits)
	return n, rest, ok && err == nil && n >= 0 && s[0] == '['
}

// quotedKey reads a key in single or double quotes and the bracket after it.
func quotedKey(s string) (key, rest string, ok bool) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			rest, ok = strings.CutPrefix(s[i+1:], "]")
			return b.String(), rest, ok
		case s[i] == '\\' && i+1 < len(s):
			r, _, tail, err := strconv.UnquoteChar(s[i:], quote)
			if err != nil {
				return "", "", false
			}
			b.WriteRune(r)
			i = len(s) - len(tail) - 1
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}
