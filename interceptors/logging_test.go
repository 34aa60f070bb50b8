package interceptors

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/llmd-dev/llmd/internal/calllog"
)

// TestCallLog: a call's line has what the handler recorded and no word of the
// status.
func TestCallLog(t *testing.T) {
	for _, c := range []struct {
		method string
		code   codes.Code
		want   []string
		absent []string
	}{
		{"/llmd.v1.InferenceService/Stream", codes.Unavailable, []string{"level=INFO", "method=llmd.v1.InferenceService/Stream", "code=Unavailable", "reason=PROVIDER_ERROR"}, []string{"the prompt said"}},
		{"/llmd.v1.InferenceService/Stream", codes.Internal, []string{"level=ERROR"}, []string{"the prompt said"}},
		{"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", codes.OK, nil, []string{"reflection"}},
	} {
		var out bytes.Buffer
		report, ctx := callLog(slog.New(slog.NewTextHandler(&out, nil)))(context.Background(), interceptors.NewServerCallMeta(c.method, nil, nil))
		calllog.From(ctx).Add(slog.String("reason", "PROVIDER_ERROR"))
		report.PostCall(status.Error(c.code, "the prompt said so"), time.Millisecond)
		for _, w := range c.want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%s %v: no %q in %s", c.method, c.code, w, out.String())
			}
		}
		for _, w := range c.absent {
			if strings.Contains(out.String(), w) {
				t.Errorf("%s %v: %q in %s", c.method, c.code, w, out.String())
			}
		}
	}
}
