package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	name      = "openai-responses-mcp"
	owner     = "uchimanajet7"
	tap       = "homebrew-tap"
	cask      = "Casks/" + name + ".rb"
	workflows = ".github/workflows/release.yml"
)

// stage is all around one tag: a GitHub that knows nothing of it yet, and the
// machines that run jobs.
type stage struct {
	*github
	net     *internet
	runner  *runner
	folder  string
	journal string
	version string
	runs    int
}

// newStage sets one up in a folder. The caller closes it.
func newStage(ctx context.Context, source, folder string, log io.Writer) (*stage, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	s := &stage{folder: folder, journal: filepath.Join(folder, "journal")}
	bin := filepath.Join(folder, "bin")
	if err := errors.Join(os.MkdirAll(bin, 0o755), os.MkdirAll(filepath.Join(folder, "home"), 0o755)); err != nil {
		return nil, err
	}
	if s.version, err = versionOf(source); err != nil {
		return nil, err
	}
	w, err := load(filepath.Join(source, workflows))
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Symlink(self, filepath.Join(bin, "docker")), os.Symlink(self, filepath.Join(bin, "cosign"))); err != nil {
		return nil, err
	}
	s.github = &github{owner: owner, repo: name, token: "token-of-the-run", tap: tap, tapToken: "token-of-the-tap", uploaded: map[string]int{}}
	if s.net, err = connect([]string{"api.github.com", "uploads.github.com"}, s.handler()); err != nil {
		return nil, err
	}
	s.runner = &runner{
		workflow: w, source: source, artifacts: filepath.Join(folder, "artifacts"), log: log,
		values: map[string]string{
			"github.ref_name": "v" + s.version, "github.repository": owner + "/" + name, "github.actor": owner,
			"secrets.GITHUB_TOKEN": s.token, "secrets.HOMEBREW_TAP_TOKEN": s.tapToken,
		},
	}
	s.runner.env, err = s.environment(ctx, bin)
	return s, err
}

// environment is what a process gets: no setting of whoever runs this, no way
// to a network but the one of the stage, and the modules that are there.
func (s *stage) environment(ctx context.Context, bin string) ([]string, error) {
	caches, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("asking go for its caches: %w", err)
	}
	modules, builds, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
	root := filepath.Join(s.folder, "root.pem")
	return []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + filepath.Join(s.folder, "home"),
		"GOMODCACHE=" + modules, "GOCACHE=" + builds, "GOPROXY=off", "GOTOOLCHAIN=local",
		"HTTPS_PROXY=" + s.net.proxy.URL, "SSL_CERT_FILE=" + root,
		"GIT_CONFIG_NOSYSTEM=1", "SYFT_CHECK_FOR_APP_UPDATE=false", "GH_NO_UPDATE_NOTIFIER=1",
		"NPM_CONFIG_UPDATE_NOTIFIER=false", journal + "=" + s.journal,
	}, os.WriteFile(root, s.net.certificate, 0o644)
}

// job runs a job, or the steps of it that pick names, on a fresh machine.
func (s *stage) job(ctx context.Context, name string, pick func(title string) bool) (*machine, error) {
	s.runs++
	m, err := newMachine(filepath.Join(s.folder, fmt.Sprintf("%d-%s", s.runs, name)))
	if err != nil {
		return nil, err
	}
	return m, s.runner.play(ctx, name, m, pick)
}

func versionOf(source string) (string, error) {
	var doc struct{ Version string }
	b, err := os.ReadFile(filepath.Join(source, "npm", "package.json"))
	if err == nil {
		err = json.Unmarshal(b, &doc)
	}
	return doc.Version, err
}

// kept is the file that a job left for the others as an artifact.
func (s *stage) kept(artifact, file string) bool {
	_, err := os.Stat(filepath.Join(s.runner.artifacts, artifact, file))
	return err == nil
}
