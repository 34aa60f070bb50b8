package upstream

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"
)

// tokenTimeout bounds one question to a token service.
const tokenTimeout = 30 * time.Second

// fetcher asks a cloud for tokens, one question at a time.
type fetcher struct{ flight singleflight.Group }

// apply puts a token on a request. One goroutine fetches for all; a caller who leaves
// does not stop it, and its time limit does not depend on whoever came first.
func (f *fetcher) apply(ctx context.Context, r *http.Request, fetch func(context.Context) (string, error), explain func(error) error) error {
	done := f.flight.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenTimeout)
		defer cancel()
		return fetch(ctx)
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case result := <-done:
		token, ok := result.Val.(string)
		if result.Err != nil || !ok {
			return explain(result.Err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

// bodyOf reads what there may be of an answer's body.
func bodyOf(r *http.Response) []byte {
	const most = 64 << 10
	if r == nil || r.Body == nil {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, most)) // a part will do
	return body
}

// refusalWord is the word of OAuth for why a token was refused: RFC 6749, section 5.2.
func refusalWord(body []byte) string {
	const most = 40
	var answer struct{ Error string }
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	return answer.Error[:min(len(answer.Error), most)]
}
