package security

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tests that docs/security.md names are there.
func TestPage(t *testing.T) {
	const root = "../.."
	page, err := os.ReadFile(filepath.Join(root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, place := range regexp.MustCompile("`([a-z]+[a-z/]*)` ((?:(?:Test|Fuzz)\\w+(?:, )?)+)").FindAllStringSubmatch(string(page), -1) {
		files, err := filepath.Glob(filepath.Join(root, place[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var source strings.Builder
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(text)
		}
		for test := range strings.SplitSeq(place[2], ", ") {
			if test == "" {
				continue
			}
			named++
			if !regexp.MustCompile(`(?m)^func ` + test + `\(\w+ \*testing\.[TF]\)`).MatchString(source.String()) {
				t.Errorf("there is no %s in %s", test, place[1])
			}
		}
	}
	if named < 25 {
		t.Errorf("the page names %d tests", named)
	}
}
