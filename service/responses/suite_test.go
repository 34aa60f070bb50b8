package responses_test

import (
	"testing"

	"github.com/llmd-dev/llmd/service/responses"
	"github.com/llmd-dev/llmd/service/responses/storetest"
)

func TestRegistryIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (here, there responses.Store) {
		r := responses.New(true)
		t.Cleanup(r.Close)
		return r, r
	})
}
