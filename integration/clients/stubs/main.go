// Command stubs generates the stubs of all languages from proto/, into a folder
// each. It needs the languages' own tools and fetches the generators from their
// registries; what is missing is said.
//
//	go run ./integration/clients/stubs -out dist/stubs
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/llmd-dev/llmd/integration/clients/build"
)

func main() {
	out := flag.String("out", "dist/stubs", "folder to write to")
	root := flag.String("root", ".", "the checkout")
	flag.Parse()
	failed := false
	for _, l := range build.Languages() {
		if len(l.Stubs) == 0 {
			continue // Go's are in gen/
		}
		if err := generate(context.Background(), &l, *root, *out); err != nil {
			fmt.Fprintf(os.Stderr, "stubs: %s: %v\n", l.Name, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func generate(ctx context.Context, l *build.Language, root, out string) error {
	if missing := l.Missing(); missing != "" {
		return fmt.Errorf("%s is not here", missing)
	}
	b, err := l.Build(ctx, root)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := l.WriteStubs(b, out); err != nil {
		return err
	}
	fmt.Printf("%s/%s\n", out, l.Dir)
	return nil
}
