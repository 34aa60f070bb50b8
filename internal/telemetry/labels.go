package telemetry

import (
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// word is a value of an enum as a label.
func word(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }

// stopReason is what an answer ended with; "error" for one that is not whole.
func stopReason(m *llmdv1.AssistantMessage) string {
	if m.GetStopReason() == llmdv1.StopReason_STOP_REASON_UNSPECIFIED {
		return "error"
	}
	return word(m.GetStopReason().String(), "STOP_REASON_")
}

// finishReason is the conventions' word for it: what is aborted, failed or cut is an
// error.
func finishReason(m *llmdv1.AssistantMessage) string {
	switch m.GetStopReason() {
	case llmdv1.StopReason_STOP_REASON_STOP:
		return "stop"
	case llmdv1.StopReason_STOP_REASON_LENGTH:
		return "length"
	case llmdv1.StopReason_STOP_REASON_TOOL_USE:
		return "tool_call"
	default:
		return finishError
	}
}

// label is a model's label in metrics: callers may invent ids where a provider takes
// any.
func (t *Telemetry) label(m *profile.Model) string {
	if m.Source == "default" {
		return Other
	}
	return m.ID
}

// seenModels bounds what providers may call their models.
type seenModels struct {
	mu  sync.Mutex
	all map[string]map[string]bool
}

// mostNames is how many names one model of a provider may have in labels: some move
// from one dated version to the next.
const mostNames = 4

func newSeenModels() *seenModels { return &seenModels{all: map[string]map[string]bool{}} }

// label is the name by which the provider calls the model that answered.
func (s *seenModels) label(m *profile.Model, name string) string {
	// First of all, as a provider may repeat what a caller has made up.
	if m.Source == "default" {
		return Other
	}
	if name == m.ID {
		return name
	}
	if len(name) > 128 {
		return Other
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := s.all[m.Name()]
	if names == nil {
		names = map[string]bool{}
		s.all[m.Name()] = names
	}
	if !names[name] && len(names) >= mostNames {
		return Other
	}
	names[name] = true
	return name
}

// address is where a base URL leads; empty = it is none.
func address(base string) (host string, port int) {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return "", 0
	}
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return u.Hostname(), n
	}
	if u.Scheme == "http" {
		return u.Hostname(), 80
	}
	return u.Hostname(), 443
}
