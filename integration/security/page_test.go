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
	for _, place := range regexp.MustCompile("`((?:internal|integration|interceptors)[a-z/]*)` ((?:Test\\w+(?:, )?)+)").FindAllStringSubmatch(string(page), -1) {
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
			if !strings.Contains(source.String(), "func "+test+"(t *testing.T)") {
				t.Errorf("there is no %s in %s", test, place[1])
			}
		}
	}
	if named < 10 {
		t.Errorf("the page names %d tests", named)
	}
}
