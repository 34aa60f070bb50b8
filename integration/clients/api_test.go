package clients

import (
	"os/exec"
	"testing"
)

// TestAPIPage: docs/api.md is what the comments in the descriptor set say.
func TestAPIPage(t *testing.T) {
	onlyWhenAsked(t)
	out, err := exec.CommandContext(t.Context(), "go", "run", "-C", root+"/tools", "./apidoc", "-check").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
