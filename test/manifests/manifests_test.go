// Package manifests checks config/kubernetes against the types of Kubernetes.
// It is a module of its own, so that the program does not depend on them.
package manifests

import (
	"os"
	"path"
	"path/filepath"
	"reflect"
	"testing"
	"time"

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
	container, volume := pod.Containers[0], pod.Volumes[0]
	mount, port, security := container.VolumeMounts[0], container.Ports[0].Name, container.SecurityContext
	// request.timeout_ms is 300 s by default, and so is --drain; --notice is 2 s.
	if got := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; got <= 304*time.Second {
		t.Errorf("terminationGracePeriodSeconds is %v, not longer than the drain and the 2 s before and after it", got)
	}
	variables := map[string]string{}
	for _, e := range container.Env {
		variables[e.Name] = e.Value
	}
	probe := func(p *core.Probe) []string { return []string{p.HTTPGet.Path, p.HTTPGet.Port.StrVal} }
	service := read[core.Service](t, "service.yaml").Spec.Ports
	// Kustomize puts the label into the other selectors, but not into these.
	label := read[kustomization](t, "kustomization.yaml").Labels[0].Pairs
	files, err := filepath.Glob(folder + "*.yaml") // the five manifests and kustomization.yaml
	for _, tt := range []struct {
		what      string
		got, want any
	}{
		{"MCP_HTTP_TOKENS_FILE", variables["MCP_HTTP_TOKENS_FILE"], path.Join(mount.MountPath, volume.Secret.Items[0].Path)},
		{"the mounted volume", mount.Name, volume.Name},
		{"the mount is read-only", mount.ReadOnly, true},
		{"runAsNonRoot", *pod.SecurityContext.RunAsNonRoot, true},
		{"readOnlyRootFilesystem", *security.ReadOnlyRootFilesystem, true},
		{"allowPrivilegeEscalation", *security.AllowPrivilegeEscalation, false},
		{"dropped capabilities", security.Capabilities.Drop, []core.Capability{"ALL"}},
		{"the memory limit", container.Resources.Limits.Memory().String(), "512Mi"},
		{"the readiness probe", probe(container.ReadinessProbe), []string{"/readyz", port}},
		{"the liveness probe", probe(container.LivenessProbe), []string{"/healthz", port}},
		{"the targets of the service", [2]string{service[0].TargetPort.StrVal, service[1].TargetPort.StrVal}, [2]string{port, container.Ports[1].Name}},
		{"the target of the autoscaler", read[autoscaling.HorizontalPodAutoscaler](t, "autoscaler.yaml").Spec.ScaleTargetRef.Name, deployment.Name},
		{"the label is set", len(label) > 0, true},
		{"the selector of disruption.yaml", read[policy.PodDisruptionBudget](t, "disruption.yaml").Spec.Selector.MatchLabels, label},
		{"the selector of network.yaml", read[networking.NetworkPolicy](t, "network.yaml").Spec.PodSelector.MatchLabels, label},
		{"the number of files", len(files), 6},
		{"the error of their names", err, nil},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.what, tt.got, tt.want)
		}
	}
}
