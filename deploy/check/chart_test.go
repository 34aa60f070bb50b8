package check

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite deploy/kubernetes/shared.yaml")

// render is what helm template would print for a release "llmd" in the namespace "ai",
// by template.
func render(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	c, err := loader.Load("../helm/llmd")
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(values), &given); err != nil {
		t.Fatalf("%v in\n%s", err, values)
	}
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "llmd", Namespace: "ai", IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	e := engine.Engine{Strict: true}
	out, err := e.Render(c, all)
	for name, text := range out {
		delete(out, name)
		if strings.TrimSpace(text) != "" && strings.HasSuffix(name, ".yaml") {
			out[filepath.Base(name)] = text
		}
	}
	return out, err
}

// whole is one file, in the order of the templates' names.
func whole(rendered map[string]string) string {
	var b strings.Builder
	b.WriteString("# Rendered from ../helm/llmd with shared.values.yaml by: make deploy-update\n")
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		b.WriteString("---\n" + strings.TrimSpace(rendered[name]) + "\n")
	}
	return b.String()
}

const protected = `
tls: {secretName: llmd-tls, clientCA: true}
config:
  server:
    auth: {tokens: [{name: app, sha256: 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}]}
`

func TestChart(t *testing.T) {
	for name, c := range map[string]struct {
		values string
		kinds  []string
	}{
		"protected": {protected, nil},
		"a mesh":    {"allowInsecure: true", nil},
		"everything": {protected + `
image: {repository: registry.example.test/llmd, tag: 1.2.3}
imagePullSecrets: [{name: pull}]
keySecrets: [llmd-keys, more-keys]
env: [{name: HTTPS_PROXY, value: "http://proxy.example.test:3128"}]
volumes: [{name: keys, secret: {secretName: llmd-keys}}]
volumeMounts: [{name: keys, mountPath: /run/secrets/llmd, readOnly: true}]
drainSeconds: 300
service: {webPort: 8080, annotations: {a: b}}
admin: {open: true, podMonitor: true, allowFrom: [{namespaceSelector: {matchLabels: {team: monitoring}}}]}
autoscaling: {enabled: true, streams: 200}
allowFrom: [{namespaceSelector: {matchLabels: {team: apps}}}]
serviceAccount: {annotations: {eks.amazonaws.com/role-arn: arn}}
podAnnotations: {a: b}
podLabels: {team: ai}
nodeSelector: {kubernetes.io/arch: arm64}
tolerations: [{key: spot, operator: Exists}]
affinity: {nodeAffinity: {}}
priorityClassName: high
`, []string{"HorizontalPodAutoscaler", "NetworkPolicy", "PodMonitor"}},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, err := render(t, c.values)
			if err != nil {
				t.Fatal(err)
			}
			kinds := decode(t, whole(rendered))
			want := append([]string{"ConfigMap", "Deployment", "PodDisruptionBudget", "Service", "ServiceAccount"}, c.kinds...)
			slices.Sort(want)
			if !slices.Equal(kinds, want) {
				t.Errorf("kinds %v, want %v", kinds, want)
			}
		})
	}
}

// Files that the configuration names can be mounted, beside the chart's own.
func TestChartMountsFiles(t *testing.T) {
	rendered, err := render(t, protected+`
volumes: [{name: keys, secret: {secretName: llmd-keys}}]
volumeMounts: [{name: keys, mountPath: /run/secrets/llmd, readOnly: true}]
`)
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(rendered["deployment.yaml"]), &d); err != nil {
		t.Fatal(err)
	}
	pod, mounts := d.Spec.Template.Spec, map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	want := map[string]string{"config": "/etc/llmd/config", "run": "/run/llmd", "tls": "/etc/llmd/tls", "keys": "/run/secrets/llmd"}
	if !maps.Equal(mounts, want) {
		t.Errorf("mounts %v, want %v", mounts, want)
	}
	last := pod.Volumes[len(pod.Volumes)-1]
	if len(pod.Volumes) != len(want) || last.Secret == nil || last.Secret.SecretName != "llmd-keys" {
		t.Errorf("volumes %v", pod.Volumes)
	}
}

// A service that anybody in the cluster may call must be wanted.
func TestChartRefusesToBeOpen(t *testing.T) {
	for _, values := range []string{"{}", "tls: {secretName: x}", "config: {server: {auth: {unix_socket: required}}}"} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), "allowInsecure") {
			t.Errorf("%s: %v", values, err)
		}
	}
}

// What would do nothing, or break the pod, is refused and named.
func TestChartRefusesMistakes(t *testing.T) {
	for values, says := range map[string]string{
		"keySecret: [x]":                                       "keySecret",
		"tls: {secret: x}":                                     "secret",
		"service: {webport: 8080}":                             "webport",
		"drainSeconds: 5m":                                     "drainSeconds",
		"keySecrets: llmd-keys":                                "keySecrets",
		"admin: {open: \"yes\"}":                               "open",
		"autoscaling: {streams: x}":                            "streams",
		"config: {server: {drain_timeout: 5m}}":                "drainSeconds",
		"config: {server: {listen: [\"tcp://0.0.0.0:7777\"]}}": "unix:///run/llmd/llmd.sock",
		"config: {server: {listen: \"tcp://0.0.0.0:7777\"}}":   "unix:///run/llmd/llmd.sock",
	} {
		if _, err := render(t, "allowInsecure: true\n"+values); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", values, err)
		}
	}
	if _, err := render(t, "allowInsecure: true\nglobal: {a: b}\nenabled: true\nconfig: {server: {listen: \"unix:///run/llmd/llmd.sock\"}}"); err != nil {
		t.Error(err)
	}
}

func TestPodMonitorNeedsAnOpenPort(t *testing.T) {
	if _, err := render(t, protected+"admin: {podMonitor: true}"); err == nil || !strings.Contains(err.Error(), "admin.open") {
		t.Error(err)
	}
}

// llmd itself reads the configuration that the chart makes.
func TestChartConfiguration(t *testing.T) {
	bin := build(t)
	for name, values := range map[string]string{
		"protected": protected,
		"a mesh":    "allowInsecure: true\nadmin: {open: true}\nservice: {webPort: 8080}",
		"own keys":  "allowInsecure: true\ndrainSeconds: 90\nconfig: {server: {log_level: debug, listen: [\"tcp://0.0.0.0:7777\", \"unix:///run/llmd/llmd.sock\"]}, providers: [{id: lab, api: openai-completions, base_url: \"http://lab:9000/v1\", api_key: none}]}",
	} {
		t.Run(name, func(t *testing.T) {
			rendered, err := render(t, values)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "llmd.yaml")
			if err := os.WriteFile(file, []byte(configIn(t, rendered["configmap.yaml"])), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(bin, "models", "--config", file).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The manifest for those without Helm is what the chart renders.
func TestSharedManifest(t *testing.T) {
	values, err := os.ReadFile("../kubernetes/shared.values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := render(t, string(values))
	if err != nil {
		t.Fatal(err)
	}
	const file = "../kubernetes/shared.yaml"
	got := []byte(whole(rendered))
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(committed, got) {
		t.Errorf("%s is not what the chart renders: run make deploy-update", file)
	}
}

func TestSidecarManifest(t *testing.T) {
	text, err := os.ReadFile("../kubernetes/sidecar.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if kinds := decode(t, string(text)); !slices.Equal(kinds, []string{"ConfigMap", "Deployment"}) {
		t.Errorf("kinds %v", kinds)
	}
}
