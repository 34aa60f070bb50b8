package anthropic

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
)

func TestGolden(t *testing.T) { adaptertest.Run(t, New(), "testdata") }

func TestRecordings(t *testing.T) { adaptertest.Recordings(t, New(), apiID) }

func TestCases(t *testing.T) { adaptertest.Cases(t, New()) }
