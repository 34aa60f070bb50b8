package security

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// delays are what RetryInfo and the pushback say, -1 = nothing.
func delays(err error, trailer metadata.MD) (retry, pushback time.Duration) {
	retry, pushback = -1, -1
	for _, d := range status.Convert(err).Details() {
		if i, ok := d.(*errdetails.RetryInfo); ok {
			retry = i.GetRetryDelay().AsDuration()
		}
	}
	if v := trailer.Get("grpc-retry-pushback-ms"); len(v) == 1 {
		if ms, err := strconv.Atoi(v[0]); err == nil {
			pushback = time.Duration(ms) * time.Millisecond
		}
	}
	return retry, pushback
}

func longStream(ctx context.Context, t *testing.T, conn *grpc.ClientConn) grpc.ServerStreamingClient[llmdv1.StreamResponse] {
	t.Helper()
	s, err := llmdv1.NewInferenceServiceClient(conn).Stream(ctx, &llmdv1.StreamRequest{
		RequestId: "long", Generation: harness.Ask("faux/echo", `faux: {"text": "word ", "repeat": 1000, "delay_ms": 20}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	return s
}

func models(ctx context.Context, conn *grpc.ClientConn) (metadata.MD, error) {
	var trailer metadata.MD
	_, err := llmdv1.NewModelServiceClient(conn).ListModels(ctx, &llmdv1.ListModelsRequest{PageSize: 1}, grpc.Trailer(&trailer))
	return trailer, err
}

func TestCallerLimits(t *testing.T) {
	a := newAuthority(t, "ca")
	text := strings.Replace(guarded(t, a, ""), "{name: alice,", "{name: alice, limits: {concurrent_calls: 1},", 1)
	text = strings.Replace(text, "{name: bob,", "{name: bob, limits: {requests_per_second: 0.5, burst: 2},", 1)
	l := start(t, text)
	conn := dial(t, l.tcp, a.trusts())

	running := longStream(with(t, aliceToken), t, conn)
	trailer, err := models(with(t, aliceToken), conn)
	want(t, "a second call at a time", err, codes.ResourceExhausted, "TENANT_QUOTA")
	if retry, pushback := delays(err, trailer); retry != time.Second || pushback != time.Second {
		t.Errorf("retry %v, pushback %v", retry, pushback)
	}
	// What ends a call is never refused for the calls that run.
	_, err = llmdv1.NewInferenceServiceClient(conn).Abort(with(t, aliceToken), &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: "long"}})
	want(t, "an abort", err, codes.OK, "")
	for err = nil; err == nil; {
		_, err = running.Recv()
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err = models(with(t, aliceToken), conn); err == nil || time.Now().After(deadline) {
			break
		}
	}
	want(t, "when the first has ended", err, codes.OK, "")

	// bob has two calls at once, and then one each two seconds.
	for range 2 {
		_, err := models(with(t, bobToken), conn)
		want(t, "within the burst", err, codes.OK, "")
	}
	trailer, err = models(with(t, bobToken), conn)
	want(t, "over the burst", err, codes.ResourceExhausted, "TENANT_QUOTA")
	retry, pushback := delays(err, trailer)
	if retry < time.Second || retry > 2*time.Second || pushback < retry || pushback > retry+time.Millisecond {
		t.Errorf("retry %v, pushback %v", retry, pushback)
	}
	time.Sleep(retry)
	_, err = models(with(t, bobToken), conn)
	want(t, "after the wait that was named", err, codes.OK, "")
	// One caller's limit is not another's.
	_, err = models(with(t, aliceToken), conn)
	want(t, "another caller", err, codes.OK, "")
}

func TestServerLimits(t *testing.T) {
	a := newAuthority(t, "ca")
	l := start(t, guarded(t, a, "  limits: {concurrent_calls: 1, request_bytes: 1 MiB}\n"))
	conn := dial(t, l.tcp, a.trusts())
	ctx, cancel := context.WithCancel(with(t, aliceToken))
	defer cancel()
	longStream(ctx, t, conn)
	for range 5 {
		trailer, err := models(with(t, bobToken), conn)
		want(t, "a second call", err, codes.Unavailable, "SERVER_OVERLOADED")
		retry, pushback := delays(err, trailer)
		if retry < 100*time.Millisecond || retry > time.Second || pushback < retry || pushback > retry+time.Millisecond {
			t.Errorf("retry %v, pushback %v", retry, pushback)
		}
	}
	cancel()

	l = start(t, guarded(t, a, "  limits: {request_bytes: 1 MiB}\n"))
	conn = dial(t, l.tcp, a.trusts())
	large := harness.Ask("faux/echo", strings.Repeat("word ", 250_000)) // over 1 MiB
	client := llmdv1.NewInferenceServiceClient(conn)
	// Alone it is taken, whatever its size: max_receive_bytes is the limit for that.
	if _, err := client.PrepareContext(with(t, aliceToken), &llmdv1.PrepareContextRequest{Generation: large}); err != nil {
		t.Error(err)
	}
	longStream(with(t, aliceToken), t, conn)
	_, err := client.PrepareContext(with(t, aliceToken), &llmdv1.PrepareContextRequest{Generation: large})
	want(t, "a large request besides another", err, codes.Unavailable, "SERVER_OVERLOADED")
	s, err := client.Stream(with(t, bobToken), &llmdv1.StreamRequest{Generation: large})
	if err == nil {
		_, err = s.Recv()
	}
	want(t, "a large stream besides another", err, codes.Unavailable, "SERVER_OVERLOADED")
	want(t, "a small one", ask(with(t, aliceToken), conn, "faux/echo"), codes.OK, "")
}
