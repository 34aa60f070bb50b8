package adaptertest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// maxSeed keeps the fuzzer's inputs short: it learns nothing from long ones.
const maxSeed = 8 << 10

// Seeds adds the shorter recordings of a wire API to a fuzz target, where they are.
func Seeds(f *testing.F, api string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "fixtures", api, "*", "response.raw"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(body) <= maxSeed {
			f.Add(string(body))
		}
	}
}

// NeverSilent fails if a body ends with neither a stop nor an error.
func NeverSilent(t *testing.T, a adapters.Adapter, call *adapters.Call, body string) {
	t.Helper()
	got, err := FoldBody(a, call, body)
	if err == nil && got.Stop == llmdv1.StopReason_STOP_REASON_UNSPECIFIED {
		t.Fatal("neither a stop nor an error")
	}
}
