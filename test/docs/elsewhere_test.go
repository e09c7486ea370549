package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

type absence struct {
	command string // a regular expression of the whole line
	reason  string
	file    string // of the repository
	holds   string // what file must hold, expanded from the expression's groups
}

// absent are the commands that cannot run in a test, each with the reason and
// with what is checked in its place: that the words it names stand in the file
// that decides about them. A command that is not listed here fails the test.
var absent = []absence{
	{`git clone https://(github\.com/uchimanajet7/openai-responses-mcp)`, "needs the network; the shell goes on in this checkout", "go.mod", "module $1\n"},
	{`go install (github\.com/uchimanajet7/openai-responses-mcp)/(cmd/openai-responses-mcp)@latest`, "needs a module proxy", "go.mod", "module $1\n"},
	{`go test (-race )?\./\.\.\.`, "is what runs this test", "go.mod", "module "},
	{`go test \./(test/\w+|internal/\w+).*`, "runs tests, this one among them", "go.mod", "module "},
	{`bash (\.ci/run)`, "runs this test", ".ci/run", "go test ./..."},
	{`bash (test/release/run\.sh)`, "takes many minutes and tools that are not Go", "test/release/run.sh", "#!"},
	{`brew install (uchimanajet7)/(tap)/(openai-responses-mcp)`, "needs Homebrew, the network and a release", ".goreleaser.yaml", "homebrew_casks:\n  - name: $3\n"},
	{`brew install --cask (uchimanajet7)/(tap)/(openai-responses-mcp)`, "needs Homebrew, the network and a release", ".goreleaser.yaml", "homebrew_casks:\n  - name: $3\n"},
	{`docker pull (ghcr\.io/uchimanajet7/openai-responses-mcp):` + regexp.QuoteMeta(version.Version), "needs Docker, the network and a release", ".goreleaser.yaml", "images: [$1]"},
	{`docker build -t \S+ \.`, "needs Docker; test/release builds the image", "Dockerfile", `ENTRYPOINT ["/openai-responses-mcp"]`},
	{`buildah build -t \S+ \.`, "needs buildah and the image of Go; test/release builds the image", "Dockerfile", `ENTRYPOINT ["/openai-responses-mcp"]`},
	{`claude mcp add .*`, "needs Claude Code", "internal/clients/clients.go", `"claude-code"`},
	{`npm (ci|install).*`, "needs the npm registry", "npm/package.json", `"name": "openai-responses-mcp"`},
	{`npm run ([a-z:]+)`, "needs Node; npm's own tests run the scripts", "npm/package.json", `"$1": `},
	{`npm --prefix npm (?:run )?([a-z:]+)`, "needs Node; npm's own tests run the scripts", "npm/package.json", `"$1": `},
	{`sudo (?:dpkg|apt) .*openai-responses-mcp.*\.deb`, "needs a release and a Debian system", ".goreleaser.yaml", "formats: [deb"},
}

// standIns puts commands into PATH that are not here or must not run. npx and
// docker start the program with the arguments that it would get; the others
// write down how they were called, for elsewhere to judge.
func (s *session) standIns() {
	note := fmt.Sprintf("echo \"$(basename \"$0\") $*\" >>%q\n", s.called)
	program := fmt.Sprintf("%q", s.binary)
	scripts := map[string]string{
		"npx": `[ "$1" != -y ] || shift
case $1 in openai-responses-mcp|openai-responses-mcp@` + version.Version + `) shift ;; *) echo "npx: no package $1" >&2; exit 1 ;; esac
exec ` + program + ` "$@"
`,
		"docker": `if [ "$1" != run ]; then ` + note + `exit; fi
shift
while :; do case $1 in
-i|--rm) shift ;;
-e|-v) shift 2 ;;
openai-responses-mcp|ghcr.io/uchimanajet7/openai-responses-mcp|ghcr.io/uchimanajet7/openai-responses-mcp:` + version.Version + `) shift; break ;;
*) echo "docker: no such word: $1" >&2; exit 1 ;;
esac; done
[ $# -gt 0 ] || set -- --stdio
exec ` + program + ` "$@"
`,
		"buildah": `case $1 in
build) ` + note + `exit ;;
from) [ "$2" = openai-responses-mcp ] && echo container; exit ;;
esac
if [ "$1 $2 $3 $4" != "run container -- /openai-responses-mcp" ]; then echo "buildah: $*" >&2; exit 1; fi
shift 4
exec ` + program + ` "$@"
`,
		"git": "if [ \"$1\" = clone ]; then " + note + fmt.Sprintf("ln -s %q openai-responses-mcp; exit; fi\n", s.root) + `exec "$(PATH=${PATH#*:} command -v git)" "$@"
`,
		"go": `case $* in test*|*@latest) ` + note + `exit ;; esac
exec "$(PATH=${PATH#*:} command -v go)" "$@"
`,
		"bash": `case $1 in .ci/*|test/*) ` + note + `exit ;; esac
exec "$(PATH=${PATH#*:} command -v bash)" "$@"
`,
	}
	for _, name := range []string{"brew", "claude", "npm", "sudo", "curl", "gh", "cosign"} {
		scripts[name] = note
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(s.bin, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
}

// elsewhere judges the calls of the stand-ins, and says which were not run.
func (s *session) elsewhere() {
	s.t.Helper()
	b, err := os.ReadFile(s.called)
	if err != nil {
		return // none was called
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		at := slices.IndexFunc(absent, func(a absence) bool {
			return regexp.MustCompile("^" + a.command + "$").MatchString(line)
		})
		if at < 0 {
			s.t.Errorf("%q was not run, and no reason is known", line)
			continue
		}
		a := absent[at]
		want := regexp.MustCompile("^"+a.command+"$").ReplaceAllString(line, a.holds)
		if text, err := os.ReadFile(filepath.Join(s.root, a.file)); err != nil || !strings.Contains(string(text), want) {
			s.t.Errorf("%q: %s does not hold %q (%v)", line, a.file, want, err)
		}
		s.t.Logf("not run: %q %s", line, a.reason)
	}
}
