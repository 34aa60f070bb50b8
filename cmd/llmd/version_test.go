package main

import (
	"bytes"
	"runtime/debug"
	"strings"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func TestVersion(t *testing.T) {
	code, out, errs := llmd(t, "version")
	if code != exitOK || errs != "" {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	inOrder(t, out, "llmd ", "\ncommit: ", "\ngo: go1.", "/", "\ncontract: llmd.v1",
		"\nwire APIs: anthropic-messages, azure-openai-responses, bedrock-converse-stream, faux, google-generative-ai, ")
	if want := "contract: " + string(llmdv1.File_llmd_v1_inference_service_proto.Package()) + "\n"; !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
}

// TestVersionStamps: what the go command leaves in a binary, for a release, a
// commit, a checkout with changes, an installed module and a test.
func TestVersionStamps(t *testing.T) {
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "-trimpath", Value: "true"},
			{Key: "vcs", Value: "git"},
			{Key: "vcs.revision", Value: "69205fb8"},
			{Key: "vcs.time", Value: "2026-11-30T11:58:25Z"},
			{Key: "vcs.modified", Value: modified},
		}
	}
	for _, tt := range []struct {
		module string
		stamps []debug.BuildSetting
		want   string
	}{
		{"v1.2.3", vcs("false"), "llmd v1.2.3\ncommit: 69205fb8, 2026-11-30T11:58:25Z\n"},
		{"v0.0.0-20261130115825-69205fb8+dirty", vcs("true"), "llmd v0.0.0-20261130115825-69205fb8+dirty\ncommit: 69205fb8, 2026-11-30T11:58:25Z, with changes\n"},
		{"v1.2.3", nil, "llmd v1.2.3\ncommit: unknown\n"},
		{"(devel)", nil, "llmd devel\ncommit: unknown\n"},
		{"", nil, "llmd devel\ncommit: unknown\n"},
	} {
		var out bytes.Buffer
		if err := printVersion(&out, &debug.BuildInfo{Main: debug.Module{Version: tt.module}, Settings: tt.stamps}, []string{"faux"}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), tt.want) || !strings.HasSuffix(out.String(), "\nwire APIs: faux\n") {
			t.Errorf("%s %v:\n%s", tt.module, tt.stamps, out.String())
		}
	}
}
