package handoff

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/transform"
)

// minimise leaves out of a conversation what is not needed to break the law: options,
// messages, blocks, words. It goes on until nothing more can go.
func minimise(w *World, t Turn, law string) Turn {
	breaks := func(g *llmdv1.Generation) bool {
		_, b := judge(w, Turn{t.Model, g})
		return b != nil && b.law == law
	}
	best := proto.CloneOf(t.Generation)
	for again := true; again; {
		again = false
		for _, smaller := range reductions(best) {
			g := proto.CloneOf(best)
			if smaller(g) && breaks(g) {
				best, again = g, true
				break
			}
		}
	}
	return Turn{t.Model, best}
}

// reductions are ways to make a conversation smaller, large steps first. Each says
// whether it changed anything.
func reductions(g *llmdv1.Generation) []func(*llmdv1.Generation) bool {
	all := []func(*llmdv1.Generation) bool{
		func(g *llmdv1.Generation) bool { had := g.Handoff != nil; g.Handoff = nil; return had },
		func(g *llmdv1.Generation) bool { had := g.Reasoning != nil; g.Reasoning = nil; return had },
		func(g *llmdv1.Generation) bool {
			had := g.Context.SystemPrompt != ""
			g.Context.SystemPrompt = ""
			return had
		},
		func(g *llmdv1.Generation) bool {
			had := len(g.Context.Tools) > 1
			g.Context.Tools = g.Context.Tools[:1]
			return had
		},
	}
	n := len(g.GetContext().GetMessages())
	for size := n / 2; size > 0; size /= 2 {
		for at := n - size; at >= 0; at-- {
			all = append(all, func(g *llmdv1.Generation) bool {
				g.Context.Messages = slices.Delete(g.Context.Messages, at, at+size)
				return true
			})
		}
	}
	for i, m := range g.GetContext().GetMessages() {
		for k := range blocks(m) {
			all = append(all, func(g *llmdv1.Generation) bool { return cutBlock(g.Context.Messages[i], k) },
				func(g *llmdv1.Generation) bool { return cutWords(g.Context.Messages[i], k) })
		}
	}
	return all
}

func blocks(m *llmdv1.Message) int {
	return len(m.GetUser().GetContent()) + len(m.GetAssistant().GetContent()) + len(m.GetToolResult().GetContent())
}

func cutBlock(m *llmdv1.Message, k int) bool {
	switch m := m.GetMessage().(type) {
	case *llmdv1.Message_User:
		m.User.Content = slices.Delete(m.User.Content, k, k+1)
	case *llmdv1.Message_Assistant:
		m.Assistant.Content = slices.Delete(m.Assistant.Content, k, k+1)
	case *llmdv1.Message_ToolResult:
		m.ToolResult.Content = slices.Delete(m.ToolResult.Content, k, k+1)
	}
	return true
}

// cutWords makes a text its word. What is signed stays as it is.
func cutWords(m *llmdv1.Message, k int) bool {
	var t *llmdv1.TextContent
	switch m := m.GetMessage().(type) {
	case *llmdv1.Message_User:
		t = m.User.Content[k].GetText()
	case *llmdv1.Message_Assistant:
		t = m.Assistant.Content[k].GetText()
	case *llmdv1.Message_ToolResult:
		t = m.ToolResult.Content[k].GetText()
	}
	word := Word(t.GetText())
	if t == nil || word == "" || t.Text == word || t.Signature != nil {
		return false
	}
	t.Text = word
	return true
}

// show is a conversation for people.
func show(t Turn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "to %s, handoff {%v}, reasoning {%v}\n", t.Model.Name(), t.Generation.GetHandoff(), t.Generation.GetReasoning())
	for i, m := range t.Generation.GetContext().GetMessages() {
		fmt.Fprintf(&b, "%3d %s\n", i, prototext.MarshalOptions{}.Format(m))
	}
	return b.String()
}

// store writes a turn as a case where LLMD_STORE=1 asks for it, and says where.
func store(t Turn, law string) (string, error) {
	if os.Getenv("LLMD_STORE") != "1" {
		return "run with LLMD_STORE=1", nil
	}
	g := proto.CloneOf(t.Generation)
	g.Model = t.Model.Name()
	text, err := protojson.Marshal(g)
	if err != nil {
		return "", err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, text, "", " "); err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	name := filepath.Join("testdata", fmt.Sprintf("%s-%x.json", strings.ReplaceAll(law, " ", "-"), sum[:4]))
	return name, os.WriteFile(name, append(pretty.Bytes(), '\n'), 0o644)
}

// Conversations that broke a law once. The signatures in them may be of nobody: cases
// are about structure unless the simulator issued what they hold.
func TestStoredCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	w := newWorld(t)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			g := &llmdv1.Generation{}
			if err := protojson.Unmarshal(text, g); err != nil {
				t.Fatal(err)
			}
			m := w.Model(g.GetModel())
			if m == nil {
				t.Fatalf("there is no model %s", g.GetModel())
			}
			// Where no model could go on, a refusal keeps the law too.
			if _, b := judge(w, Turn{m, g}); b != nil {
				t.Errorf("%v\n%s", b, show(Turn{m, g}))
			}
		})
	}
}

// A hand-off that loses images in silence is found, and shown with little more than
// the image.
func TestFailuresAreFoundAndMadeSmall(t *testing.T) {
	w, err := NewWorld(func(in transform.Input) (*transform.Result, error) {
		r, err := transform.Apply(in)
		if err != nil {
			return nil, err
		}
		r.Context = proto.CloneOf(r.Context)
		for _, m := range r.Context.GetMessages() {
			if u := m.GetUser(); u != nil {
				u.Content = slices.DeleteFunc(u.Content, func(c *llmdv1.UserContent) bool { return c.GetImage() != nil && len(u.Content) > 1 })
			}
		}
		return r, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(100) {
		f := stroll(w, seed, newMatrix())
		if f == nil || f.law != "no silent loss" {
			continue
		}
		small := minimise(w, f.turn, f.law)
		if _, b := judge(w, small); b == nil || b.law != f.law {
			t.Fatalf("the small conversation breaks %v", b)
		}
		n := 0
		for _, m := range small.Generation.GetContext().GetMessages() {
			n += blocks(m)
		}
		if len(small.Generation.GetContext().GetMessages()) > 2 || n > 3 {
			t.Errorf("%d blocks are left of %s", n, show(small))
		}
		return
	}
	t.Error("the loss was not found")
}
