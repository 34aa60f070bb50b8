package web

import (
	"net/http"
	"testing"

	"connectrpc.com/connect"
)

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
