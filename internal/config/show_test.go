package config_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llmd-dev/llmd/internal/config"
)

// TestShow: what is shown has every key of "server", under its own name, and no
// secret. It can be read back.
func TestShow(t *testing.T) {
	text, err := parse(t, everyKey, "LAB", "secret-1", "LAB_32", strings.Repeat("ab", 32)).Server.Show()
	if err != nil {
		t.Fatal(err)
	}
	var shown yaml.Node
	if err := yaml.Unmarshal(text, &shown); err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	var walk func(path string, n *yaml.Node)
	walk = func(path string, n *yaml.Node) {
		have[path] = true
		switch n.Kind {
		case yaml.DocumentNode:
			walk(path, n.Content[0])
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				walk(strings.TrimPrefix(path+"."+n.Content[i].Value, "."), n.Content[i+1])
			}
		case yaml.SequenceNode:
			for _, item := range n.Content {
				walk(path+"[]", item)
			}
		default: // a value
		}
	}
	walk("", &shown)
	for _, k := range config.Keys() {
		if strings.HasPrefix(k.Path, "server") && !have[k.Path] {
			t.Errorf("%s is not shown in\n%s", k.Path, text)
		}
	}
	for _, secret := range []string{"secret-1", "2bb80d53", strings.Repeat("ab", 32)} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%q is shown:\n%s", secret, text)
		}
	}
}
