package check

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// promtool checks with Prometheus' own tool (Debian's package prometheus).
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no promtool")
	}
	if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// exported are the names that Prometheus gets, by the page on telemetry.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	// Of Prometheus itself, and of the Go runtime's and the process' collectors.
	names := map[string]bool{
		"up": true, "process_resident_memory_bytes": true, "process_cpu_seconds_total": true,
		"go_goroutines": true, "go_gc_gomemlimit_bytes": true,
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `[a-z_.]+` \\| `([a-z_]+)` \\| (\\w+)").FindAllStringSubmatch(string(page), -1) {
		names[row[1]] = true
		if row[2] == "histogram" {
			names[row[1]+"_bucket"] = true
		}
	}
	if len(names) < 25 {
		t.Fatalf("only %d metrics on the page", len(names))
	}
	return names
}

var (
	quoted = regexp.MustCompile(`"[^"]*"`)
	lists  = regexp.MustCompile(`\b(by|on|group_left|without) \([^)]*\)|\{[^}]*\}|\[[^\]]*\]`)
	words  = regexp.MustCompile(`[a-zA-Z_]\w*`)
)

// checkNames fails for metrics that llmd does not have: what is asked for must exist.
func checkNames(t *testing.T, where, expr string, names map[string]bool) {
	t.Helper()
	functions := map[string]bool{
		"sum": true, "max": true, "rate": true, "increase": true, "histogram_quantile": true, "time": true, "and": true, "e15": true, "e12": true,
	}
	bare := lists.ReplaceAllString(quoted.ReplaceAllString(expr, `""`), "")
	for _, word := range words.FindAllString(bare, -1) {
		if !functions[word] && !names[word] {
			t.Errorf("%s asks for %s, which docs/telemetry.md does not have", where, word)
		}
	}
}

type rules struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert       string            `json:"alert,omitempty"`
			Record      string            `json:"record,omitempty"`
			Expr        string            `json:"expr"`
			For         string            `json:"for,omitempty"`
			Labels      map[string]string `json:"labels,omitempty"`
			Annotations map[string]string `json:"annotations,omitempty"`
		} `json:"rules"`
	} `json:"groups"`
}

func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var r rules
	if err := yaml.UnmarshalStrict(text, &r); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	names := exported(t)
	for _, rule := range r.Groups[0].Rules {
		checkNames(t, rule.Alert, rule.Expr, names)
		if !strings.Contains(string(page), "`"+rule.Alert+"`") {
			t.Errorf("docs/operations.md does not say what to do at %s", rule.Alert)
		}
		if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
			t.Errorf("%s lacks a severity or a summary", rule.Alert)
		}
	}
	promtool(t, "check", "rules", "../prometheus/alerts.yaml")
	promtool(t, "test", "rules", "../prometheus/alerts_test.yaml")
}

// The dashboard's expressions are parsed by Prometheus, as the rules that they could be.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../grafana/llmd.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		UID    string `json:"uid"`
		Panels []struct {
			Title   string `json:"title"`
			Type    string `json:"type"`
			GridPos struct{ H, W, X, Y int }
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	names := exported(t)
	var made strings.Builder
	made.WriteString("groups:\n- name: dashboard\n  rules:\n")
	exprs := 0
	for _, p := range d.Panels {
		if p.Type != "row" && len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q shows nothing, or does not fit", p.Title)
		}
		for _, target := range p.Targets {
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
			checkNames(t, p.Title, expr, names)
			one, err := yaml.Marshal(expr)
			if err != nil {
				t.Fatal(err)
			}
			made.WriteString("  - {record: dashboard:" + strings.Repeat("x", exprs+1) + ":x, expr: " + strings.TrimSpace(quote(string(one))) + "}\n")
			exprs++
		}
	}
	if d.UID == "" || exprs < 20 {
		t.Errorf("uid %q, %d expressions", d.UID, exprs)
	}
	file := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(file, []byte(made.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}

// quote makes a YAML text of one line of a text that YAML wrote.
func quote(s string) string {
	var plain string
	_ = yaml.Unmarshal([]byte(s), &plain)
	return "'" + strings.ReplaceAll(plain, "'", "''") + "'"
}
