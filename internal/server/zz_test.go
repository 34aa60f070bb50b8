package server

import (
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func TestZZ(t *testing.T) {
	text, _ := proto.Marshal(conversation(60))
	rnd := rand.New(rand.NewPCG(1, 3))
	ok := 0
	for i := range 200000 {
		in := append([]byte(nil), text...)
		for range 1 + rnd.IntN(4) {
			in[rnd.IntN(len(in))] = byte(rnd.IntN(256))
		}
		begun := time.Now()
		want, got := &llmdv1.StreamRequest{}, &llmdv1.StreamRequest{}
		wantErr := proto.Unmarshal(in, want)
		gotErr := unmarshalLarge(frames(in, 1+rnd.IntN(30)), got, uint64(rnd.IntN(100)))
		if (wantErr == nil) != (gotErr == nil) && !hasGroup(in) || wantErr == nil && gotErr == nil && !proto.Equal(want, got) {
			t.Fatalf("%d: %v %v %q", i, wantErr, gotErr, in)
		}
		if wantErr == nil {
			ok++
		}
		if d := time.Since(begun); d > time.Second {
			t.Fatalf("%v", d)
		}
	}
	t.Log(ok)
}
