package upstream

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// Whatever its size, a body is given out again twice and no more: net/http would send
// a refused request for a minute.
func TestResent(t *testing.T) {
	for _, n := range []int{10, smallBody, smallBody + 1, 1 << 20} {
		var w jsonwire.Writer
		w.String(strings.Repeat("x", n))
		r := &http.Request{}
		(&sentBody{text: w.Body()}).attach(r)
		for i := range maxResent + 1 {
			if _, err := r.GetBody(); (err != nil) != (i == maxResent) || err != nil && !errors.Is(err, errRefused) {
				t.Errorf("%d bytes, again %d: %v", n, i+1, err)
			}
		}
	}
}
