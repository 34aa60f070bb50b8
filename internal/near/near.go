// Package near finds the names that somebody may have meant who wrote another one:
// a key of the configuration, a provider, a model.
package near

import (
	"cmp"
	"slices"
	"strings"
)

// Most is how many names are suggested at most.
const Most = 5

// longest is how much of what was asked for is looked at, in bytes.
const longest = 128

// Names are those that are like what was asked for, best first.
func Names(asked string, names []string) []string {
	var r Ranking
	for _, name := range names {
		r.Add(name, asked)
	}
	return r.Best()
}

// Question is the end of a message that suggests names: "; did you mean a, b?".
// It is empty if there are none.
func Question(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, ", ") + "?"
}

// Ranking collects candidates by their likeness to what was asked for.
type Ranking []candidate

type candidate struct {
	name     string
	distance int
	// more is how much more it says than was asked for; what begins otherwise counts
	// as far more.
	more int
}

// Add ranks a candidate that is compared as it is.
func (r *Ranking) Add(name, asked string) { r.AddAs(name, name, asked) }

// AddAs ranks a candidate by another text than its name. A third of its letters
// may differ; a candidate that only says more than was asked for counts as near.
func (r *Ranking) AddAs(name, text, asked string) {
	text, asked = strings.ToLower(text), strings.ToLower(asked[:min(len(asked), longest)])
	if asked == "" {
		return
	}
	most := max(1, min(len(text), len(asked))/3)
	if len(asked) >= 3 && strings.Contains(text, asked) {
		more := len(text) - len(asked)
		distance := min(2, more)
		if !strings.HasPrefix(text, asked) {
			more += longest
		}
		*r = append(*r, candidate{name, distance, more})
		return
	}
	// Texts of very different lengths are not alike; measuring costs the product
	// of the lengths.
	if len(text)-len(asked) > most || len(asked)-len(text) > most {
		return
	}
	if d := distance(text, asked); d <= most {
		*r = append(*r, candidate{name, d, 0})
	}
}

// Best are at most [Most] names, the nearest first.
func (r Ranking) Best() []string {
	slices.SortStableFunc(r, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.more, b.more), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range r {
		if len(names) < Most && !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return names
}

// distance is the number of bytes to insert, delete, replace or swap with the next
// one to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	above, twoAbove := row, row
	for i := range len(a) {
		row = make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := above[j]
			if a[i] != b[j] {
				cost = 1 + min(above[j], row[j], above[j+1])
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, 1+twoAbove[j-1])
			}
			row[j+1] = cost
		}
		above, twoAbove = row, above
	}
	return above[len(b)]
}
