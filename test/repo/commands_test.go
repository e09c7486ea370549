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

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// TestCommands runs the commands of README and docs/reference with the built program. The API is
// the fake one, so that a question needs no network.
func TestCommands(t *testing.T) {
	compare.SkipShort(t, "builds the program")
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
	outputs := compare.Table(t, "commands", 2)
	for line := range strings.Lines(continued.ReplaceAllString(text, "")) {
		command := strings.TrimSpace(line)
		i := slices.IndexFunc(outputs, func(row []string) bool {
			return regexp.MustCompile("^(" + row[0] + ")").MatchString(command)
		})
		if i < 0 {
			t.Errorf("%s\ntestdata/commands.table does not have it", command)
			continue
		}

		want := strings.ReplaceAll(outputs[i][1], "NUMBER", version.Version)
		if want == "-" {
			continue
		}
		out, err := run(command)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s\n%v, want %q in the output:\n%s", command, err, want, out)
		}
	}
}

// newShell builds the program and returns the shell of a user who has it in PATH. Commands that use
// Go run in the repository, others in an empty folder.
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
