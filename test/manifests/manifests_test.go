// Package manifests checks config/kubernetes against the types of Kubernetes.
// It is a module of its own, so that the program does not depend on them.
package manifests

import (
	"os"
	"path"
	"reflect"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const folder = "../../config/kubernetes/"

// read decodes a manifest; unknown and repeated keys are errors.
func read[T any](t *testing.T, name string) *T {
	t.Helper()
	data, err := os.ReadFile(folder + name)
	if err != nil {
		t.Fatal(err)
	}
	object := new(T)
	if err := yaml.UnmarshalStrict(data, object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return object
}

// kustomization is kustomization.yaml.
type kustomization struct {
	APIVersion string
	Kind       string
	Resources  []string
	Labels     []struct {
		Pairs            map[string]string
		IncludeSelectors bool
		IncludeTemplates bool
	}
}

func TestManifests(t *testing.T) {
	deployment := read[apps.Deployment](t, "deployment.yaml")
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]
	volume := pod.Volumes[0]
	mount := container.VolumeMounts[0]
	ports := container.Ports
	security := container.SecurityContext
	spread := pod.TopologySpreadConstraints[0]
	service := read[core.Service](t, "service.yaml").Spec.Ports
	autoscaler := read[autoscaling.HorizontalPodAutoscaler](t, "autoscaler.yaml").Spec
	disruption := read[policy.PodDisruptionBudget](t, "disruption.yaml").Spec
	network := read[networking.NetworkPolicy](t, "network.yaml").Spec.PodSelector

	variables := map[string]string{}
	for _, e := range container.Env {
		variables[e.Name] = e.Value
	}
	// Kustomize puts the label into the other selectors, but not into those of these two.
	label := read[kustomization](t, "kustomization.yaml").Labels[0].Pairs
	// request.timeout_ms is 300 s by default, and so is --drain. There are 2 s before and after it.
	canDrain := *pod.TerminationGracePeriodSeconds > 304

	probe := func(p *core.Probe) []string { return []string{p.HTTPGet.Path, p.HTTPGet.Port.StrVal} }
	secret := func(key string) string { return path.Join(mount.MountPath, key) }
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"the file of the key", variables["OPENAI_API_KEY_FILE"], secret("openai-api-key")},
		{"the file of tokens", variables["MCP_HTTP_TOKENS_FILE"], secret("http-tokens")},
		// The volume has the keys that the secret has: a secret without tokens is complete.
		{"keys that the secret must have", len(volume.Secret.Items), 0},
		{"the mounted volume", mount.Name, volume.Name},
		{"the server has drained before it is killed", canDrain, true},
		{"runAsNonRoot", *pod.SecurityContext.RunAsNonRoot, true},
		{"readOnlyRootFilesystem", *security.ReadOnlyRootFilesystem, true},
		{"allowPrivilegeEscalation", *security.AllowPrivilegeEscalation, false},
		{"dropped capabilities", security.Capabilities.Drop, []core.Capability{"ALL"}},
		{"the memory limit", container.Resources.Limits.Memory().String(), "512Mi"},
		{"the readiness probe", probe(container.ReadinessProbe), []string{"/readyz", ports[0].Name}},
		{"the liveness probe", probe(container.LivenessProbe), []string{"/healthz", ports[0].Name}},
		{"the target of the service", service[0].TargetPort.StrVal, ports[0].Name},
		{"the target of the service for metrics", service[1].TargetPort.StrVal, ports[1].Name},
		{"the target of the autoscaler", autoscaler.ScaleTargetRef.Name, deployment.Name},
		{"the label is set", len(label) > 0, true},
		{"the selector of disruption.yaml", disruption.Selector.MatchLabels, label},
		{"the selector of the spread", spread.LabelSelector.MatchLabels, label},
		{"the selector of network.yaml", network.MatchLabels, label},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !reflect.DeepEqual(tt.got, tt.want) {
				t.Errorf("got %v, want %v", tt.got, tt.want)
			}
		})
	}
}

// The files of Prometheus have the names of the manifests.
func TestPrometheus(t *testing.T) {
	autoscaler := read[autoscaling.HorizontalPodAutoscaler](t, "autoscaler.yaml").Spec
	label := read[kustomization](t, "kustomization.yaml").Labels[0].Pairs["app.kubernetes.io/name"]

	for file, want := range map[string]string{
		"adapter.yaml": "name: { as: " + autoscaler.Metrics[0].Pods.Metric.Name + " }",
		"scrape.yaml":  "label: app.kubernetes.io/name=" + label + " }]",
	} {
		t.Run(file, func(t *testing.T) {
			got, err := os.ReadFile("../../config/prometheus/" + file)
			if err != nil || !strings.Contains(string(got), want) {
				t.Errorf("%v, want %q in\n%s", err, want, got)
			}
		})
	}
}
