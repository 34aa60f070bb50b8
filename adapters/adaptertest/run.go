package adaptertest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

var update = flag.Bool("update", false, "adaptertest: write the want sections of golden files anew")

// Run checks an adapter against the golden files (*.txtar) in a folder.
func Run(t *testing.T, a adapters.Adapter, dir string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no golden files in %s", dir)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			g, err := parseGolden(a, text)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			got := g.result(a)
			if *update {
				if err := os.WriteFile(path, g.withWant(got), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(strings.Split(g.want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if g.status == 0 {
				for _, problem := range checkBody(a, NewCall(g.model), g.body) {
					t.Error(problem)
				}
			}
		})
	}
}

// result is what the adapter makes of the body.
func (g *golden) result(a adapters.Adapter) string {
	if g.status != 0 {
		return Lines(nil, a.DecodeError(g.status, g.header, g.body))
	}
	return Lines(Decode(a, NewCall(g.model), bytes.NewReader(g.body)))
}

// exhaustive is the length in bytes up to which a golden is cut everywhere. Each
// cut reads the whole body, so the cost is the square of it.
const exhaustive = 8 << 10

// problems collects what is wrong.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// checkBody checks what every decoder owes its caller, on one body.
func checkBody(a adapters.Adapter, call *adapters.Call, body []byte) (p problems) {
	parts, wholeErr := Decode(a, call, bytes.NewReader(body))
	whole, want := Fold(parts), Lines(parts, wholeErr)
	for _, fault := range whole.Faults {
		p.add("bad part: %s", fault)
	}
	if again := Lines(Decode(a, call, bytes.NewReader(body))); again != want {
		p.add("read twice, two results\n%s", cmp.Diff(want, again))
	}
	for _, sizes := range readSizes(len(body)) {
		if got := Lines(Decode(a, call, &pieces{body, sizes})); got != want {
			p.add("in reads of %v bytes\n%s", sizes, cmp.Diff(want, got))
			break
		}
	}
	marker := markerEnd(a, call, body)
	for _, cut := range offsets(len(body), exhaustive) {
		parts, err := Decode(a, call, bytes.NewReader(body[:cut]))
		if problem := checkCut(Fold(parts), err, whole, cut >= marker); problem != "" {
			p.add("cut at byte %d of %d: %s", cut, len(body), problem)
			break
		}
	}
	return p
}

// readSizes are all cuts into two reads, and reads of one byte.
func readSizes(n int) [][]int {
	sizes := [][]int{{1}}
	for _, cut := range offsets(n, exhaustive) {
		if cut > 0 {
			sizes = append(sizes, []int{cut, n})
		}
	}
	return sizes
}

// offsets are the numbers from 0 below n: all of them if n is at most most, else
// the ends and as many as make most.
func offsets(n, most int) []int {
	edge := min(256, most/4)
	step := 1
	if n > most {
		step = n/(most-2*edge) + 1
	}
	var l []int
	for i := range n {
		if i < edge || i >= n-edge || i%step == 0 {
			l = append(l, i)
		}
	}
	return l
}

// checkCut says what is wrong with what was read of a cut answer.
func checkCut(got *Folded, err error, whole *Folded, hasMarker bool) string {
	stopped := got.Stop != llmdv1.StopReason_STOP_REASON_UNSPECIFIED
	switch {
	case len(got.Faults) > 0:
		return "bad part: " + got.Faults[0]
	case stopped && !hasMarker:
		return fmt.Sprintf("the stop %s before the terminal marker's end", stopText(got.Stop))
	case !stopped && hasMarker:
		return "no stop, although the terminal marker had come"
	case stopped && (got.Stop != whole.Stop || got.Word != whole.Word):
		return fmt.Sprintf("the stop %s %q, the whole answer's is %s %q", stopText(got.Stop), got.Word, stopText(whole.Stop), whole.Word)
	case !stopped && err == nil:
		return "no stop and no error"
	}
	return notBeginning(got, whole)
}

// markerEnd is the offset of the terminal marker's last byte plus one, from the
// frames alone: where the frame that held it was first whole. Without a marker it
// lies behind the body.
func markerEnd(a adapters.Adapter, call *adapters.Call, body []byte) int {
	frames, _ := readFrames(a.Framing(), body) // what is wrong shows elsewhere
	d := newDriver(a, call)
	for _, f := range frames {
		before := len(d.sink.Parts)
		if d.decode(f) != nil {
			break
		}
		if !hasStop(d.sink.Parts[before:]) {
			continue
		}
		// What is whole stays whole as more comes.
		n := sort.Search(len(body)-int(f.Offset), func(n int) bool { return isWhole(a, f, body[f.Offset:int(f.Offset)+n]) })
		return int(f.Offset) + n
	}
	return len(body) + 1
}

// isWhole says whether a piece of a body holds all the data of frame f, which
// begins it.
func isWhole(a adapters.Adapter, f frame.Frame, piece []byte) bool {
	g, err := frame.NewReader(a.Framing(), bytes.NewReader(piece), 0).Next()
	return err == nil && bytes.Equal(bytes.TrimSpace(g.Data), bytes.TrimSpace(f.Data))
}
