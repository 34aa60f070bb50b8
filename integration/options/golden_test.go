package options

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata and docs/options.md")

// outcome is what a wish came to, for all models of an API to which it came the same.
type outcome struct {
	labels            []string
	became, effective string
}

// outcomes groups the rows of one wish on one API, in the order of the models.
func outcomes(rows []row, w wish, api string) []outcome {
	var all []outcome
	for i := range rows {
		r := &rows[i]
		if r.api != api || r.option != w.option || r.value != w.value {
			continue
		}
		became, effective := r.became(), r.effective()
		at := slices.IndexFunc(all, func(o outcome) bool { return o.became == became && o.effective == effective })
		if at < 0 {
			all = append(all, outcome{became: became, effective: effective})
			at = len(all) - 1
		}
		all[at].labels = append(all[at].labels, r.label)
	}
	return all
}

// checkGolden compares the rows with testdata, a file for each API.
func checkGolden(t *testing.T, rows []row) {
	for _, api := range apis() {
		var b strings.Builder
		fmt.Fprintf(&b, "# %s\n# option=value | models | what it became | EffectiveOptions, where it differs\n", api)
		last := ""
		for _, w := range slices.Concat(wishes(), conflicts()) {
			section := w.option
			if w.conflict != "" {
				section = "conflict: " + w.conflict
			}
			if section != last {
				fmt.Fprintf(&b, "\n## %s\n", section)
				last = section
			}
			name := w.option + "=" + w.value
			if w.conflict != "" {
				name = w.value
			}
			for _, o := range outcomes(rows, w, api) {
				fmt.Fprintf(&b, "%s | %s | %s | %s\n", name, strings.Join(o.labels, " "), o.became, o.effective)
			}
		}
		compare(t, filepath.Join("testdata", api+".golden"), b.String())
	}
}

// compare holds a generated file against the one on disk.
func compare(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(got), "\n"), strings.Split(want, "\n")); d != "" {
		t.Errorf("%s is not what llmd does; if that is right, run the test with -update (-file +llmd):\n%s", path, d)
	}
}
