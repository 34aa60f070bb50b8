package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// systemd reads the unit without a complaint, and calls it well protected.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no systemd-analyze")
	}
	text, err := os.ReadFile("../systemd/llmd.service")
	if err != nil {
		t.Fatal(err)
	}
	// The command must be there for systemd to be content.
	unit := filepath.Join(t.TempDir(), "llmd.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/llmd", build(t))), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("verify: %v\n%s", err, out)
	}
	out, err = exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20", unit).CombinedOutput()
	if err != nil {
		t.Errorf("security: %v\n%s", err, out)
	}
}
