package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	markdownLink    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	markdownHeading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	// notInAnchors is what GitHub leaves out of the anchor of a heading.
	notInAnchors = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinks: what the pages link to is there, headings too, and README leads to every
// page of docs.
func TestLinks(t *testing.T) {
	pages := []string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.md", "examples/*/*.md", "proto/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	var fromReadme []string
	for _, page := range pages {
		for _, m := range markdownLink.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], ":") { // elsewhere
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			to := page
			if path != "" {
				to = filepath.Join(filepath.Dir(page), path)
			}
			if page == filepath.Join("..", "README.md") {
				fromReadme = append(fromReadme, to)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			} else if anchor != "" && strings.HasSuffix(to, ".md") && !slices.Contains(anchors(read(t, to)), anchor) {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
	for _, page := range pages {
		if filepath.Base(filepath.Dir(page)) == "docs" && !slices.Contains(fromReadme, page) {
			t.Errorf("README does not link to %s", page)
		}
	}
}

func anchors(text string) []string {
	var all []string
	for _, m := range markdownHeading.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), ""), " ", "-"))
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
