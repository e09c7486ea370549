package clients

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

var update = flag.Bool("update", false, "write testdata and docs/reference/client-setup.md")

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"claude-code": "claude-code", "claude": "claude-code", "Claude Code": "claude-code", "Claude Desktop": "claude-desktop",
		" CODEX ": "codex", "VS Code": "vscode", "code": "vscode", "gemini": "gemini-cli", "gemini_cli": "gemini-cli",
		"opencode": "opencode", "curser": "", "日本": "", "": "",
	} {
		if got, ok := Find(name); got.ID != want || ok != (want != "") {
			t.Errorf("Find(%q) = %s, %v, want %s", name, got.ID, ok, want)
		}
	}
}

// odd has what a path may have: blanks, quotes, markup, Japanese.
const odd = "Program Files\\\"R&D\" it's <日本>\\openai-responses-mcp.exe"

// servers are the cases of the golden files.
func servers() map[string]Server {
	s := Server{KeyEnv: "OPENAI_API_KEY", OS: "linux", Timeout: 5 * time.Minute}
	with := func(change func(*Server)) Server { c := s; change(&c); return c }
	return map[string]Server{
		"1 npx": with(func(s *Server) { s.Via = ViaNPX }),
		"2 npx on Windows, with a configuration": with(func(s *Server) {
			s.Via, s.OS, s.Config = ViaNPX, "windows", `C:\o\c.yaml`
		}),
		"3 docker, with a configuration and other variables": with(func(s *Server) {
			s.Via, s.KeyEnv, s.More, s.Config = ViaDocker, "MY_KEY", []string{"GATEWAY_TOKEN", "TENANT"}, `/a:b/c d/config.yaml`
		}),
		"4 binary": with(func(s *Server) { s.Via, s.Binary = ViaBinary, "/opt/"+odd }),
		"5 http":   with(func(s *Server) { s.Via, s.URL = ViaHTTP, "https://mcp.example.com/mcp" }),
	}
}

func TestGolden(t *testing.T) {
	for _, c := range All() {
		var b strings.Builder
		for _, title := range slices.Sorted(maps.Keys(servers())) {
			s := servers()[title]
			if s.Via == ViaHTTP && c.NoHTTP != "" {
				continue
			}
			snippet := c.Snippet(s)
			if c.ID != "codex" && !json.Valid([]byte(snippet)) {
				t.Errorf("%s, %s: not JSON:\n%s", c.ID, title, snippet)
			}
			fmt.Fprintf(&b, "== %s\n%s\n%s\n", title, snippet, c.Command(s))
			for _, n := range append(c.Notes(s), s.Notes()...) {
				fmt.Fprintf(&b, "- %s\n", n)
			}
		}
		text := strings.ReplaceAll(b.String(), version.Version, "VERSION")
		compare(t, filepath.Join("testdata", c.ID+".txt"), text)
	}
}

// A shell reads the words of a command as they are.
func TestCommandQuoting(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no POSIX shell")
	}
	for title, s := range servers() {
		s.OS = "linux"
		for _, c := range All() {
			if c.add == "" {
				continue
			}
			out, err := exec.CommandContext(t.Context(), sh, "-c", `printf '%s\n' `+c.Command(s)).Output()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Join(c.words(s), "\n")+"\n", string(out)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", c.ID, title, diff)
			}
		}
	}
}

// The page for users shows what setup prints.
func TestPage(t *testing.T) {
	const page = "../../docs/reference/client-setup.md"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	for part, want := range map[string]string{"clients": clientFiles(), "snippets": snippets(), "http": httpSnippets()} {
		begin, end := "<!-- generated: "+part+" -->\n", "<!-- end -->\n"
		before, rest, ok := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no place for %s", page, part)
		}
		text = before + begin + "\n" + want + "\n" + end + after
	}
	compare(t, page, text)
}

// compare compares text with a file, or writes the file with -update.
func compare(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), text); diff != "" {
		t.Errorf("%s is out of date, run go test ./internal/clients -update (-file +program):\n%s", file, diff)
	}
}

func clientFiles() string {
	var b strings.Builder
	b.WriteString("| Client | `setup` | Linux | macOS | Windows |\n|---|---|---|---|---|\n")
	for _, c := range All() {
		fmt.Fprintf(&b, "| %s | `%s` | `%s` | `%s` | `%s` |\n", c.Name, c.ID, c.File("linux"), c.File("darwin"), c.File("windows"))
	}
	return b.String()
}

func snippets() string {
	var parts []string
	for _, c := range All() {
		s := servers()["1 npx"]
		part := fmt.Sprintf("### %s\n\n```%s\n%s```\n\n", c.Name, language(c), c.Snippet(s))
		if command := c.Command(s); command != "" {
			part += "Or the client's own command:\n\n```text\n" + command + "\n```\n\n"
		}
		parts = append(parts, part+"- "+strings.Join(c.Notes(s), "\n- ")+"\n")
	}
	return strings.Join(parts, "\n")
}

func httpSnippets() string {
	var parts []string
	for _, c := range All() {
		if c.NoHTTP == "" {
			parts = append(parts, fmt.Sprintf("%s:\n\n```%s\n%s```\n", c.Name, language(c), c.Snippet(servers()["5 http"])))
		}
	}
	return strings.Join(parts, "\n")
}

func language(c Client) string {
	return strings.TrimPrefix(filepath.Ext(strings.Fields(c.File("linux"))[0]), ".")
}
