package docs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// followed are the pages whose commands are run, and where a reader begins: the
// README with the clone, verification in one, the others with the program
// installed as well.
var followed = []struct {
	name                string
	checkout, installed bool
}{
	{"README.md", false, false},
	{"README.ja.md", false, false},
	{"docs/verification.md", true, false},
	{"docs/architecture.md", true, true},
	{"docs/spec.md", true, true},
	{"docs/reference/client-setup.md", true, true},
	{"docs/reference/reproducibility.md", false, true},
	{"docs/reference/system-policy.md", true, true},
	{"docs/reference/transports.md", true, true},
	{"CONTRIBUTING.md", true, true},
	{"SECURITY.md", true, true},
}

// Every command of a page runs, in one shell from the first to the last, as a
// reader would type them: in an empty home folder, without a network, and with
// the fake API where the real one would be. What a transcript shows is what
// comes out.
func TestCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands of the documentation are for a POSIX shell")
	}
	binary := build(t)
	for _, f := range followed {
		t.Run(strings.ReplaceAll(f.name, "/", "_"), func(t *testing.T) {
			t.Parallel()
			s := newSession(t, binary)
			if f.installed {
				s.install()
			}
			s.follow(read(t, f.name), f.checkout)
		})
	}
}

// build makes the program and everything that the commands will want of the Go
// tool, so that the sessions find it in the cache.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "openai-responses-mcp")
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/openai-responses-mcp")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	// The go command keeps results until a file changes that was looked at here.
	look := func(_ string, _ fs.DirEntry, err error) error { return err }
	if err := filepath.WalkDir(filepath.Join(root, "internal"), look); err != nil {
		t.Fatal(err)
	}
	return binary
}

// session is a reader at a shell.
type session struct {
	t      *testing.T
	dir    string // holds all that follows
	home   string
	binary string // the program, for the stand-ins
	bin    string // stand-ins, first in PATH
	gobin  string // where go install puts it, next in PATH
	called string // what the stand-ins were called with, a line each
	root   string
	env    []string
}

func newSession(t *testing.T, binary string) *session {
	t.Helper()
	repo, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &session{t: t, dir: dir, root: repo, binary: binary, home: filepath.Join(dir, "home"),
		bin: filepath.Join(dir, "bin"), gobin: filepath.Join(dir, "gobin"), called: filepath.Join(dir, "called")}
	for _, d := range []string{s.home, s.bin, s.gobin, filepath.Join(dir, "out"), filepath.Join(dir, "here")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.standIns()
	api := fakeapi.New(fakeapi.Options{})
	base, stop, err := api.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	s.env = append(goEnv(t),
		"HOME="+s.home,
		"PATH="+s.bin+":"+s.gobin+":"+os.Getenv("PATH"),
		"GOBIN="+s.gobin, "GOPROXY=off", "GOFLAGS=-mod=readonly",
		"OPENAI_BASE_URL="+base, // where a page sets a key, the fake API takes it
		"LANG=C.UTF-8", "NO_COLOR=1", "TMPDIR="+dir)
	return s
}

// install puts the program into PATH.
func (s *session) install() {
	s.t.Helper()
	if err := os.Symlink(s.binary, filepath.Join(s.gobin, "openai-responses-mcp")); err != nil {
		s.t.Fatal(err)
	}
}

// goEnv keeps the caches of the Go tool: the home folder is another one.
func goEnv(t *testing.T) []string {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	for i, value := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		env = append(env, names[i]+"="+value)
	}
	return env
}

// follow runs the sh and console blocks of p. Those of sh stop at the first
// command that fails; a transcript may show a failure.
func (s *session) follow(p page, checkout bool) {
	s.t.Helper()
	var script strings.Builder
	dir := filepath.Join(s.dir, "here")
	if checkout {
		dir = s.root
	}
	fmt.Fprintf(&script, "cd %q\n", dir)
	type output struct{ at, command, want, file string }
	var outputs []output
	for _, b := range p.blocks {
		at := fmt.Sprintf("%s:%d", p.name, b.line)
		switch b.kind {
		case "sh":
			file := fmt.Sprintf("%s/out/%d", s.dir, len(outputs))
			outputs = append(outputs, output{at: at, command: b.text, file: file})
			fmt.Fprintf(&script, "set -euo pipefail\n{\n%s} >%q 2>&1 </dev/null\n", b.text, file)
		case "console":
			for _, step := range transcript(b.text) {
				file := fmt.Sprintf("%s/out/%d", s.dir, len(outputs))
				outputs = append(outputs, output{at, step[0], step[1], file})
				fmt.Fprintf(&script, "set +e\n{\n%s\n} >%q 2>&1 </dev/null\n", step[0], file)
			}
		}
	}
	s.shell(script.String(), func() {
		for _, o := range outputs {
			if got, err := os.ReadFile(o.file); err == nil {
				s.t.Logf("%s: %s%s", o.at, o.command, got)
			}
		}
	})
	for _, o := range outputs {
		if o.want == "" {
			continue
		}
		got, err := os.ReadFile(o.file)
		if err != nil {
			s.t.Error(err)
		} else if diff := cmp.Diff(s.steady(o.want), shorten(s.steady(o.want), s.steady(string(got)))); diff != "" {
			s.t.Errorf("%s: %q prints something else (-page +program):\n%s", o.at, o.command, diff)
		}
	}
	s.elsewhere()
}

func (s *session) shell(script string, report func()) {
	s.t.Helper()
	cmd := exec.Command("bash", "-c", script)
	cmd.Env, cmd.WaitDelay = s.env, 10*time.Second
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		s.t.Skip("there is no bash here")
	}
	if err != nil {
		report()
		s.t.Fatalf("the commands fail: %v\n%s", err, out)
	}
}

// transcript splits a console block into commands and what they print.
func transcript(text string) [][2]string {
	var steps [][2]string
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, [2]string{strings.TrimSpace(command)})
		} else if len(steps) > 0 {
			steps[len(steps)-1][1] += line
		}
	}
	return steps
}

// shorten leaves out of what was printed what the page stands … for: any
// number of lines.
func shorten(want, got string) string {
	parts := strings.Split(want, "\n…\n")
	if len(parts) == 1 {
		return got
	}
	if !strings.HasPrefix(got, parts[0]) {
		return got
	}
	rest, out := got[len(parts[0]):], parts[0]
	for i, part := range parts[1:] {
		at := strings.Index(rest, "\n"+part)
		if i == len(parts)-2 { // the last one ends what was printed
			if !strings.HasSuffix(rest, "\n"+part) {
				return got
			}
			at = len(rest) - len(part) - 1
		}
		if at < 0 {
			return got
		}
		out, rest = out+"\n…\n"+part, rest[at+1+len(part):]
	}
	return out
}

// steady replaces what differs from one run to the next.
func (s *session) steady(text string) string {
	text = strings.TrimRight(strings.ReplaceAll(text, s.home, "~"), "\n")
	for _, r := range []struct{ pattern, with string }{
		{`\d{4}-\d{2}-\d{2}(\D|$)`, "2026-01-02$1"},
		{`\b\d+ ms\b`, "5 ms"},
		{`127\.0\.0\.1:\d+`, "127.0.0.1:40000"},
		{`[a-z]+/(amd64|arm64), go1\.\d+(\.\d+)?`, "linux/amd64, go1.26"},
		{`\b(req|resp|msg|ws|rs)_[0-9a-f]+`, "${1}_0"},
		{`"openai-responses-mcp/elapsed_ms":\d+`, `"openai-responses-mcp/elapsed_ms":5`},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	return text
}
