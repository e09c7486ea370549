package repo_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// rule says how the commands that begin with a pattern are tried.
type rule struct {
	begin string // a regular expression
	want  string // what TestCommands finds in the output
	not   string // why TestCommands does not run it, and where it runs instead
}

// rules are those for README and docs/reference. The first that fits applies.
var rules = []rule{
	{begin: "cd ", not: "TestCommands starts in the repository"},
	{begin: "git clone ", not: "needs the network"},
	{begin: "docker compose ", not: "needs a container engine and a published image"},
	{begin: "docker ", not: "needs a container engine; .ci/release builds the image with buildah, and calls it"},
	{begin: "buildah ", not: ".ci/release, with this machine's Go in place of the golang image"},
	{begin: "npx ", not: ".ci/release, from a registry on loopback (test/release/npm.mjs)"},
	{begin: "brew ", not: "needs a published release; .ci/release checks the cask"},
	{begin: "curl ", not: "needs a published release; .ci/release unpacks and starts each package"},
	{begin: "(gh|cosign|npm audit|go install github.com)[ /]", not: "needs a published release"},
	{begin: "xattr ", not: "needs macOS"},
	{begin: "sha256sum ", not: ".ci/release, in the step of the checksums"},
	{begin: "kubectl ", not: "needs a cluster; test/manifests checks the files"},
	{begin: "go test ", not: "it is this test's own run"},
	{begin: "openai-responses-mcp serve ", not: "does not end; TestServe in internal/cli, and .ci/run over HTTP"},

	{begin: "export |[A-Z]+="},
	{begin: "go install ./cmd/"},
	{begin: "go run ./cmd/openai-responses-mcp ask |git diff \\| go run ", want: "Sources:"},
	{begin: "(go run ./cmd/)?openai-responses-mcp smoke", want: "used_search"},
	{begin: "openai-responses-mcp ask ", want: "tokens"},
	{begin: "openai-responses-mcp doctor", want: "policy"},
	{begin: "openai-responses-mcp setup claude-code --via http", want: `"Authorization"`},
	{begin: "openai-responses-mcp setup vscode", want: `"https://mcp.example.com/mcp"`},
	{begin: "openai-responses-mcp setup cursor --via docker", want: `"docker"`},
	{begin: "openai-responses-mcp setup ", want: "openai-responses-mcp"},
	{begin: "openai-responses-mcp setup", want: "Codex"},
	{begin: "openai-responses-mcp --show-config 2>config-used.json"},
	{begin: "openai-responses-mcp --version", want: version.Version},
}

// TestCommands runs the commands of README and docs/reference with the built program. The API is the fake
// one, so that a question needs no network.
func TestCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a POSIX shell")
	}
	run := newShell(t)
	used := make(map[string]bool)
	for _, p := range pages(t, "README*.md", "docs/reference/*.md") {
		for _, b := range p.blocks {
			at := fmt.Sprintf("%s:%d", p.name, b.line)
			if b.kind == "console" { // a command that fails, and its output
				command, want, _ := strings.Cut(strings.TrimPrefix(b.text, "$ "), "\n")
				if out, err := run(command); err == nil || out != want {
					t.Errorf("%s: %s\n%v, got %q, want %q", at, command, err, out, want)
				}
			}
			if b.kind != "sh" {
				continue
			}
			for command := range strings.Lines(continued.ReplaceAllString(b.text, "")) {
				command = strings.TrimSpace(command)
				if command == "" || strings.HasPrefix(command, "#") {
					continue
				}
				i := slices.IndexFunc(rules, func(r rule) bool { return regexp.MustCompile("^(" + r.begin + ")").MatchString(command) })
				if i < 0 {
					t.Errorf("%s: %s\nno rule says how this is tried", at, command)
					continue
				}
				r := rules[i]
				used[r.begin] = true
				if r.not != "" {
					continue
				}
				if out, err := run(command); err != nil || !strings.Contains(out, r.want) {
					t.Errorf("%s: %s\n%v, want %q in the output:\n%s", at, command, err, r.want, out)
				}
			}
		}
	}
	for _, r := range rules {
		if !used[r.begin] {
			t.Errorf("no document has a command that begins with %q", r.begin)
		}
	}
}

var continued = regexp.MustCompile(`\\\n *`)

// newShell builds the program and returns a function that runs a command of a user who has it in PATH: in
// the repository if it uses Go, otherwise in an empty folder.
func newShell(t *testing.T) func(command string) (string, error) {
	t.Helper()
	api, apiErr := fakeapi.Start("always", "search")
	goenv, err := exec.Command("go", "env", "GOENV", "GOPATH", "GOCACHE", "GOMODCACHE").Output()
	if err = errors.Join(apiErr, err); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	of := strings.Split(string(goenv), "\n")
	bin, home := t.TempDir(), t.TempDir()
	env := []string{
		"HOME=" + home, "PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"OPENAI_API_KEY=sk-commands", "OPENAI_BASE_URL=" + api.URL,
		"GOENV=" + of[0], "GOPATH=" + of[1], "GOCACHE=" + of[2], "GOMODCACHE=" + of[3], "GOBIN=" + bin,
	}
	run := func(command string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Env, cmd.Dir = env, home
		if strings.Contains(command, "go ") {
			cmd.Dir = root
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("go install ./cmd/openai-responses-mcp"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return run
}
