package openairesponses

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/profile"
)

func TestGolden(t *testing.T) { adaptertest.Run(t, New(), "testdata") }

func TestRecordings(t *testing.T) { adaptertest.Recordings(t, New(), apiOpenAI) }

func TestCases(t *testing.T) { adaptertest.Cases(t, New()) }

// decode reads an answer.
func decode(body string) (*adaptertest.Folded, error) {
	return adaptertest.FoldBody(New(), adaptertest.NewCall(&profile.Model{ID: "m", Provider: "openai", API: apiOpenAI}), body)
}
