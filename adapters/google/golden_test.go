package google

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
)

func TestGolden(t *testing.T) { adaptertest.Run(t, New(), "testdata") }

func TestRecordings(t *testing.T) { adaptertest.Recordings(t, New(), geminiAPI) }

func TestVertexRecordings(t *testing.T) { adaptertest.Recordings(t, NewVertex(), vertexAPI) }

func TestCases(t *testing.T) { adaptertest.Cases(t, New()) }
