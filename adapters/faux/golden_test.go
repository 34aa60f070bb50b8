package faux_test

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/adaptertest"
	"github.com/llmd-dev/llmd/adapters/faux"
)

func TestGolden(t *testing.T) { adaptertest.Run(t, faux.New(), "testdata") }
