package openaichat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
)

// shared is a folder of recordings or cases beside the checkout. It is absent on
// a user's machine and present in CI.
func shared(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", name)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is absent", dir)
		}
		t.Skip("../shared is absent: the recordings live beside the checkout")
	}
	return dir
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestRecordedSignatures compares what thinking is signed with, member by member:
// the shared check looks for the opaque pieces alone.
func TestRecordedSignatures(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(shared(t, "fixtures"), apiID, "*"))
	signed := 0
	for _, dir := range dirs {
		var e struct {
			Kind, Provider, Model string
			Stop                  string `json:"stop_reason"`
			Content               []struct {
				Type, Signature string
				Kind            string `json:"signature_kind"`
			}
		}
		readJSON(t, filepath.Join(dir, "expected.json"), &e)
		if e.Kind != "stream" || e.Stop == "error" {
			continue // only what a provider ended is signed
		}
		body, err := os.ReadFile(filepath.Join(dir, "response.raw"))
		if err != nil {
			t.Fatal(err)
		}
		m := model()
		// One host sends none: its recording is read for a profile that says so.
		m.Compat.SupportsFinishReason = false
		got, err := decode(m, string(body))
		if err != nil || got.Err != nil {
			t.Errorf("%s: %v, %v", filepath.Base(dir), err, got.Err)
		}
		var thinking *adaptertest.Block
		for i := range got.Blocks {
			if got.Blocks[i].Kind == adaptertest.KindThinking {
				thinking = &got.Blocks[i]
			}
		}
		for _, w := range e.Content {
			switch {
			case w.Type != "thinking":
			case thinking == nil:
				t.Errorf("%s: no thinking", filepath.Base(dir))
			case w.Kind == "field_name":
				signed++
				if thinking.Format != formatField || thinking.Signature != w.Signature {
					t.Errorf("%s: signed with %s %q, want the field %q", filepath.Base(dir), thinking.Format, thinking.Signature, w.Signature)
				}
			case w.Kind == "reasoning_details_json":
				signed++
				if d := cmp.Diff(detailItems(t, w.Signature), detailItems(t, thinking.Signature)); d != "" || thinking.Format != formatDetails {
					t.Errorf("%s: %s: %s", filepath.Base(dir), thinking.Format, d)
				}
			}
		}
	}
	if signed == 0 {
		t.Error("no recording holds signed thinking")
	}
}

func detailItems(t *testing.T, text string) (items []map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		t.Fatal(err)
	}
	return items
}
