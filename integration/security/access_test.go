package security

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

const (
	batchURI = "spiffe://example.test/batch"
	callers  = `  auth:
    tokens:
      - {name: alice, sha256: ` + "ALICE" + `}
      - {name: bob, sha256: ` + "BOB" + `, models: [faux/echo, "lab/*"], providers: [faux, openai]}
    mtls:
      - {name: batch, uri_san: "` + batchURI + `"}
      - {name: ops, common_name: ops}
`
)

// guarded is a configuration with both callers, TLS on TCP and a socket.
func guarded(t *testing.T, a *authority, more string) string {
	t.Helper()
	dir := t.TempDir()
	auth := strings.NewReplacer("ALICE", digest(aliceToken), "BOB", digest(bobToken)).Replace(callers)
	return "server:\n  listen: ['tcp://127.0.0.1:0', 'unix://" + filepath.Join(dir, "s") + "']\n  drain_timeout: 1s\n  tls: " + a.files(t, dir) + "}\n" + auth + more
}

// call makes one call of any method with an empty message, and gives its error and
// its trailer.
func call(ctx context.Context, conn *grpc.ClientConn, method string, streams bool) (metadata.MD, error) {
	var trailer metadata.MD
	if !streams {
		err := conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}, grpc.Trailer(&trailer))
		return trailer, err
	}
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return nil, err
	}
	_ = s.SendMsg(&emptypb.Empty{})
	_ = s.CloseSend()
	err = s.RecvMsg(&emptypb.Empty{})
	return s.Trailer(), err
}

// Every method of every service but health wants credentials, and the right ones.
func TestEveryMethod(t *testing.T) {
	a := newAuthority(t, "ca")
	l := start(t, guarded(t, a, ""))
	conn := dial(t, l.tcp, a.trusts())
	methods := map[string]bool{reflectionv1.ServerReflection_ServerReflectionInfo_FullMethodName: true}
	for _, d := range []grpc.ServiceDesc{llmdv1.InferenceService_ServiceDesc, llmdv1.ModelService_ServiceDesc} {
		for _, m := range d.Methods {
			methods["/"+d.ServiceName+"/"+m.MethodName] = false
		}
		for _, m := range d.Streams {
			methods["/"+d.ServiceName+"/"+m.StreamName] = true
		}
	}
	if len(methods) < 8 {
		t.Fatalf("%d methods", len(methods))
	}
	wrong := map[string][]string{
		"no credentials":    nil,
		"a wrong token":     {"Bearer " + aliceToken + "x"},
		"an empty token":    {"Bearer "},
		"the digest":        {"Bearer " + digest(aliceToken)},
		"another scheme":    {"Basic " + aliceToken},
		"no scheme":         {aliceToken},
		"two tokens":        {"Bearer " + aliceToken, "Bearer " + aliceToken},
		"two tokens as one": {"Bearer " + aliceToken + ", Bearer " + aliceToken},
	}
	for method, streams := range methods {
		for name, values := range wrong {
			ctx := metadata.NewOutgoingContext(limited(t), metadata.MD{"authorization": values})
			trailer, err := call(ctx, conn, method, streams)
			want(t, method+" with "+name, err, codes.Unauthenticated, "UNAUTHENTICATED")
			if got := trailer.Get("grpc-retry-pushback-ms"); !slices.Equal(got, []string{"-1"}) {
				t.Errorf("%s with %s: pushback %v", method, name, got)
			}
		}
		for _, scheme := range []string{"Bearer ", "bearer "} {
			_, err := call(metadata.AppendToOutgoingContext(limited(t), "authorization", scheme+aliceToken), conn, method, streams)
			if status.Code(err) == codes.Unauthenticated {
				t.Errorf("%s with the right token: %v", method, err)
			}
		}
	}
	// Probes need no credentials, and learn nothing else.
	if _, err := healthv1.NewHealthClient(conn).Check(limited(t), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
	if !strings.Contains(l.log.String(), "reason=UNAUTHENTICATED") || !strings.Contains(l.log.String(), "caller=alice") {
		t.Errorf("the log does not say who called, or why a call was refused:\n%.2000s", l.log)
	}
}

// A Unix socket is open unless the configuration says otherwise. A wrong token is
// wrong there, too.
func TestUnixSocket(t *testing.T) {
	a := newAuthority(t, "ca")
	l := start(t, guarded(t, a, ""))
	conn := dial(t, l.unix, nil)
	want(t, "no token", ask(limited(t), conn, "faux/echo"), codes.OK, "")
	want(t, "a token", ask(with(t, aliceToken), conn, "faux/echo"), codes.OK, "")
	want(t, "a wrong token", ask(with(t, "x"), conn, "faux/echo"), codes.Unauthenticated, "UNAUTHENTICATED")

	l = start(t, guarded(t, a, "    unix_socket: required\n"))
	conn = dial(t, l.unix, nil)
	want(t, "required: no token", ask(limited(t), conn, "faux/echo"), codes.Unauthenticated, "UNAUTHENTICATED")
	want(t, "required: a token", ask(with(t, aliceToken), conn, "faux/echo"), codes.OK, "")
}

// The kernel says who opened a Unix socket. Its word gives a name, and the models that
// go with it.
func TestUnixUsers(t *testing.T) {
	a := newAuthority(t, "ca")
	me := strconv.Itoa(os.Getuid())
	l := start(t, guarded(t, a, "    unix_socket: required\n    unix_users: [{name: me, uid: "+me+`, models: ["faux/echo"]}]`+"\n"))
	conn := dial(t, l.unix, nil)
	want(t, "the user", ask(limited(t), conn, "faux/echo"), codes.OK, "")
	want(t, "another model", ask(limited(t), conn, "faux/think"), codes.PermissionDenied, "MODEL_NOT_ALLOWED")
	want(t, "a wrong token", ask(with(t, "x"), conn, "faux/echo"), codes.Unauthenticated, "UNAUTHENTICATED")
	want(t, "over TCP", ask(limited(t), dial(t, l.tcp, a.trusts()), "faux/echo"), codes.Unauthenticated, "UNAUTHENTICATED")
	if !strings.Contains(l.log.String(), "caller=me") {
		t.Errorf("the log does not say who called:\n%.2000s", l.log)
	}

	l = start(t, guarded(t, a, "    unix_socket: required\n    unix_users: [{name: other, uid: 4294967294}]\n"))
	err := ask(limited(t), dial(t, l.unix, nil), "faux/echo")
	want(t, "a stranger", err, codes.Unauthenticated, "UNAUTHENTICATED")
	if !strings.Contains(err.Error(), "over this socket user "+me+" needs a bearer token") {
		t.Errorf("the stranger is not told who it is: %v", err)
	}
}

// A response belongs to its caller. To others it does not exist.
func TestOthersResponses(t *testing.T) {
	a := newAuthority(t, "ca")
	l := start(t, guarded(t, a, ""))
	conn := dial(t, l.tcp, a.trusts())
	client := llmdv1.NewInferenceServiceClient(conn)
	batch := llmdv1.NewInferenceServiceClient(dial(t, l.tcp, a.trusts(a.client(t, batchURI, time.Time{}))))
	socket := llmdv1.NewInferenceServiceClient(dial(t, l.unix, nil))
	request := &llmdv1.StreamRequest{RequestId: "mine", Generation: harness.Ask("faux/echo", `faux: {"text": "word ", "repeat": 1000, "delay_ms": 20}`)}
	stream, err := client.Stream(with(t, aliceToken), request)
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	id := first.GetStarted().GetResponseId()
	strangers := map[string]struct {
		ctx context.Context //nolint:containedctx // of one stranger
		c   llmdv1.InferenceServiceClient
	}{"bob": {with(t, bobToken), client}, "batch": {limited(t), batch}, "the socket": {limited(t), socket}}
	for name, s := range strangers {
		for _, byID := range []bool{true, false} {
			get, abort := &llmdv1.GetResponseRequest{}, &llmdv1.AbortRequest{}
			if byID {
				get.Target, abort.Target = &llmdv1.GetResponseRequest_ResponseId{ResponseId: id}, &llmdv1.AbortRequest_ResponseId{ResponseId: id}
			} else {
				get.Target, abort.Target = &llmdv1.GetResponseRequest_RequestId{RequestId: "mine"}, &llmdv1.AbortRequest_RequestId{RequestId: "mine"}
			}
			_, err := s.c.GetResponse(s.ctx, get)
			want(t, name+" reads", err, codes.NotFound, "RESPONSE_NOT_FOUND")
			_, err = s.c.Abort(s.ctx, abort)
			want(t, name+" aborts", err, codes.NotFound, "RESPONSE_NOT_FOUND")
		}
	}
	// The same request id is another response: nothing is replayed. It was aborted
	// above, before it began, so it ends at once.
	other, err := client.Stream(with(t, bobToken), request)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := other.Recv(); err != nil || e.GetStarted().GetResponseId() == id {
		t.Errorf("a stranger's request joined the response: %v, %v", e, err)
	}
	// The owner is not disturbed, and may do all of it.
	owned, err := client.Abort(with(t, aliceToken), &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_ResponseId{ResponseId: id}})
	if err != nil || owned.GetAlreadyFinished() || owned.GetMessage().GetResponseId() != id {
		t.Errorf("the owner aborts: %v, %v", owned, err)
	}
	if _, err := client.GetResponse(with(t, aliceToken), &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_RequestId{RequestId: "mine"}}); err != nil {
		t.Errorf("the owner reads: %v", err)
	}
}

// bob may use faux/echo alone (and models of lab, but not that provider).
func TestAllowedModels(t *testing.T) {
	a := newAuthority(t, "ca")
	l := start(t, guarded(t, a, "providers:\n  - {id: lab, api: faux, base_url: 'http://127.0.0.1:1', allow_unlisted_models: true, models: [{id: m, aliases: [echoes]}]}\n"))
	conn := dial(t, l.tcp, a.trusts())
	inference, models := llmdv1.NewInferenceServiceClient(conn), llmdv1.NewModelServiceClient(conn)
	for model, reason := range map[string]string{
		"faux/echo": "", "providers/faux/models/echo": "",
		"faux/agent": "MODEL_NOT_ALLOWED", "lab/m": "MODEL_NOT_ALLOWED", "echoes": "MODEL_NOT_ALLOWED", "lab/echoes": "MODEL_NOT_ALLOWED",
		"lab/faux/echo": "MODEL_NOT_ALLOWED", "providers/lab/models/m": "MODEL_NOT_ALLOWED", "faux/ech": "MODEL_NOT_FOUND",
	} {
		code := map[string]codes.Code{"": codes.OK, "MODEL_NOT_ALLOWED": codes.PermissionDenied, "MODEL_NOT_FOUND": codes.NotFound}[reason]
		g := harness.Ask(model, "Hello.")
		_, err := inference.Complete(with(t, bobToken), &llmdv1.CompleteRequest{Generation: g})
		want(t, "Complete "+model, err, code, reason)
		stream, err := inference.Stream(with(t, bobToken), &llmdv1.StreamRequest{Generation: g})
		if err == nil {
			_, err = stream.Recv()
		}
		want(t, "Stream "+model, err, code, reason)
		_, err = inference.PrepareContext(with(t, bobToken), &llmdv1.PrepareContextRequest{Generation: g})
		want(t, "PrepareContext "+model, err, code, reason)
		_, err = models.GetModel(with(t, bobToken), &llmdv1.GetModelRequest{Name: model})
		want(t, "GetModel "+model, err, code, reason)
		if err != nil && strings.Contains(err.Error(), "did you mean") {
			t.Errorf("a hint: %v", err)
		}
		if reason != "" && reason != "MODEL_NOT_FOUND" {
			g = harness.Ask("faux/echo", "Hello.")
			g.FallbackModels = []string{model}
			_, err = inference.Complete(with(t, bobToken), &llmdv1.CompleteRequest{Generation: g})
			want(t, "fallback "+model, err, code, reason)
		}
	}
	list, err := models.ListModels(with(t, bobToken), &llmdv1.ListModelsRequest{})
	if err != nil || len(list.GetModels()) != 1 || list.GetModels()[0].GetName() != "providers/faux/models/echo" {
		t.Errorf("ListModels: %v, %v", list, err)
	}
	hosts, err := models.ListProviders(with(t, bobToken), &llmdv1.ListProvidersRequest{})
	for _, p := range hosts.GetProviders() {
		if p.GetId() != "faux" && p.GetId() != "openai" {
			t.Errorf("ListProviders shows %s", p.GetId())
		}
	}
	if err != nil || len(hosts.GetProviders()) != 2 {
		t.Errorf("ListProviders: %v, %v", hosts, err)
	}
	all, err := models.ListModels(with(t, aliceToken), &llmdv1.ListModelsRequest{PageSize: 1000})
	if err != nil || len(all.GetModels()) < 10 {
		t.Errorf("alice sees %d models, %v", len(all.GetModels()), err)
	}
}

// Tokens come and go without a restart; a file that would let everybody in is not
// taken.
func TestReloadOfCallers(t *testing.T) {
	a := newAuthority(t, "ca")
	text := guarded(t, a, "")
	l := start(t, text)
	conn := dial(t, l.tcp, a.trusts())
	want(t, "before", ask(with(t, aliceToken), conn, "faux/echo"), codes.OK, "")
	write(t, l.path, strings.Replace(text, digest(aliceToken), digest("new"), 1))
	if err := l.app.Reload(); err != nil {
		t.Fatal(err)
	}
	want(t, "a token that is gone", ask(with(t, aliceToken), conn, "faux/echo"), codes.Unauthenticated, "UNAUTHENTICATED")
	want(t, "a new one", ask(with(t, "new"), conn, "faux/echo"), codes.OK, "")
	if strings.Contains(l.log.String(), "next start") {
		t.Errorf("log:\n%s", l.log)
	}
	write(t, l.path, "server: {auth: {tokens: [{name: x}]}}\n")
	if err := l.app.Reload(); err == nil {
		t.Error("a bad file was taken")
	}
	want(t, "after a bad file", ask(with(t, "new"), conn, "faux/echo"), codes.OK, "")
	want(t, "after a bad file", ask(limited(t), conn, "faux/echo"), codes.Unauthenticated, "UNAUTHENTICATED")
}
