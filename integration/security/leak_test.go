package security

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

const (
	hostKey   = "sk-host-0123456789abcdef0123" // llmd's own, for the provider
	callerKey = "sk-call-fedcba98765432100123" // a caller's, for the provider
	words     = "xyzzy-what-the-user-said"
	answers   = "plugh-what-the-provider-said"
)

// gossip is a provider that repeats all that it was told: in a message it names the
// key, as some do, and around the message it repeats everything.
func gossip(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + r.Header.Get("Api-Key") + r.Header.Get("X-Goog-Api-Key")
		mode, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		told, _ := json.Marshal(string(body) + key + answers)
		message := "The request failed (api_key=%s)."
		if mode == "status401" {
			message = "Incorrect API key provided: %s."
		}
		whole := fmt.Sprintf(`{"error":{"type":"failed","message":"`+message+`","debug":%s}}`, strings.TrimPrefix(key, "Bearer "), told)
		w.Header().Set("X-Request-Id", "req-1")
		w.Header().Set("X-Debug", key)
		w.Header().Set("Retry-After-Ms", "1")
		var code int
		switch _, err := fmt.Sscanf(mode, "status%d", &code); {
		case err == nil:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, whole)
		case mode == "html":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = fmt.Fprintf(w, "<html><body><pre>%s</pre></body></html>", told)
		case mode == "redirect":
			http.Redirect(w, r, "http://127.0.0.1:1/?key="+key, http.StatusTemporaryRedirect)
		case mode == "garbage":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {%s\n\n", told)
		case mode == "event":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: error\ndata: %s\n\n", whole)
		case mode == "after": // it says more than its answer has room for
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}"+string(told))
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}
		default: // the connection breaks
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestNothingLeaks feeds known secrets and words through every RPC and many
// failures. Neither is in the log; the statuses have no secret, and no word that a
// provider repeated.
func TestNothingLeaks(t *testing.T) {
	host := gossip(t)
	a := newAuthority(t, "ca")
	var providers strings.Builder
	var models []string
	add := func(id, api, base, more string) {
		fmt.Fprintf(&providers, "  - {id: %s, api: %s, base_url: '%s', api_key: %s, allow_unlisted_models: true%s}\n", id, api, base, hostKey, more)
		models = append(models, id+"/m")
	}
	places := map[string]string{ // what some APIs need to know beside
		"anthropic-messages": "", "openai-completions": "", "openai-responses": "", "google-generative-ai": "", "mistral-conversations": "", "faux": "",
		"azure-openai-responses": "", "google-vertex": ", project: p, location: global", "bedrock-converse-stream": ", region: us-east-1",
	}
	for api, place := range places {
		for _, mode := range []string{"status400", "status401", "status403", "status404", "status413", "status418", "status429", "status500", "status503", "status529", "html", "redirect", "garbage", "event", "after", "cut"} {
			add(api+"-"+mode, api, host.URL+"/"+mode, place)
		}
		add(api+"-gone", api, "http://127.0.0.1:1", place)
		add(api+"-proxy", api, host.URL+"/cut", place+", proxy: 'http://user:"+hostKey+"@127.0.0.1:1'")
	}
	for _, word := range []string{"rate_limit", "quota", "auth", "permission", "not_found", "context", "too_large", "html", "before", "mid-stream", "refusal", "truncate", "reset", "malformed", "server", "overloaded"} {
		models = append(models, "faux/error#"+word)
	}
	models = append(models, "faux/echo", "faux/agent", words+"/"+words, "faux/"+words, words)
	exported := receiver(t)
	l := start(t, guarded(t, a, "  log_level: debug\n  admin: {listen: 'tcp://127.0.0.1:0', pprof: true, channelz: true}\n  telemetry: {gen_ai: both, callers: true}\n  caller_keys: {allow: true}\nproviders:\n"+providers.String()))
	conn := dial(t, l.tcp, a.trusts())
	w := &watch{t: t, llmd: llmdv1.NewInferenceServiceClient(conn), models: llmdv1.NewModelServiceClient(conn), reasons: map[string]int{}}
	for _, name := range models {
		model, script, _ := strings.Cut(name, "#")
		prompt := words
		if script != "" {
			prompt = script
		}
		w.said = !strings.Contains(model, words) && script == "" && model != "faux/echo" && model != "faux/agent"
		w.all(name, model, prompt)
	}
	w.images()
	for _, token := range []string{"", callerKey} { // refused calls, too
		w.all("refused", "faux/echo", words, token)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(l.log.String(), "Unsolicited response") && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	log := l.log.String()
	for _, page := range []string{"/", "/healthz", "/readyz", "/metrics", "/loglevel", "/config", "/channelz", "/debug/pprof/goroutine?debug=2"} {
		text := adminPage(t, l.admin+page)
		clean(t, "the page "+page, text)
		if page == "/metrics" && (strings.Count(text, "\nllmd_upstream_attempts_total{") < 20 || !strings.Contains(text, "\nllmd_tls_expiry_time_seconds 1.")) {
			t.Errorf("the metrics have little to tell:\n%s", text)
		}
	}
	l.stop()
	clean(t, "what is exported", exported.String())
	if n := exported.Len(); n < 100_000 {
		t.Errorf("only %d bytes are exported", n)
	}
	for _, event := range []string{"gen_ai.client.inference.exception", "gen_ai.client.operation.exception"} {
		if n := strings.Count(exported.String(), event); n < len(models) {
			t.Errorf("only %d times %s is exported", n, event)
		}
	}
	for _, bad := range []string{hostKey, callerKey, aliceToken, bobToken, words, answers, harness.Canary, digest(aliceToken)} {
		if i := strings.Index(log, bad); i >= 0 {
			t.Errorf("the log holds %q: %s", bad, log[max(0, i-300):min(len(log), i+100)])
		}
	}
	if !strings.Contains(log, "Unsolicited response") {
		t.Error("what net/http says of a provider that goes on after its answer is not in the log")
	}
	if n := strings.Count(log, "msg=call"); n < 4*len(models) || len(w.reasons) < 20 {
		t.Errorf("%d lines of calls for %d models, reasons %v", n, len(models), w.reasons)
	}
}

// watch calls, and looks at what comes back.
type watch struct {
	t      *testing.T
	llmd   llmdv1.InferenceServiceClient
	models llmdv1.ModelServiceClient
	// said: what comes back has no word of the conversation.
	said    bool
	reasons map[string]int
	calls   int
}

func (w *watch) all(what, model, prompt string, token ...string) {
	w.t.Helper()
	ctx := with(w.t, aliceToken)
	if len(token) > 0 {
		ctx = with(w.t, token[0])
	}
	provider, _, _ := strings.Cut(model, "/")
	ctxs := []context.Context{ctx}
	if !strings.Contains(provider, words) {
		ctxs = append(ctxs, metadata.AppendToOutgoingContext(ctx, "llmd-provider-key-"+provider, callerKey))
	}
	g := harness.Ask(model, prompt, "look")
	g.Context.SystemPrompt += words
	if strings.Contains(model, "status5") { // a retry and a fallback, which fail alike
		g.Retry, g.FallbackModels = &llmdv1.RetryPolicy{MaxRetries: 1}, []string{model}
	}
	for _, ctx := range ctxs {
		var trailer metadata.MD
		w.calls++
		id := fmt.Sprint("request-", w.calls)
		r, err := w.llmd.Complete(ctx, &llmdv1.CompleteRequest{Generation: g}, grpc.Trailer(&trailer))
		w.look(what+" Complete", r, err, trailer)
		s, err := w.llmd.Stream(ctx, &llmdv1.StreamRequest{RequestId: id, Generation: g})
		for err == nil {
			var e *llmdv1.StreamResponse
			if e, err = s.Recv(); err == nil {
				w.look(what+" event", e, nil, nil)
			}
		}
		w.look(what+" Stream", nil, err, s.Trailer())
		p, err := w.llmd.PrepareContext(ctx, &llmdv1.PrepareContextRequest{Generation: g}, grpc.Trailer(&trailer))
		said := w.said
		w.said = false // it shows the request
		w.look(what+" PrepareContext", p, err, trailer)
		w.said = said
		got, err := w.llmd.GetResponse(ctx, &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_RequestId{RequestId: id}}, grpc.Trailer(&trailer))
		w.look(what+" GetResponse", got, err, trailer)
		aborted, err := w.llmd.Abort(ctx, &llmdv1.AbortRequest{Target: &llmdv1.AbortRequest_RequestId{RequestId: id}, Reason: "because"}, grpc.Trailer(&trailer))
		w.look(what+" Abort", aborted, err, trailer)
		m, err := w.models.GetModel(ctx, &llmdv1.GetModelRequest{Name: model}, grpc.Trailer(&trailer))
		w.look(what+" GetModel", m, err, trailer)
	}
	list, err := w.models.ListModels(ctx, &llmdv1.ListModelsRequest{Filter: words})
	w.look(what+" ListModels", list, err, nil)
	hosts, err := w.models.ListProviders(ctx, &llmdv1.ListProvidersRequest{})
	w.look(what+" ListProviders", hosts, err, nil)
}

// images are asked for at addresses that hold secrets and words.
func (w *watch) images() {
	for _, uri := range []string{
		"http://127.0.0.1:1/x.png?sig=" + callerKey + words, "http://user:" + callerKey + "@10.0.0.1/x.png#" + words,
		"http://localhost/" + "x.png?" + words,
	} {
		g := harness.Ask("faux/echo", words)
		u := g.Context.Messages[0].GetUser()
		u.Content = append(u.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: uri}}}})
		r, err := w.llmd.Complete(with(w.t, aliceToken), &llmdv1.CompleteRequest{Generation: g})
		w.said = true
		if err == nil {
			w.t.Errorf("an image at %s", uri)
		}
		w.look("image", r, err, nil)
	}
}

// look finds secrets and words in an answer, a status with its details, and a
// trailer.
func (w *watch) look(what string, m proto.Message, err error, trailer metadata.MD) {
	w.t.Helper()
	st := status.Convert(err)
	if err != nil {
		w.reasons[harness.ReasonOf(err)]++
		if harness.ReasonOf(err) == "" && !errors.Is(err, io.EOF) {
			w.t.Errorf("%s has no reason: %v", what, err)
		}
	}
	seen := prototext.Format(st.Proto()) + fmt.Sprint(st.Details()) + fmt.Sprint(map[string][]string(trailer))
	if m != nil {
		seen += prototext.Format(m)
	}
	bad := []string{hostKey, callerKey, aliceToken, bobToken, "127.0.0.1:1/?key"}
	if w.said {
		bad = append(bad, words, answers, harness.Canary)
	}
	for _, b := range bad {
		if i := strings.Index(seen, b); i >= 0 {
			w.t.Errorf("%s shows %q: %s", what, b, seen[max(0, i-300):min(len(seen), i+100)])
		}
	}
}
