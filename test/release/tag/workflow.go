package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// workflow is what is read of release.yml.
type workflow struct {
	Jobs map[string]struct {
		Env      map[string]string
		Defaults struct{ Run place }
		Steps    []step
	}
}

// place is how and where a script runs.
type place struct {
	Shell string
	Dir   string `yaml:"working-directory"`
}

// step is one step of a job: an action of somebody's or a script.
type step struct {
	Name, Uses, Run, If string
	With, Env           map[string]string
	place               `yaml:",inline"`
}

// title is the step's name, or what it does.
func (s step) title() string {
	action, _, _ := strings.Cut(s.Uses, "@")
	for _, t := range []string{s.Name, s.Run, action} {
		if t != "" {
			return t
		}
	}
	return ""
}

// prepared are actions that set up a machine, which test/release/tools.sh has
// done, and one that only GitHub can do.
func prepared() []string {
	return []string{
		"actions/setup-go", "actions/setup-node", "actions/attest", "sigstore/cosign-installer",
		"anchore/sbom-action/download-syft", "docker/setup-buildx-action", "docker/login-action",
	}
}

// runner does what a runner of GitHub's does with the steps of a job. What it
// does not know is an error: nothing of the workflow is left out in silence.
type runner struct {
	workflow  workflow
	source    string            // repository that actions/checkout clones
	values    map[string]string // of the expressions, "github.ref_name"
	env       []string          // what every process gets
	artifacts string            // folder of what actions/upload-artifact keeps
	log       io.Writer
}

// load reads a workflow.
func load(name string) (workflow, error) {
	var w workflow
	text, err := os.ReadFile(name)
	if err == nil {
		err = yaml.Unmarshal(text, &w)
	}
	if err != nil {
		return w, fmt.Errorf("reading the workflow %s: %w", name, err)
	}
	return w, nil
}

// machine is a fresh one for a job: its folder, and what earlier steps told
// the later ones by $GITHUB_ENV.
type machine struct {
	dir, temp string
	told      map[string]string
}

func newMachine(folder string) (*machine, error) {
	m := &machine{filepath.Join(folder, "src"), filepath.Join(folder, "temp"), map[string]string{}}
	return m, errors.Join(os.MkdirAll(m.dir, 0o755), os.MkdirAll(m.temp, 0o755))
}

// play runs those steps of a job that pick names by their titles, or all of
// them when it is nil, in their order, up to the first that fails.
func (r *runner) play(ctx context.Context, job string, m *machine, pick func(title string) bool) error {
	j, ok := r.workflow.Jobs[job]
	if !ok {
		return fmt.Errorf("there is no job %s", job)
	}
	played := 0
	for _, s := range j.Steps {
		if pick != nil && !pick(s.title()) {
			continue
		}
		played++
		fmt.Fprintf(r.log, "--- %s: %s\n", job, s.title())
		env := maps.Clone(j.Env)
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, s.Env)
		if s.Dir == "" {
			s.Dir = j.Defaults.Run.Dir
		}
		if s.Shell == "" {
			s.Shell = j.Defaults.Run.Shell
		}
		if err := r.step(ctx, s, m, env); err != nil {
			return fmt.Errorf("job %s, step %q: %w", job, s.title(), err)
		}
	}
	if played == 0 {
		return fmt.Errorf("job %s has none of the wanted steps", job)
	}
	return nil
}

func (r *runner) step(ctx context.Context, s step, m *machine, env map[string]string) error {
	if s.If != "" {
		return fmt.Errorf("its condition is not known here: %s", s.If)
	}
	for _, of := range []map[string]string{env, s.With} {
		for k, v := range of {
			var err error
			if of[k], err = r.expand(v, m); err != nil {
				return err
			}
		}
	}
	if s.Run != "" {
		return r.script(ctx, s, m, env)
	}
	action, _, _ := strings.Cut(s.Uses, "@")
	switch action {
	case "actions/checkout":
		return r.run(ctx, m, "", nil, "sh", "-c", `git -c advice.detachedHead=false clone -q --branch "$1" "$2" . && git remote set-url origin "$3"`, "sh",
			r.values["github.ref_name"], r.source, "https://github.com/"+r.values["github.repository"])
	case "goreleaser/goreleaser-action":
		if err := r.run(ctx, m, "", nil, "sh", "-c", `goreleaser --version | grep -x "GitVersion: *$1"`, "sh", s.With["version"]); err != nil {
			return fmt.Errorf("goreleaser is not at %s: %w", s.With["version"], err)
		}
		return r.run(ctx, m, "", env, "goreleaser", strings.Fields(s.With["args"])...)
	case "actions/upload-artifact":
		to := filepath.Join(r.artifacts, s.With["name"])
		return errors.Join(os.MkdirAll(to, 0o755), r.run(ctx, m, "", nil, "cp", s.With["path"], to))
	case "actions/download-artifact":
		return r.run(ctx, m, "", nil, "cp", "-r", filepath.Join(r.artifacts, s.With["name"])+"/.", ".")
	}
	if !slices.Contains(prepared(), action) {
		return fmt.Errorf("the action %s is not known here", action)
	}
	return nil
}

// script runs what stands under run:, with the shells of GitHub's
// documentation ("Workflow syntax", jobs.<job_id>.steps[*].shell), and takes
// over what it wrote to $GITHUB_ENV.
func (r *runner) script(ctx context.Context, s step, m *machine, env map[string]string) error {
	file, told := filepath.Join(m.temp, "script.sh"), filepath.Join(m.temp, "env")
	if err := errors.Join(os.WriteFile(file, []byte(s.Run), 0o644), os.WriteFile(told, nil, 0o644)); err != nil {
		return err
	}
	shell := []string{"-e", file}
	if s.Shell == "bash" {
		shell = []string{"--noprofile", "--norc", "-eo", "pipefail", file}
	}
	env["GITHUB_ENV"], env["RUNNER_TEMP"] = told, m.temp
	if err := r.run(ctx, m, s.Dir, env, "bash", shell...); err != nil {
		return err
	}
	text, err := os.ReadFile(told)
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			m.told[name] = value
		}
	}
	return err
}

func (r *runner) run(ctx context.Context, m *machine, dir string, env map[string]string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join(m.dir, dir)
	cmd.Env = slices.Clone(r.env)
	for _, of := range []map[string]string{m.told, env} {
		for k, v := range of {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
	}
	cmd.Stdout, cmd.Stderr = r.log, r.log
	cmd.WaitDelay = time.Second // what a process that was ended left running holds its output open
	return cmd.Run()
}

// expand puts in the values of ${{ expressions }}.
func (r *runner) expand(text string, m *machine) (string, error) {
	var unknown error
	out := regexp.MustCompile(`\$\{\{(.*?)\}\}`).ReplaceAllStringFunc(text, func(e string) string {
		name := strings.TrimSpace(e[3 : len(e)-2])
		if v, ok := r.values[name]; ok {
			return v
		}
		if name == "runner.temp" {
			return m.temp
		}
		if v, ok := m.told[strings.TrimPrefix(name, "env.")]; ok {
			return v
		}
		unknown = fmt.Errorf("the expression %s is not known here", e)
		return ""
	})
	return out, unknown
}
