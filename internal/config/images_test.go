package config_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/llmd-dev/llmd/internal/config"
)

func TestImages(t *testing.T) {
	f := parse(t, "server:\n  images:\n    allow_hosts: [files.lab, 10.1.0.0/16, 10.0.0.5, '[fd00::5]', 'fd00::/8', localhost]\n    disabled: true\n")
	want := []string{"files.lab", "10.1.0.0/16", "10.0.0.5", "[fd00::5]", "fd00::/8", "localhost"}
	if got := f.Server.Images; !slices.Equal(got.AllowHosts, want) || !got.Disabled {
		t.Errorf("images = %+v", got)
	}
	if got := config.Default().Server.Images; len(got.AllowHosts) > 0 || got.Disabled {
		t.Errorf("by default, images = %+v", got)
	}
	for _, bad := range []string{
		"http://files.lab", "files.lab:80", "'*.lab'", "10.0.0.0/33", "256.0.0.1", "10.1", "a..b", "files lab", "'fe80::1%eth0'", "'[fd00::5'", "'[10.0.0.5]'", "münchen.lab",
	} {
		_, err := config.Parse("f", []byte("server:\n  images:\n    allow_hosts:\n      - a\n      - "+bad+"\n"), env())
		var e *config.ParseError
		if !errors.As(err, &e) || e.Line != 5 || e.Key != "server.images.allow_hosts[1]" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
