package fauxserver

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

const (
	// longestWord cuts what has no spaces.
	longestWord = 24
	// argumentChars is the length of a fragment of arguments.
	argumentChars = 6
)

// chunks cuts a text into pieces of n characters; with n = 0, after each word.
func chunks(text string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			end := chunkEnd(text, n)
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

func chunkEnd(text string, n int) int {
	count, inSpace := 0, false
	for i, c := range text {
		space := unicode.IsSpace(c)
		if n > 0 && count == n || n == 0 && (inSpace && !space || count == longestWord) {
			return i
		}
		inSpace = space
		count++
	}
	return len(text)
}

// firstChars is the beginning of a text, at most n characters, with their number.
func firstChars(text string, n int) (string, int) {
	count := 0
	for i := range text {
		if count == n {
			return text[:i], n
		}
		count++
	}
	return text, utf8.RuneCountInString(text)
}
