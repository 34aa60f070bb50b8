package adapters

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// maxDelay bounds what is believed of a delay.
const maxDelay = 31 * 24 * time.Hour

// delayInWords finds "try again in 7m12.5s", "retry after 5 seconds" and the like
// in lower-case text; nil = none.
func delayInWords(text string) *time.Duration {
	for _, phrase := range []string{
		"try again in ", "retry in ", "retry after ", "try again after ", "retry your request in ", "retry your request after ",
		"retry-after: ", "wait for ", "wait ", "available in ", "reset after ", "resets in ", "reset in ",
	} {
		_, after, ok := strings.Cut(text, phrase)
		if !ok {
			continue
		}
		after = strings.TrimPrefix(strings.TrimPrefix(after, "about "), "approximately ")
		if d, ok := spokenDuration(after); ok {
			return &d
		}
	}
	return nil
}

// spokenDuration reads numbers with units at the start of text. A number without
// a unit is in seconds.
func spokenDuration(text string) (time.Duration, bool) {
	var total float64
	found := false
	for {
		n := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if n < 0 {
			n = len(text)
		}
		v, err := strconv.ParseFloat(strings.TrimSuffix(text[:n], "."), 64)
		if err != nil {
			break
		}
		text = strings.TrimLeft(text[n:], " ")
		w := strings.IndexFunc(text, func(r rune) bool { return r < 'a' || r > 'z' })
		if w < 0 {
			w = len(text)
		}
		unit := unitOf(text[:w])
		if unit == 0 {
			if found {
				break
			}
			return bounded(v * float64(time.Second))
		}
		total += v * float64(unit)
		found = true
		text = strings.TrimLeft(text[w:], " ,")
		text = strings.TrimPrefix(text, "and ")
	}
	if !found {
		return 0, false
	}
	return bounded(total)
}

func unitOf(word string) time.Duration {
	switch word {
	case "ms", "msec", "millisecond", "milliseconds":
		return time.Millisecond
	case "s", "sec", "secs", "second", "seconds":
		return time.Second
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour
	case "d", "day", "days":
		return 24 * time.Hour
	}
	return 0
}

func bounded(ns float64) (time.Duration, bool) {
	if math.IsNaN(ns) || ns < 0 || ns > float64(maxDelay) {
		return 0, false
	}
	return time.Duration(math.Round(ns)), true
}

// seconds reads a JSON number of seconds, with or without its unit.
func seconds(word string) *time.Duration {
	if word == "" {
		return nil
	}
	d, ok := spokenDuration(strings.ToLower(word))
	if !ok {
		return nil
	}
	return &d
}
