// Package manifests checks config/kubernetes against the types of Kubernetes.
// It is a module of its own, so that the program does not depend on them.
package manifests

import (
	"os"
	"path"
	"path/filepath"
	"reflect"
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

// adapter is config/prometheus/adapter.yaml, the values of the chart prometheus-adapter.
type adapter struct {
	Prometheus map[string]any
	Rules      struct {
		Default bool
		Custom  []struct {
			SeriesQuery  string
			Resources    map[string]any
			Name         struct{ As string }
			MetricsQuery string
		}
	}
}

// prometheus is config/prometheus/scrape.yaml.
type prometheus struct {
	ScrapeConfigs []struct {
		JobName             string `json:"job_name"`
		KubernetesSDConfigs []struct {
			Role      string
			Selectors []struct{ Role, Label string }
		} `json:"kubernetes_sd_configs"`
		RelabelConfigs []struct {
			SourceLabels []string `json:"source_labels"`
			TargetLabel  string   `json:"target_label"`
			Regex        string
			Action       string
		} `json:"relabel_configs"`
	} `json:"scrape_configs"`
}

// selectorOf returns a label as selectors of Kubernetes write it.
func selectorOf(label map[string]string) string {
	for name, value := range label {
		return name + "=" + value
	}
	return ""
}

func TestManifests(t *testing.T) {
	deployment := read[apps.Deployment](t, "deployment.yaml")
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]
	volume := pod.Volumes[0]
	mount := container.VolumeMounts[0]
	ports := container.Ports
	security := container.SecurityContext
	service := read[core.Service](t, "service.yaml").Spec.Ports
	autoscaler := read[autoscaling.HorizontalPodAutoscaler](t, "autoscaler.yaml").Spec
	metric := autoscaler.Metrics[0].Pods.Metric.Name
	disruption := read[policy.PodDisruptionBudget](t, "disruption.yaml").Spec
	network := read[networking.NetworkPolicy](t, "network.yaml").Spec.PodSelector

	variables := map[string]core.EnvVar{}
	for _, e := range container.Env {
		variables[e.Name] = e
	}
	taskSecrets := variables["MCP_TASK_SECRETS"].ValueFrom.SecretKeyRef
	// Kustomize puts the label into the other selectors, but not into those of these two.
	label := read[kustomization](t, "kustomization.yaml").Labels[0].Pairs
	files, _ := filepath.Glob(folder + "*.yaml") // the five manifests and kustomization.yaml
	// request.timeout_ms is 300 s by default, and so is --drain. There are 2 s before and after it.
	canDrain := *pod.TerminationGracePeriodSeconds > 304

	spread := pod.TopologySpreadConstraints
	adapted := read[adapter](t, "../prometheus/adapter.yaml").Rules.Custom[0]
	scrape := read[prometheus](t, "../prometheus/scrape.yaml").ScrapeConfigs[0]
	discovery := scrape.KubernetesSDConfigs[0].Selectors[0]

	probe := func(p *core.Probe) []string { return []string{p.HTTPGet.Path, p.HTTPGet.Port.StrVal} }
	secret := func(key string) string { return path.Join(mount.MountPath, key) }
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"the file of the key", variables["OPENAI_API_KEY_FILE"].Value, secret("openai-api-key")},
		{"the file of tokens", variables["MCP_HTTP_TOKENS_FILE"].Value, secret("http-tokens")},
		// The volume has the keys that the secret has: a secret without tokens is complete.
		{"keys that the secret must have", len(volume.Secret.Items), 0},
		{"the secrets of tasks may be missing", *taskSecrets.Optional, true},
		{"the secret of tasks", taskSecrets.Name, volume.Secret.SecretName},
		{"the mounted volume", mount.Name, volume.Name},
		{"the mount is read-only", mount.ReadOnly, true},
		{"the server has drained before it is killed", canDrain, true},
		{"runAsNonRoot", *pod.SecurityContext.RunAsNonRoot, true},
		{"readOnlyRootFilesystem", *security.ReadOnlyRootFilesystem, true},
		{"allowPrivilegeEscalation", *security.AllowPrivilegeEscalation, false},
		{"dropped capabilities", security.Capabilities.Drop, []core.Capability{"ALL"}},
		{"the memory limit", container.Resources.Limits.Memory().String(), "512Mi"},
		{"the readiness probe", probe(container.ReadinessProbe), []string{"/readyz", ports[0].Name}},
		{"late answers until a pod is not ready", container.ReadinessProbe.FailureThreshold, int32(3)},
		{"the liveness probe", probe(container.LivenessProbe), []string{"/healthz", ports[0].Name}},
		{"the target of the service", service[0].TargetPort.StrVal, ports[0].Name},
		{"the target of the service for metrics", service[1].TargetPort.StrVal, ports[1].Name},
		{"the target of the autoscaler", autoscaler.ScaleTargetRef.Name, deployment.Name},
		{"the metric of the autoscaler", metric, adapted.Name.As},
		{"the label is set", len(label) > 0, true},
		{"the selector of disruption.yaml", disruption.Selector.MatchLabels, label},
		{"the spread over nodes", spread[0].LabelSelector.MatchLabels, label},
		{"the spread over zones", spread[1].LabelSelector.MatchLabels, label},
		{"the label that Prometheus looks for", discovery.Label, selectorOf(label)},
		{"the port that Prometheus scrapes", scrape.RelabelConfigs[0].Regex, ports[1].Name},
		{"the selector of network.yaml", network.MatchLabels, label},
		{"the number of files", len(files), 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !reflect.DeepEqual(tt.got, tt.want) {
				t.Errorf("got %v, want %v", tt.got, tt.want)
			}
		})
	}
}
