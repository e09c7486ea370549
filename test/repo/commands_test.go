package repo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
)

// notRun match the commands that TestCommands does not run. They run elsewhere, or need what a test
// does not have: the network, a published release, a container engine, a cluster, another system.
var notRun = []string{
	"cd ",        // TestCommands starts in the repository.
	"git clone ", // needs the network
	"docker ",    // .ci/release builds the image with buildah, and calls it.
	"buildah ",   // .ci/release, with this machine's Go in place of the golang image
	"npx ",       // .ci/release, from a registry on loopback (test/release/npm.mjs)
	"brew ",      // .ci/release checks the cask.
	"curl ",      // .ci/release unpacks and starts each package.
	"(gh|cosign|npm audit|go install github.com)[ /]", // need a published release
	"xattr ",     // needs macOS
	"sha256sum ", // .ci/release, in the step of the checksums
	"kubectl ",   // test/manifests checks the files.
	".*sudo ",    // changes the machine; .ci/release has systemd check the unit.
	"go test ",   // is this test's own run
	// reads the key from a terminal
	"openai-responses-mcp login",
	// does not end; TestServeJSON in internal/cli, and .ci/run over HTTP
	"openai-responses-mcp serve ",
}

// output is what a command prints, by its beginning.
type output struct{ begin, want string }

// outputs have what commands print, by their beginning. The first that fits applies.
var outputs = []output{
	{"export |[A-Z]+=", ""},
	{"(mkdir|printf|echo) .*config/secrets", ""},
	{"printf %s token:alice ", "142cf5f743a90ad4"},
	{"go install ./cmd/", ""},
	{"go run ./cmd/openai-responses-mcp ask |cat go.mod \\| go run ", "Sources:"},
	{"(go run ./cmd/)?openai-responses-mcp smoke", "used_search"},
	{"openai-responses-mcp ask ", "tokens"},
	{"openai-responses-mcp doctor", "policy"},
	{"openai-responses-mcp setup claude-code --via http --url https", `"Authorization"`},
	{"openai-responses-mcp setup claude-code --via http --url http:", "needs none"},
	{"openai-responses-mcp setup codex --via http .*--oauth", "codex mcp login"},
	{"openai-responses-mcp setup claude-ai --url", "Remote MCP server URL: https"},
	{"openai-responses-mcp setup vscode", `"https://mcp.example.com/mcp"`},
	{"openai-responses-mcp setup cursor --via docker", `"docker"`},
	{"openai-responses-mcp setup ", "openai-responses-mcp"},
	{"openai-responses-mcp setup", "Codex"},
	{"openai-responses-mcp --show-config 2>config-used.json", ""},
	{"openai-responses-mcp --version", version.Version},
}

// TestCommands runs the commands of README and docs/reference with the built program. The API is the
// fake one, so that a question needs no network.
func TestCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a POSIX shell")
	}

	run := newShell(t)
	checkBlocks(t, map[string]func(*testing.T, string){
		"console": run.failing,
		"sh":      run.commands,
	}, "README*.md", "docs/reference/*.md")
}

// shell runs a command and returns its output.
type shell func(command string) (string, error)

// failing runs a block that has a command that fails, and its output.
func (run shell) failing(t *testing.T, text string) {
	command, want, _ := strings.Cut(strings.TrimPrefix(text, "$ "), "\n")
	got, err := run(command)
	if err == nil || got != want {
		t.Errorf("%s\n%v\ngot  %q\nwant a failure and %q", command, err, got, want)
	}
}

// continued matches the end of a line that the next line continues.
var continued = regexp.MustCompile(`\\\n *`)

// commands runs the commands of a block.
func (run shell) commands(t *testing.T, text string) {
	for line := range strings.Lines(continued.ReplaceAllString(text, "")) {
		command := strings.TrimSpace(line)
		fits := func(pattern string) bool {
			return regexp.MustCompile("^(" + pattern + ")").MatchString(command)
		}
		if fits("#|$") || slices.ContainsFunc(notRun, fits) {
			continue
		}

		i := slices.IndexFunc(outputs, func(o output) bool { return fits(o.begin) })
		if i < 0 {
			t.Errorf("%s\nneither notRun nor outputs has it", command)
			continue
		}

		out, err := run(command)
		if err != nil || !strings.Contains(out, outputs[i].want) {
			t.Errorf("%s\n%v, want %q in the output:\n%s", command, err, outputs[i].want, out)
		}
	}
}

// newShell builds the program and returns the shell of a user who has it in PATH. Commands that use Go
// run in the repository, others in an empty folder.
func newShell(t *testing.T) shell {
	t.Helper()

	api, err := apitest.Start("always", "search")
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
