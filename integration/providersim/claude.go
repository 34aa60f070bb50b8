package providersim

import (
	"strconv"
	"strings"
	"unicode"
)

// claudeVersion reads the version in the name of a Claude model; 0, 0 for one of
// another family. Words of a name are cut at everything that is no letter or digit,
// and dates are longer than versions.
func claudeVersion(model string) (major, minor int) {
	words := strings.FieldsFunc(strings.ToLower(model), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	var numbers []int
	claude := false
	for _, w := range words {
		claude = claude || w == "claude"
		if n, err := strconv.Atoi(w); err == nil && claude && len(w) <= 2 {
			numbers = append(numbers, n)
		} else if len(numbers) > 0 {
			break
		}
	}
	if len(numbers) == 0 {
		return 0, 0
	}
	return numbers[0], append(numbers, 0)[1]
}

// claudeFrom says whether a model is a Claude of at least this version.
func claudeFrom(model string, major, minor int) bool {
	a, b := claudeVersion(model)
	return a > major || a == major && b >= minor
}
