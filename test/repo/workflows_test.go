package repo_test

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// workflow is what the rules below are about.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions *map[string]string
		Steps       []struct {
			Name, Uses, Run string
			With            map[string]any
		}
	}
}

// workflows are the files of .github/workflows by name.
func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	all := map[string]workflow{}
	for _, f := range files(t) {
		if path.Dir(f.name) != ".github/workflows" {
			continue
		}
		var w workflow
		if err := yaml.Unmarshal([]byte(f.text), &w); err != nil {
			t.Fatalf("reading %s: %v", f.name, err)
		}
		all[f.name] = w
	}
	if len(all) == 0 {
		t.Fatal("there are no workflows")
	}
	return all
}

// Somebody else's code runs at the commit that was read, never at a name that
// can be moved, and the comment says which version that commit is.
func TestActionsArePinned(t *testing.T) {
	pinned := regexp.MustCompile(`^\s*(- )?uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, f := range files(t) {
		if path.Dir(f.name) != ".github/workflows" {
			continue
		}
		for n, line := range strings.Split(f.text, "\n") {
			if strings.Contains(line, "uses:") && !pinned.MatchString(line) {
				t.Errorf("%s:%d is not pinned by commit with its version behind it: %s", f.name, n+1, strings.TrimSpace(line))
			}
		}
	}
}

// A workflow has no permission; each of its jobs names its own.
func TestPermissionsByJob(t *testing.T) {
	for name, w := range workflows(t) {
		if w.Permissions == nil || len(w.Permissions) > 0 {
			t.Errorf("%s does not begin with `permissions: {}`", name)
		}
		for id, job := range w.Jobs {
			if job.Permissions == nil {
				t.Errorf("%s: job %s names no permissions", name, id)
			}
			for _, s := range job.Steps {
				if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != false {
					t.Errorf("%s: job %s leaves its token in the checkout", name, id)
				}
			}
		}
	}
}

// A release takes nothing from a cache that another run may have filled, and
// npm is published without a token.
func TestReleaseIsClean(t *testing.T) {
	const name = ".github/workflows/release.yml"
	for id, job := range workflows(t)[name].Jobs {
		for _, s := range job.Steps {
			action, _, _ := strings.Cut(s.Uses, "@")
			key := map[string]string{"actions/setup-go": "cache", "actions/setup-node": "package-manager-cache"}[action]
			if key != "" && s.With[key] != false || action == "actions/cache" {
				t.Errorf("%s: job %s uses a cache: %s", name, id, s.Uses)
			}
			if s.With["registry-url"] != nil {
				t.Errorf("%s: job %s writes an .npmrc that wants a token", name, id)
			}
		}
	}
	for _, f := range files(t) {
		if !strings.HasPrefix(f.name, ".github/") {
			continue
		}
		for _, word := range []string{"NPM_TOKEN", "NODE_AUTH_TOKEN", "pull_request_target"} {
			if strings.Contains(f.text, word) {
				t.Errorf("%s holds %s", f.name, word)
			}
		}
	}
}

// What a run may put into a shell it takes from the environment: an expression
// in a script is text before it is quoted.
func TestNoExpressionInScripts(t *testing.T) {
	for name, w := range workflows(t) {
		for id, job := range w.Jobs {
			for _, s := range job.Steps {
				if strings.Contains(s.Run, "${{") {
					t.Errorf("%s: job %s: an expression in a script: %s", name, id, s.Run)
				}
			}
		}
	}
}

// Nothing is updated on the day it appears.
func TestDependabotWaits(t *testing.T) {
	var doc struct {
		Updates []struct {
			Ecosystem string `yaml:"package-ecosystem"`
			Cooldown  struct {
				Days int `yaml:"default-days"`
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, ".github/dependabot.yml")), &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, u := range doc.Updates {
		seen[u.Ecosystem] = true
		if u.Cooldown.Days < 3 {
			t.Errorf("%s is updated after %d days, want a cooldown", u.Ecosystem, u.Cooldown.Days)
		}
	}
	for _, want := range []string{"gomod", "npm", "github-actions", "docker"} {
		if !seen[want] {
			t.Errorf("dependabot does not look after %s", want)
		}
	}
}

// A tool has one version, here and in the workflow.
func TestToolVersions(t *testing.T) {
	workflow := read(t, ".github/workflows/ci.yml")
	versions := regexp.MustCompile(`(?m)^([A-Z]+)=(v[0-9.]+)$`).FindAllStringSubmatch(read(t, ".ci/run"), -1)
	for _, v := range versions {
		if !regexp.MustCompile(`/` + strings.ToLower(v[1]) + `[a-z-]*@` + regexp.QuoteMeta(v[2]) + ` `).MatchString(workflow) {
			t.Errorf("ci.yml does not run %s at %s", strings.ToLower(v[1]), v[2])
		}
	}
	if len(versions) < 4 {
		t.Errorf(".ci/run has the versions %q, at least 4 wanted", versions)
	}
}
