// Command licences writes docs/dependencies.md: every module that llmd is built and
// tested with, and its licence.
//
//	go run ./licences -root .. -out ../docs/dependencies.md
//
// With -check it writes nothing and fails where the page is not what it would write.
// Either way it fails if a licence is missing, not known or not permissive.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/tools/dependencies"
)

func main() {
	root := flag.String("root", "..", "the checkout")
	out := flag.String("out", "../docs/dependencies.md", "page to write")
	check := flag.Bool("check", false, "only compare")
	flag.Parse()
	if err := run(context.Background(), *root, *out, *check); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, out string, check bool) error {
	shipped, err := dependencies.Find(ctx, &dependencies.Question{
		Root: root, Packages: []string{"./cmd/llmd"}, Platforms: dependencies.Platforms(),
	})
	if err != nil {
		return err
	}
	all, err := dependencies.Find(ctx, &dependencies.Question{
		Root: root, Packages: []string{"./...", "tool"}, Tests: true, Platforms: dependencies.Platforms(),
	})
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(all, func(m dependencies.Module) bool {
		return slices.ContainsFunc(shipped, func(s dependencies.Module) bool { return s.Path == m.Path })
	})
	text, err := page(shipped, others)
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(out, text, 0o644)
	}
	have, err := os.ReadFile(out)
	if err == nil && !bytes.Equal(have, text) {
		err = errors.New(out + " is stale: run make licences")
	}
	return err
}

const head = `# Dependencies

What llmd is built with, and under which licence. Written by ` + "`make licences`" + ` from the
modules themselves; CI fails when this page is stale, or when a licence is not one of
the permissive ones that ` + "`tools/dependencies`" + ` lists. llmd itself is under the
[Apache License 2.0](../LICENSE).

Modules marked "direct" are imported by llmd's own packages, the others by those.

`

// page is the Markdown.
func page(shipped, others []dependencies.Module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(head)
	b.WriteString("## In the program\n\nFor Linux and macOS, amd64 and arm64. An archive of a release has the texts of these\nlicences, and the notices that go with them, in its folder `licences`.\n\n")
	if err := table(&b, shipped); err != nil {
		return nil, err
	}
	b.WriteString("\n## For tests, examples and generated code only\n\nNothing of these is in the program.\n\n")
	err := table(&b, others)
	return b.Bytes(), err
}

func table(b *bytes.Buffer, modules []dependencies.Module) error {
	b.WriteString("| module | version | licence | |\n|---|---|---|---|\n")
	var problems []error
	for _, m := range modules {
		names, err := m.Licences()
		if err != nil {
			problems = append(problems, err)
			continue
		}
		path, direct := "`"+m.Path+"`", ""
		if m.Path == dependencies.Standard {
			path = "Go's standard library and runtime"
		}
		if m.Direct {
			direct = "direct"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", path, m.Version, strings.Join(names, ", "), direct)
	}
	return errors.Join(problems...)
}
