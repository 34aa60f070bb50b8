package adaptertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters/frame"
)

const toyBody = "data: {\"text\":\"H\u00e9\"}\n\n" +
	"data: {\"text\":\" you\"}\n\n" +
	"data: {\"raw\":{\"a\": 1}}\n\n" +
	"data: {\"stop\":\"end\"}\n\n" +
	"data: {\"text\":\"not read\"}\n\n"

func toyCall(a *toy) []string {
	call := NewCall(defaultModel("toy", "toy", "m"))
	p := checkBody(a, call, []byte(toyBody))
	frames, err := readFrames(a.Framing(), []byte(toyBody))
	if err != nil {
		p.add("%v", err)
	}
	parts, err := Decode(a, call, strings.NewReader(toyBody))
	c := cutter{a: a, call: call, body: []byte(toyBody), frames: frames}
	marker := c.run()
	if err == nil {
		c.boundaries(Fold(parts), marker)
		c.places(Fold(parts))
	}
	return append(p, c.problems...)
}

func TestRightAdapter(t *testing.T) {
	if p := toyCall(&toy{}); len(p) > 0 {
		t.Errorf("faults were found where there are none: %q", p)
	}
}

// Each mistake is found, by both ways of cutting where both can see it.
func TestMistakesAreFound(t *testing.T) {
	for mistake, want := range map[string][]string{
		"keeps the frame":     {"not JSON"},
		"shares state":        {"read twice"},
		"text behind the end": {"the block has ended"},
		"guesses a stop":      {"before the terminal marker", "into frame 3: a stop"},
		"invents text":        {"block 0 is text"},
		"never truncated":     {"no stop and no error", "cut before frame 0"},
		"stops late":          {"before the terminal marker"},
	} {
		found := strings.Join(toyCall(&toy{mistake: mistake}), "\n")
		for _, w := range want {
			if !strings.Contains(found, w) {
				t.Errorf("%s: %q was not found in\n%s", mistake, w, found)
			}
		}
	}
}

func TestDecodeReadsNothingBehindComplete(t *testing.T) {
	parts, err := Decode(&toy{}, NewCall(defaultModel("toy", "toy", "m")), strings.NewReader(toyBody))
	want := "text 0 \"Hé\"\ntext 0 \" you\"\nprovider_content 1 raw \"{\\\"a\\\": 1}\"\nstop STOP \"end\"\ncomplete\n"
	if diff := cmp.Diff(want, Lines(parts, err)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestGoldens(t *testing.T) {
	Run(t, &toy{}, filepath.Join("testdata", "sse"))
	Run(t, &toy{framing: frame.EventStream}, filepath.Join("testdata", "eventstream"))
}

func TestUpdate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txtar")
	before := "About.\n-- wire --\ndata: {\"stop\":\"end\"}\n\n-- model --\nid: x\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	*update = true
	Run(t, &toy{}, dir)
	*update = false
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := before + "-- want --\nstop STOP \"end\"\ncomplete\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	Run(t, &toy{}, dir)
}

func TestParseGolden(t *testing.T) {
	g, err := parseGolden(&toy{}, []byte("-- wire.quoted --\n\"a\\r\\n\"\n\n\"b\"\n-- model --\n"+
		"{id: m9, provider: p9, reasoning: false, images: false, compat: {thinking_format: zai}}\n-- status --\n429\nRetry-After: 7\n"))
	if err != nil {
		t.Fatal(err)
	}
	if string(g.body) != "a\r\nb" || g.status != 429 || g.header.Get("Retry-After") != "7" {
		t.Errorf("body %q, status %d, header %v", g.body, g.status, g.header)
	}
	m := g.model
	if m.Name() != "p9/m9" || m.Reasoning || m.TakesImages() || m.Compat.ThinkingFormat != "zai" || m.Compat.MaxTokensField == "" {
		t.Errorf("model %+v", m)
	}
	for _, bad := range []string{
		"", "-- want --\n", "-- wire --\n-- wire.quoted --\n", "-- wire --\n-- wyre --\n", "-- wire.quoted --\nx\n",
		"-- wire.frames --\nx\n", "-- wire --\n-- model --\nidd: x\n", "-- wire --\n-- model --\ncompat: {nope: 1}\n", "-- wire --\n-- status --\nbad\n",
	} {
		if _, err := parseGolden(&toy{}, []byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestOffsets(t *testing.T) {
	if got := offsets(3, 1024); len(got) != 3 || got[2] != 2 {
		t.Errorf("got %v", got)
	}
	got := offsets(1_000_000, 1024)
	if len(got) > 1100 || got[255] != 255 || got[len(got)-256] != 999_744 {
		t.Errorf("%d offsets, %d, %d", len(got), got[255], got[len(got)-256])
	}
}

func TestPieces(t *testing.T) {
	var got []string
	r := &pieces{[]byte("abcdefg"), []int{3, 2}}
	buf := make([]byte, 100)
	for {
		n, err := r.Read(buf)
		if err != nil {
			break
		}
		got = append(got, string(buf[:n]))
	}
	if diff := cmp.Diff([]string{"abc", "de", "fg"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMarkerEnd(t *testing.T) {
	call := NewCall(defaultModel("toy", "toy", "m"))
	want := strings.Index(toyBody, `"end"}`) + len(`"end"}`)
	if got := markerEnd(&toy{}, call, []byte(toyBody)); got != want {
		t.Errorf("the marker ends at %d, want %d", got, want)
	}
	if got := markerEnd(&toy{}, call, []byte("data: {}\n\n")); got != 11 {
		t.Errorf("without a marker: %d, want 11", got)
	}
}
