package telemetry

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/telemetry.md")

const page = "../../docs/telemetry.md"

// TestPage: the tables of docs/telemetry.md are those of the code.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, table := range map[string]string{
		"llmd": metricTable(Metrics()), "zeros": zeroTable(), "genai": metricTable(GenAIMetrics(ConventionsV01)),
		"genai-v1.41": metricTable(GenAIMetrics(ConventionsV141)), "limits": limitTable(), "events": eventTable(Events(ConventionsBoth)),
	} {
		begin, end := "<!-- "+name+" -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(want, begin)
		if !ok {
			t.Fatalf("%s has no %q", page, begin)
		}
		_, after, _ := strings.Cut(rest, end)
		want = before + begin + table + end + after
	}
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Error("the tables of docs/telemetry.md are old; go test ./internal/telemetry -run TestPage -update")
	}
}

func metricTable(all []Metric) string {
	var b strings.Builder
	b.WriteString("| metric | in Prometheus | kind | unit | labels | what |\n|---|---|---|---|---|---|\n")
	for _, m := range all {
		labels := "none"
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s | %s |\n", m.Name, prometheusName(&m), m.Kind, m.Unit, labels, m.Doc)
	}
	return b.String()
}

func zeroTable() string {
	var b strings.Builder
	b.WriteString("| counter | from the start |\n|---|---|\n")
	for _, m := range Metrics() {
		switch {
		case !m.starts():
		case len(m.Labels) == 0:
			fmt.Fprintf(&b, "| `%s` | its only series |\n", prometheusName(&m))
		case m.Labels[0] == attrLimit:
			fmt.Fprintf(&b, "| `%s` | each limit below |\n", prometheusName(&m))
		default:
			fmt.Fprintf(&b, "| `%s` | `%s`: `%s` |\n", prometheusName(&m), strings.ReplaceAll(m.Labels[0], ".", "_"), strings.Join(m.Known, "`, `"))
		}
	}
	return b.String()
}

func eventTable(all []Event) string {
	var b strings.Builder
	b.WriteString("| event | attributes | what |\n|---|---|---|\n")
	for _, e := range all {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", e.Name, strings.Join(e.Attributes, "`, `"), e.Doc)
	}
	return b.String()
}

// prometheusName is the rule of
// https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/#otlp-metric-points-to-prometheus.
func prometheusName(m *Metric) string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	for unit, word := range map[string]string{"s": "seconds", "By": "bytes"} {
		if m.Unit == unit && !strings.HasSuffix(name, "_"+word) {
			name += "_" + word
		}
	}
	if m.Kind == kindCounter {
		name += "_total"
	}
	return name
}

func limitTable() string {
	var b strings.Builder
	b.WriteString("| `llmd.limit` | counts | the limit | usage and maximum |\n|---|---|---|---|\n")
	for _, l := range Limits() {
		usage := "no"
		if l.Usage {
			usage = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", l.Name, l.Unit, l.Key, usage)
	}
	return b.String()
}
