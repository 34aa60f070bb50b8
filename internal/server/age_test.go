package server

import (
	"testing"
	"time"

	"github.com/llmd-dev/llmd/internal/config"
)

// Contract section 4: half an hour behind a load balancer, for ever beside the client,
// and never a hard end before the longest stream's.
func TestConnectionAge(t *testing.T) {
	local := []config.Address{{Network: "unix", Address: "/run/llmd.sock"}, {Network: "tcp", Address: "127.0.0.1:1"}}
	open := []config.Address{{Network: "unix", Address: "/run/llmd.sock"}, {Network: "tcp", Address: "0.0.0.0:1"}}
	for _, c := range []struct {
		listen []config.Address
		set    time.Duration
		want   time.Duration
	}{
		{local, 0, 0},
		{open, 0, 30 * time.Minute},
		{open, -1, 0},
		{local, 5 * time.Minute, 5 * time.Minute},
		{open, 5 * time.Minute, 5 * time.Minute},
	} {
		if got := ageOf(config.Server{Listen: c.listen, MaxConnectionAge: c.set}); got != c.want {
			t.Errorf("%v, %v: %v, want %v", c.listen, c.set, got, c.want)
		}
	}
	if connectionGrace < 65*time.Minute {
		t.Error("streams may take an hour")
	}
}
