// Package manifests checks config/kubernetes against the types of Kubernetes.
// It is a module of its own, so that the program does not depend on them.
package manifests

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	APIVersion, Kind string
	Resources        []string
	Labels           []struct {
		Pairs                              map[string]string
		IncludeSelectors, IncludeTemplates bool
	}
}

func TestManifests(t *testing.T) {
	deployment := read[apps.Deployment](t, "deployment.yaml")
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]

	// request.timeout_ms is 300 s by default, and so is --drain; --notice is 2 s.
	if got := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; got <= 304*time.Second {
		t.Errorf("terminationGracePeriodSeconds is %v, not longer than the drain and the 2 s before and after it", got)
	}
	secret, mount := pod.Volumes[0].Secret, container.VolumeMounts[0]
	for _, e := range container.Env {
		if want := path.Join(mount.MountPath, secret.Items[0].Path); e.Name == "MCP_HTTP_TOKENS_FILE" && e.Value != want {
			t.Errorf("the tokens are in %s, not in %s", want, e.Value)
		}
	}
	if mount.Name != pod.Volumes[0].Name || !mount.ReadOnly {
		t.Errorf("mount %+v of volume %+v", mount, pod.Volumes[0])
	}
	if s := container.SecurityContext; !*pod.SecurityContext.RunAsNonRoot || !*s.ReadOnlyRootFilesystem ||
		*s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
		t.Errorf("the pod is not restricted: %+v %+v", pod.SecurityContext, s)
	}
	if got := container.Resources.Limits.Memory().String(); got != "512Mi" {
		t.Errorf("memory limit %s, want 512Mi", got)
	}
	for name, probe := range map[string]*core.Probe{"/readyz": container.ReadinessProbe, "/healthz": container.LivenessProbe} {
		if probe.HTTPGet.Path != name || probe.HTTPGet.Port.StrVal != container.Ports[0].Name {
			t.Errorf("probe %+v, want %s on the port %s", probe.HTTPGet, name, container.Ports[0].Name)
		}
	}

	for i, port := range read[core.Service](t, "service.yaml").Spec.Ports {
		if got := port.TargetPort.StrVal; got != container.Ports[i].Name {
			t.Errorf("the service targets %q, want %q", got, container.Ports[i].Name)
		}
	}
	if got := read[autoscaling.HorizontalPodAutoscaler](t, "autoscaler.yaml").Spec.ScaleTargetRef.Name; got != deployment.Name {
		t.Errorf("the autoscaler scales %q, want %q", got, deployment.Name)
	}

	// Kustomize puts the label into the other selectors, but not into these.
	label := read[kustomization](t, "kustomization.yaml").Labels[0].Pairs
	for name, selector := range map[string]*meta.LabelSelector{
		"disruption.yaml": read[policy.PodDisruptionBudget](t, "disruption.yaml").Spec.Selector,
		"network.yaml":    &read[networking.NetworkPolicy](t, "network.yaml").Spec.PodSelector,
	} {
		if selector == nil || len(label) == 0 || !maps.Equal(selector.MatchLabels, label) {
			t.Errorf("%s selects %v, want %v", name, selector, label)
		}
	}

	files, err := filepath.Glob(folder + "*.yaml")
	if err != nil || len(files) != 6 {
		t.Errorf("the folder has %v (%v), want the five manifests and kustomization.yaml", files, err)
	}
}
