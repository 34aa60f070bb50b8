package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/llmd-dev/llmd/integration/harness"
)

// tool finds a program of the Debian package prometheus, which .ci/run installs.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not installed: apt-get install prometheus", name)
		}
		t.Skipf("%s is not installed", name)
	}
	return path
}

func get(t *testing.T, url, accept string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v %s %s", url, err, resp.Status, body)
	}
	return string(body)
}

// TestPage of metrics: promtool finds nothing to say, every name is in
// docs/telemetry.md as Prometheus spells it, and there are exemplars.
func TestMetricsPage(t *testing.T) {
	promtool := tool(t, "promtool")
	l := start(t, listen+adminPages+providers(host(t, nil), ""))
	drive(t, l)
	text := get(t, l.admin+"/metrics", "")
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
	page, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[1] == "TYPE" && (strings.HasPrefix(fields[2], "llmd_") || strings.HasPrefix(fields[2], "gen_ai_")) &&
			!strings.Contains(string(page), "`"+fields[2]+"`") {
			t.Errorf("%s is not in docs/telemetry.md", fields[2])
		}
	}
	if open := get(t, l.admin+"/metrics", "application/openmetrics-text; version=1.0.0"); !strings.Contains(open, `# {`) || !strings.Contains(open, callersTrace) {
		t.Error("no exemplar has the caller's trace")
	}
	for _, word := range []string{harness.Secret, harness.Canary, "made-up-by-a-caller", "made.up", "what the provider said"} {
		if strings.Contains(text, word) {
			t.Errorf("the metrics hold %q", word)
		}
	}
}

// TestScrape: a real Prometheus scrapes llmd and answers the questions of the
// documentation.
func TestScrape(t *testing.T) {
	prometheus := tool(t, "prometheus")
	l := start(t, listen+adminPages+providers(host(t, nil), ""))
	drive(t, l)
	base := run(t, prometheus, strings.TrimPrefix(l.admin, "http://"))
	deadline := time.Now().Add(2 * time.Minute)
	for _, q := range []struct{ query, want string }{
		{`up{job="llmd"}`, "1"},
		{`sum(llmd_responses_total{llmd_stop_reason="stop"})`, "3"},
		{`sum(gen_ai_client_inference_usage_input_tokens_total{gen_ai_request_model="m1"})`, "200"},
		{`sum(llmd_cost_pico_usd_total{gen_ai_request_model="m1"}) / 1e12`, "0.00024"},
		{`sum(gen_ai_client_inference_duration_seconds_count{error_type="PROVIDER_OVERLOADED"})`, "2"},
		{`llmd_limit_max{llmd_limit="request_bytes"}`, "1073741824"},
		{`count(target_info{service_name="llmd"})`, "1"},
	} {
		got := ask(t, base, q.query)
		for got != q.want && time.Now().Before(deadline) {
			time.Sleep(100 * time.Millisecond)
			got = ask(t, base, q.query)
		}
		if got != q.want {
			t.Errorf("%s = %q, want %q", q.query, got, q.want)
		}
	}
}

// run starts a Prometheus that scrapes the target, and returns its URL.
func run(t *testing.T, program, target string) string {
	t.Helper()
	dir := t.TempDir()
	cfg := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: llmd\n    static_configs: [{targets: ['%s']}]\n", target)
	if err := os.WriteFile(cfg, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var log harness.LogBuffer
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--config.file="+cfg, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("prometheus said:\n%s", log.String())
		}
	})
	listening := regexp.MustCompile(`msg="Listening on" address=(\S+)`)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if m := listening.FindStringSubmatch(log.String()); m != nil {
			return "http://" + m[1]
		}
	}
	t.Fatal("prometheus does not listen")
	return ""
}

// ask asks Prometheus for one value; empty = it has none yet.
func ask(t *testing.T, base, query string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/v1/query?query="+url.QueryEscape(query), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "" // it is starting
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]json.RawMessage `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if json.NewDecoder(resp.Body).Decode(&answer) != nil || len(answer.Data.Result) != 1 {
		return ""
	}
	var value string
	_ = json.Unmarshal(answer.Data.Result[0].Value[1], &value)
	return value
}

// TestCallersAsLabels: the names of callers are labels only where that is wanted.
func TestCallersAsLabels(t *testing.T) {
	const token = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b" // of "secret"
	for _, wanted := range []bool{false, true} {
		l := start(t, listen+adminPages+"  auth: {tokens: [{name: alice, sha256: "+token+"}]}\n  telemetry: {callers: "+fmt.Sprint(wanted)+"}\n")
		ctx := metadata.AppendToOutgoingContext(harness.Limited(t, time.Minute), "authorization", "Bearer secret")
		if err := l.ask(ctx, harness.Ask("faux/echo", "Hello.")); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(get(t, l.admin+"/metrics", ""), `llmd_caller="alice"`); got != wanted {
			t.Errorf("callers: %t, but the label is there: %t", wanted, got)
		}
		l.stop(t)
	}
}
