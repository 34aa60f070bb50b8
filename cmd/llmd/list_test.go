package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/llmd-dev/llmd/adapters/faux/fauxserver"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/config"
)

func TestModels(t *testing.T) {
	code, out, errs := llmd(t, "models")
	if code != exitOK || !strings.Contains(errs, "models of providers without credentials are not shown") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	inOrder(t, out, "MODEL", "faux/agent", "text,image", "none,minimal,low,medium,high", "faux/echo")
	if strings.Contains(out, "anthropic/") {
		t.Error("models that cannot be used are listed")
	}
	_, all, _ := llmd(t, "models", "--all")
	inOrder(t, all, "anthropic/claude-", "faux/agent", "openai/gpt-")
	// Anthropic's list price: 5 and 25 dollars for a million tokens.
	code, out, _ = llmd(t, "models", "--provider", "anthropic")
	if code != exitOK || strings.Contains(out, "faux/") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	inOrder(t, out, "ALIASES\n", "anthropic/claude-haiku-4-5-20251001 ", "claude-haiku-4-5\n", "anthropic/claude-opus-4-6 ", "$5, $25")
	code, out, errs = llmd(t, "models", "--all", "Haiku-4-5")
	if code != exitOK || strings.Contains(out, "sonnet") || errs != "" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	inOrder(t, out, "amazon-bedrock/anthropic.claude-haiku-4-5", "anthropic/claude-haiku-4-5-20251001 ")
	if code, out, errs = llmd(t, "models", "no-such-model"); code != exitOK || out != "" || errs != "no model has \"no-such-model\" in its name\n" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	c := newCommand(t.Context(), "", "ANTHROPIC_API_KEY", "k")
	c.run("models")
	inOrder(t, c.out.String(), "anthropic/claude-", "faux/agent")
}

func TestModelsJSON(t *testing.T) {
	_, out, _ := llmd(t, "models", "--provider", "faux", "--json")
	var names []string
	for line := range strings.Lines(out) {
		var m llmdv1.Model
		if err := protojson.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		names = append(names, m.GetName())
	}
	if len(names) != 8 || names[0] != "providers/faux/models/agent" {
		t.Errorf("%v", names)
	}
}

// row finds the line about a provider.
func row(text, provider string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, provider+" ") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return ""
}

func TestCheck(t *testing.T) {
	path := writeFile(t, "llmd.yaml", `
providers:
  - {id: lab, api: openai-completions, base_url: "http://127.0.0.1:9/v1", api_key: sk-very-secret}
`)
	c := newCommand(t.Context(), "", "OPENAI_API_KEY", "sk-also-secret")
	if code := c.run("check", "--config", path); code != exitOK {
		t.Errorf("exit code %d\n%s", code, c.err.String())
	}
	out := c.out.String()
	for provider, want := range map[string]string{
		"lab":    "lab openai-completions 0 yes configuration -",
		"faux":   "faux faux 8 yes not needed -",
		"groq":   "no none set GROQ_API_KEY in the environment, or api_key in the configuration",
		"openai": "yes environment OPENAI_API_KEY -",
		"ollama": "ollama openai-completions 0+ no key needed not needed -",
		"azure":  "or api_key or auth: azure in the configuration; set AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME in the environment, or base_url in the configuration",
	} {
		if got := row(out, provider); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q at the end", provider, got, want)
		}
	}
	if strings.Contains(out, "secret") {
		t.Error("a key is shown")
	}
	inOrder(t, out, "zai", "\n+: any other model id is accepted", "\nno key needed: ")
}

func TestCheckJSON(t *testing.T) {
	c := newCommand(t.Context(), "", "OPENAI_API_KEY", "sk-secret")
	if code := c.run("check", "--json"); code != exitOK {
		t.Fatalf("exit code %d\n%s", code, c.err.String())
	}
	ready := map[string]bool{}
	for line := range strings.Lines(c.out.String()) {
		var p llmdv1.Provider
		if err := protojson.Unmarshal([]byte(line), &p); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		ready[p.GetId()] = p.GetConfigured()
	}
	if !ready["openai"] || !ready["faux"] || ready["groq"] || len(ready) < 20 || strings.Contains(c.out.String(), "secret") {
		t.Errorf("%v", ready)
	}
}

// Where no model is known, a call for one that is not there shows whether anything
// answers. Built-in engines need not; one that the file names must.
func TestCheckLiveEngine(t *testing.T) {
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":{"message":"model \"llmd-check\" not found","type":"not_found_error"}}`))
	}))
	defer engine.Close()
	text := func(url string) string {
		return writeFile(t, "llmd.yaml", "providers:\n"+noEngines+"  - {id: ollama, base_url: '"+url+"/v1'}\n")
	}
	code, out, errs := llmd(t, "check", "--live", "--json", "--config", text(engine.URL))
	if code != exitOK {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	inOrder(t, out, `{"model":"faux/agent","ok":true,`, `{"model":"ollama","ok":true,"result":"answers; no model is known that could be called","durationMs":`)
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	code, out, _ = llmd(t, "check", "--live", "--config", text(elsewhere.URL))
	if code != exitError {
		t.Errorf("exit code %d", code)
	}
	inOrder(t, out, "\nollama: MODEL_NOT_FOUND: 404 page not found; the host names no model: are the provider's base_url and api right? (")
	engine.Close()
	code, out, _ = llmd(t, "check", "--live", "--config", text(engine.URL))
	if code != exitError {
		t.Errorf("exit code %d", code)
	}
	address := strings.TrimPrefix(engine.URL, "http://")
	inOrder(t, out, "\nollama: PROVIDER_UNREACHABLE: "+address+" could not be reached: connection refused (")
	proxied := writeFile(t, "llmd.yaml", "providers:\n"+noEngines+"  - {id: ollama, base_url: 'http://engine.test/v1', proxy: '"+engine.URL+"'}\n")
	_, out, _ = llmd(t, "check", "--live", "--config", proxied)
	inOrder(t, out, "\nollama: PROVIDER_UNREACHABLE: the proxy to engine.test could not be reached: connection refused (")
}

// noEngines keeps live checks off what may run on the machine of whoever tests.
const noEngines = "  - {id: llamacpp, disabled: true}\n  - {id: lmstudio, disabled: true}\n  - {id: sglang, disabled: true}\n  - {id: vllm, disabled: true}\n"

// Where the store of shared responses cannot be used, the check says what to look at:
// here at a password that Redis does not take.
func TestCheckStore(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var answering sync.WaitGroup
	answering.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			answering.Go(func() {
				defer func() { _ = c.Close() }()
				for b := make([]byte, 4<<10); ; {
					if _, err := c.Read(b); err != nil {
						return
					}
					_, _ = io.WriteString(c, "-WRONGPASS invalid username-password pair or user is disabled.\r\n")
				}
			})
		}
	})
	t.Cleanup(answering.Wait)
	t.Cleanup(func() { _ = l.Close() })
	file := writeFile(t, "llmd.yaml", "server: {responses: {store: redis, encryption_keys: [{id: a, key: "+strings.Repeat("ab", 32)+"}], redis: {addresses: ['"+l.Addr().String()+"'], password: wrong}}}\n")
	code, out, errs := llmd(t, "check", "--config", file)
	if code != exitError || !strings.Contains(errs, "cannot be used: refused") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	inOrder(t, out, "\nshared responses: redis at "+l.Addr().String()+": refused: look at username, password and what this user may do\n")
}

// A live check calls what is configured, and fails if one of the calls does.
func TestCheckLive(t *testing.T) {
	good := httptest.NewServer(fauxserver.ChatHandler())
	defer good.Close()
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`))
	}))
	defer bad.Close()
	text := "providers:\n  - {id: ollama, disabled: true}\n" + noEngines + "  - {id: good, api: openai-completions, base_url: " + good.URL + "/v1, models: [{id: m1}, {id: a2}]}\n"
	code, out, errs := llmd(t, "check", "--live", "--config", writeFile(t, "llmd.yaml", text))
	if code != exitOK {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	inOrder(t, out, "\nfaux/agent: ok (", "\ngood/m1: ok (")
	text += "  - {id: bad, api: openai-completions, base_url: " + bad.URL + "/v1, api_key: k, models: [{id: m1}]}\n"
	code, out, errs = llmd(t, "check", "--live", "--config", writeFile(t, "llmd.yaml", text))
	if code != exitError {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	inOrder(t, out, "\nbad/m1: PROVIDER_CREDENTIALS_INVALID: ", "\nfaux/agent: ok (", "\ngood/m1: ok (")
}

func TestHealth(t *testing.T) {
	at := serveOn(t, config.Address{Network: "unix", Address: t.TempDir() + "/llmd.sock"})
	for _, args := range [][]string{{"health", "--addr", at}, {"health", "--addr", at, "--service", "llmd.v1.InferenceService"}} {
		if code, out, errs := llmd(t, args...); code != exitOK || out != "SERVING\n" {
			t.Errorf("%v: exit code %d, %q\n%s", args, code, out, errs)
		}
	}
	c := newCommand(t.Context(), "", "LLMD_LISTEN", at)
	if code := c.run("health"); code != exitOK {
		t.Errorf("the configured address: exit code %d\n%s", code, c.err.String())
	}
	if code, _, errs := llmd(t, "health", "--addr", at, "--service", "no.such.Service"); code != exitError || !strings.Contains(errs, "NotFound") {
		t.Errorf("unknown service: exit code %d\n%s", code, errs)
	}
	if code, out, errs := llmd(t, "health", "--addr", "127.0.0.1:1", "--timeout", "2s"); code != exitError || out != "" ||
		!strings.HasPrefix(errs, `llmd: no llmd answers at 127.0.0.1:1 (is "llmd serve" running?): `) {
		t.Errorf("nobody there: exit code %d\n%s%s", code, out, errs)
	}
}

// Where nobody answers at the address that was only supposed, the configuration is asked for.
func TestHealthWithoutConfiguration(t *testing.T) {
	const hint = "no configuration was named: if the server has one, give it with --config or $LLMD_CONFIG"
	for want, args := range map[bool][]string{true: {"health"}, false: {"health", "--config", writeFile(t, "llmd.yaml", "server: {listen: tcp://127.0.0.1:1}\n")}} {
		c := newCommand(t.Context(), "")
		switch code := c.run(args...); {
		case want && code == exitOK: // somebody runs an llmd on this machine
		case code != exitError || strings.Contains(c.err.String(), hint) != want:
			t.Errorf("%v: exit code %d\n%s", args, code, c.err.String())
		}
	}
	unknown := status.Error(codes.NotFound, "unknown service")
	if err := new(healthCmd).alone(&newCommand(t.Context(), "").session, unknown); err.Error() != unknown.Error() {
		t.Errorf("of an answer: %v", err)
	}
}

// A server that drains is no longer healthy, though it answers.
func TestHealthWhileDraining(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, h := grpc.NewServer(), health.NewServer()
	healthv1.RegisterHealthServer(s, h)
	h.Shutdown()
	ended := make(chan error)
	go func() { ended <- s.Serve(l) }()
	defer func() {
		s.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	if code, out, _ := llmd(t, "health", "--addr", l.Addr().String()); code != exitError || out != "NOT_SERVING\n" {
		t.Errorf("exit code %d, %q", code, out)
	}
}

// What a server listens on is not always what a client on its machine can dial.
func TestOnThisMachine(t *testing.T) {
	for listens, dialled := range map[string]string{
		"tcp://0.0.0.0:50051":   "tcp://127.0.0.1:50051",
		"tcp://[::]:50051":      "tcp://[::1]:50051",
		"tcp://127.0.0.1:50051": "tcp://127.0.0.1:50051",
		"tcp://llmd.test:1":     "tcp://llmd.test:1",
		"unix:///run/llmd.sock": "unix:///run/llmd.sock",
	} {
		a, err := config.ParseAddress(listens)
		if err != nil {
			t.Fatal(err)
		}
		if got := onThisMachine(a); got != dialled {
			t.Errorf("%s: %s, want %s", listens, got, dialled)
		}
	}
}
