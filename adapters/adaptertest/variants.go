package adaptertest

import (
	"iter"
	"slices"
)

// Variants are all texts that come of data when other stands between two of its quotes.
func Variants(data, other []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var quotes []int
		for i, b := range data {
			if b == '"' {
				quotes = append(quotes, i)
			}
		}
		for n, from := range quotes {
			for _, to := range quotes[n+1:] {
				if !yield(slices.Concat(data[:from+1], other, data[to:])) {
					return
				}
			}
		}
	}
}
