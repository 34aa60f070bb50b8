package check

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// podMonitor is as much of the Prometheus operator's type as the chart uses.
// https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PodMonitor
type podMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector            metav1.LabelSelector `json:"selector"`
		PodMetricsEndpoints []struct {
			Port string `json:"port"`
			Path string `json:"path"`
		} `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

// kinds are the types that manifests are read into.
var kinds = map[string]func() any{
	"v1 ConfigMap":                           func() any { return &corev1.ConfigMap{} },
	"v1 Service":                             func() any { return &corev1.Service{} },
	"v1 ServiceAccount":                      func() any { return &corev1.ServiceAccount{} },
	"apps/v1 Deployment":                     func() any { return &appsv1.Deployment{} },
	"policy/v1 PodDisruptionBudget":          func() any { return &policyv1.PodDisruptionBudget{} },
	"autoscaling/v2 HorizontalPodAutoscaler": func() any { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"networking.k8s.io/v1 NetworkPolicy":     func() any { return &networkingv1.NetworkPolicy{} },
	"monitoring.coreos.com/v1 PodMonitor":    func() any { return &podMonitor{} },
}

// decode reads every document strictly: an unknown field, one given twice or one of the
// wrong type fails. It returns the kinds, sorted.
func decode(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	for _, doc := range strings.Split(text, "\n---\n") {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &meta); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if meta.Kind == "" {
			continue // comments
		}
		into := kinds[meta.APIVersion+" "+meta.Kind]
		if into == nil {
			t.Errorf("no type for %s %s", meta.APIVersion, meta.Kind)
			continue
		}
		object := into()
		if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
			t.Errorf("%s: %v in\n%s", meta.Kind, err, doc)
		}
		if d, ok := object.(*appsv1.Deployment); ok {
			checkPods(t, d)
		}
		found = append(found, meta.Kind)
	}
	slices.Sort(found)
	return found
}

// checkPods looks at what the API cannot: that a pod is given time, ports that probes
// and services name exist, and volumes are there.
func checkPods(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	pod := d.Spec.Template.Spec
	if s := pod.TerminationGracePeriodSeconds; s == nil || *s < 45 {
		t.Errorf("terminationGracePeriodSeconds: %v", s)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s mounts %s, which is no volume", c.Name, m.Name)
			}
			if m.SubPath != "" {
				t.Errorf("%s: files mounted by subPath never change", c.Name)
			}
		}
		s := c.SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") {
			t.Errorf("%s has rights it does not need", c.Name)
		}
	}
	for key, value := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[key] != value {
			t.Errorf("the selector %s=%s does not find the pods", key, value)
		}
	}
}

// configIn is the file llmd.yaml in a ConfigMap.
func configIn(t *testing.T, text string) string {
	t.Helper()
	var c corev1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil || c.Data["llmd.yaml"] == "" {
		t.Fatalf("%v in\n%s", err, text)
	}
	return c.Data["llmd.yaml"]
}
