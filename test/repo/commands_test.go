package repo_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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
	{
		begin: "docker ",
		not:   "needs a container engine; .ci/release builds the image with buildah, and calls it",
	},
	{begin: "buildah ", not: ".ci/release, with this machine's Go in place of the golang image"},
	{begin: "npx ", not: ".ci/release, from a registry on loopback (test/release/npm.mjs)"},
	{begin: "brew ", not: "needs a published release; .ci/release checks the cask"},
	{begin: "curl ", not: "needs a published release; .ci/release unpacks and starts each package"},
	{begin: "(gh|cosign|npm audit|go install github.com)[ /]", not: "needs a published release"},
	{begin: "xattr ", not: "needs macOS"},
	{begin: "sha256sum ", not: ".ci/release, in the step of the checksums"},
	{begin: "kubectl ", not: "needs a cluster; test/manifests checks the files"},
	{begin: ".*sudo ", not: "changes the machine; .ci/release has systemd check the unit"},
	{begin: "go test ", not: "it is this test's own run"},
	{
		begin: "openai-responses-mcp serve ",
		not:   "does not end; TestServe in internal/cli, and .ci/run over HTTP",
	},

	{begin: "export |[A-Z]+="},
	{begin: "(mkdir|printf|echo) .*config/secrets"},
	{begin: "go install ./cmd/"},
	{begin: "go run ./cmd/openai-responses-mcp ask |git diff \\| go run ", want: "Sources:"},
	{begin: "(go run ./cmd/)?openai-responses-mcp smoke", want: "used_search"},
	{begin: "openai-responses-mcp ask ", want: "tokens"},
	{begin: "openai-responses-mcp doctor", want: "policy"},
	{begin: "openai-responses-mcp setup claude-code --via http --url https", want: `"Authorization"`},
	{begin: "openai-responses-mcp setup claude-code --via http --url http:", want: "needs none"},
	{begin: "openai-responses-mcp setup codex --via http .*--oauth", want: "codex mcp login"},
	{begin: "openai-responses-mcp setup claude-ai --url", want: "Remote MCP server URL: https"},
	{begin: "openai-responses-mcp setup vscode", want: `"https://mcp.example.com/mcp"`},
	{begin: "openai-responses-mcp setup cursor --via docker", want: `"docker"`},
	{begin: "openai-responses-mcp setup ", want: "openai-responses-mcp"},
	{begin: "openai-responses-mcp setup", want: "Codex"},
	{begin: "openai-responses-mcp --show-config 2>config-used.json"},
	{begin: "openai-responses-mcp --version", want: version.Version},
}

// ruleFor returns the rule that applies to a command, or nil.
func ruleFor(command string) *rule {
	for i, r := range rules {
		if regexp.MustCompile("^(" + r.begin + ")").MatchString(command) {
			return &rules[i]
		}
	}
	return nil
}

// TestCommands runs the commands of README and docs/reference with the built program. The API is the
// fake one, so that a question needs no network.
func TestCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a POSIX shell")
	}

	run := newShell(t)
	used := map[string]bool{}
	for _, p := range pages(t, "README*.md", "docs/reference/*.md") {
		for _, b := range p.blocks {
			at := fmt.Sprintf("%s:%d", p.name, b.line)
			switch b.kind {
			case "console":
				t.Run(at, func(t *testing.T) { runConsole(t, run, b.text) })
			case "sh":
				t.Run(at, func(t *testing.T) { runCommands(t, run, b.text, used) })
			}
		}
	}

	for _, r := range rules {
		if !used[r.begin] {
			t.Errorf("no document has a command that begins with %q", r.begin)
		}
	}
}

// shell runs a command and returns its output.
type shell func(command string) (string, error)

// runConsole runs a block that has a command that fails, and its output.
func runConsole(t *testing.T, run shell, text string) {
	command, want, _ := strings.Cut(strings.TrimPrefix(text, "$ "), "\n")
	got, err := run(command)
	if err == nil {
		t.Errorf("%s\ndid not fail", command)
	}

	if got != want {
		t.Errorf("%s\ngot  %q\nwant %q", command, got, want)
	}
}

// continued matches the end of a line that the next line continues.
var continued = regexp.MustCompile(`\\\n *`)

// runCommands runs the commands of a block as their rules say, and notes the rules.
func runCommands(t *testing.T, run shell, text string, used map[string]bool) {
	for line := range strings.Lines(continued.ReplaceAllString(text, "")) {
		command := strings.TrimSpace(line)
		if command == "" || strings.HasPrefix(command, "#") {
			continue
		}

		r := ruleFor(command)
		if r == nil {
			t.Errorf("%s\nno rule says how this is tried", command)
			continue
		}

		used[r.begin] = true
		if r.not != "" {
			continue
		}

		out, err := run(command)
		if err != nil {
			t.Errorf("%s\n%v", command, err)
		}
		if !strings.Contains(out, r.want) {
			t.Errorf("%s\nwant %q in the output:\n%s", command, r.want, out)
		}
	}
}

// newShell builds the program and returns the shell of a user who has it in PATH. Commands that use Go
// run in the repository, others in an empty folder.
func newShell(t *testing.T) shell {
	t.Helper()

	api, err := fakeapi.Start("always", "search")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)

	bin := t.TempDir()
	home := t.TempDir()
	env := []string{
		"HOME=" + home,
		"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"OPENAI_API_KEY=sk-commands",
		"OPENAI_BASE_URL=" + api.URL,
		"GOBIN=" + bin,
	}
	for _, name := range []string{"GOENV", "GOPATH", "GOCACHE", "GOMODCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}

	run := func(command string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Env = env
		cmd.Dir = home
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
