package mistral_test

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/mistral"
)

func TestGolden(t *testing.T) { adaptertest.Run(t, mistral.New(), "testdata") }

func TestRecordings(t *testing.T) { adaptertest.Recordings(t, mistral.New(), "mistral") }
