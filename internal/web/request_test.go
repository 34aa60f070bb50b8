package web

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoregistry"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// TestParts: what makes memory is counted, and not what stands in texts.
func TestParts(t *testing.T) {
	for text, want := range map[string]int{
		``: 0, `{}`: 1, `[{},{},{}]`: 5, `{"a":1,"b":["x","y"]}`: 3, `{"a":"{,{\"{,\\"}`: 1, `{"a":"\`: 1, `{"a":"`: 1,
	} {
		if got := parts([]byte(text)); got != want {
			t.Errorf("%s has %d, want %d", text, got, want)
		}
	}
}

// TestManyParts: a request of very many parts is refused before they are made.
func TestManyParts(t *testing.T) {
	s := &Server{log: slog.New(slog.DiscardHandler)}
	codec := s.newJSONCodec(protoregistry.GlobalTypes)
	for n, refused := range map[int]bool{1000: false, mostParts: true} {
		m := &llmdv1.StreamRequest{}
		err := codec.Unmarshal([]byte(`{"generation":{"context":{"messages":[`+strings.Repeat("{},", n)+`{}]}}}`), m)
		if made := len(m.GetGeneration().GetContext().GetMessages()); refused != (err != nil) || refused != (made == 0) {
			t.Errorf("%d: %v, %d were made", n, err, made)
		}
		if said, ok := errors.AsType[*connect.Error](err); refused && (!ok || reasonOf(said) != "INVALID_REQUEST") {
			t.Errorf("%v", err)
		}
	}
}

// The forms are those of the two specifications.
func TestTimeLimit(t *testing.T) {
	const ok connect.Code = 0
	for _, tt := range []struct {
		media, header, limit string
		want                 connect.Code
	}{
		{"application/json", "Connect-Timeout-Ms", "", ok},
		{"application/json", "Connect-Timeout-Ms", "1", ok},
		{"application/connect+proto", "Connect-Timeout-Ms", "9999999999", ok},
		{"application/json", "Connect-Timeout-Ms", "10000000000", connect.CodeInvalidArgument},
		{"application/json", "Connect-Timeout-Ms", "1.5", connect.CodeInvalidArgument},
		{"application/json", "Connect-Timeout-Ms", "-5", connect.CodeInvalidArgument},
		{"application/json", "Connect-Timeout-Ms", "10m", connect.CodeInvalidArgument},
		{"application/json", "Connect-Timeout-Ms", "000", connect.CodeDeadlineExceeded},
		{"application/json", "Grpc-Timeout", "never", ok}, // not of this protocol
		{"application/grpc-web+proto", "Grpc-Timeout", "10m", ok},
		{"application/grpc-web", "Grpc-Timeout", "99999999n", ok},
		{"application/grpc-web", "Grpc-Timeout", "100000000n", connect.CodeInvalidArgument},
		{"application/grpc-web", "Grpc-Timeout", "10", connect.CodeInvalidArgument},
		{"application/grpc-web", "Grpc-Timeout", "S", connect.CodeInvalidArgument},
		{"application/grpc-web", "Grpc-Timeout", "1SS", connect.CodeInvalidArgument},
		{"application/grpc-web", "Grpc-Timeout", "1s", connect.CodeInvalidArgument},
		{"application/grpc-web", "Grpc-Timeout", "0S", connect.CodeDeadlineExceeded},
	} {
		got := ok
		if err := timeLimit(tt.media, http.Header{tt.header: {tt.limit}}); err != nil {
			got = err.Code()
		}
		if got != tt.want {
			t.Errorf("%s, %s: %q: %v, want %v", tt.media, tt.header, tt.limit, got, tt.want)
		}
	}
}
