package clients

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated parts of the documents")

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

// servers are the cases of the tests.
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

// The command lines that the page does not show.
func TestCommandLine(t *testing.T) {
	for title, want := range map[string][]string{
		"2 npx on Windows, with a configuration": {"cmd", "/c", "npx", "-y", pinned, "--stdio", "--config", `C:\o\c.yaml`},
		"3 docker, with a configuration and other variables": {"docker", "run", "-i", "--rm", "-e", "MY_KEY", "-e", "GATEWAY_TOKEN", "-e", "TENANT",
			"--mount", "type=bind,source=/a:b/c d,target=/config,readonly", image, "--stdio", "--config", "/config/config.yaml"},
		"4 binary": {"/opt/" + odd, "--stdio"},
	} {
		if diff := cmp.Diff(want, servers()[title].command()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
	}
}

// Every file parses, for any path of the program. TOML strings are those of JSON.
func TestSnippets(t *testing.T) {
	for title, s := range servers() {
		for _, c := range All() {
			snippet := c.Snippet(s)
			if c.ID == "codex" {
				for line := range strings.Lines(snippet) {
					if _, value, ok := strings.Cut(line, " = "); ok && !json.Valid([]byte(value)) {
						t.Errorf("codex, %s: %s", title, line)
					}
				}
			} else if !json.Valid([]byte(snippet)) {
				t.Errorf("%s, %s: not JSON:\n%s", c.ID, title, snippet)
			}
			for _, v := range s.secrets() {
				if !strings.Contains(snippet+strings.Join(c.Notes(s), "\n"), v) {
					t.Errorf("%s, %s: %s is named neither in the file nor in a note", c.ID, title, v)
				}
			}
		}
	}
}

// A link holds the entry, which a client decodes.
func TestLink(t *testing.T) {
	for title, s := range servers() {
		for id, decode := range map[string]func(*url.URL) ([]byte, error){
			"cursor": func(u *url.URL) ([]byte, error) { return base64.StdEncoding.DecodeString(u.Query().Get("config")) },
			"vscode": func(u *url.URL) ([]byte, error) {
				text, err := url.PathUnescape(u.RawQuery) // decodeURIComponent: a + is a +
				return []byte(text), err
			},
		} {
			c, _ := Find(id)
			u, err := url.Parse(c.Link(s))
			if err != nil {
				t.Fatal(err)
			}
			var got entry
			b, err := decode(u)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &got); err != nil {
				t.Fatalf("%s, %s: %v in %s", id, title, err, b)
			}
			if diff := cmp.Diff(encode(c.entry(s), " "), encode(got, " ")); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", id, title, diff)
			}
		}
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
			command, _ := c.Command(s)
			out, err := exec.CommandContext(t.Context(), sh, "-c", `printf '%s\n' `+command).Output()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Join(c.words(s), "\n")+"\n", string(out)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", c.ID, title, diff)
			}
		}
	}
}

// The documents show what setup prints.
func TestDocuments(t *testing.T) {
	for page, parts := range map[string]map[string]string{
		"docs/reference/client-setup.md": {"clients": clientFiles(), "snippets": snippets(), "http": httpSnippets()},
		"README.md":                      {"buttons": buttons("Add to")},
		"README.ja.md":                   {"buttons": buttons("追加:")},
	} {
		file := filepath.Join("../..", filepath.FromSlash(page))
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		was := strings.ReplaceAll(string(b), "\r\n", "\n")
		text := was
		for part, want := range parts {
			begin, end := "<!-- generated: "+part+" -->\n", "<!-- end -->\n"
			before, rest, ok := strings.Cut(text, begin)
			_, after, closed := strings.Cut(rest, end)
			if !ok || !closed {
				t.Fatalf("%s has no place for %s", page, part)
			}
			text = before + begin + "\n" + want + "\n" + end + after
		}
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if diff := cmp.Diff(was, text); diff != "" {
			t.Errorf("%s is out of date, run go test ./internal/clients -update (-file +program):\n%s", page, diff)
		}
	}
}

// buttons are links for web pages, which may not have the schemes of the clients.
func buttons(label string) string {
	s := servers()["1 npx"]
	cursor, _ := Find("cursor")
	vscode, _ := Find("vscode")
	_, query, _ := strings.Cut(cursor.Link(s), "?")
	return fmt.Sprintf("[![%s Cursor](https://cursor.com/deeplink/mcp-install-light.svg)](https://cursor.com/en/install-mcp?%s)\n"+
		"[![%s VS Code](https://img.shields.io/badge/VS_Code-Add-0098FF)](https://insiders.vscode.dev/redirect?url=%s)\n",
		label, query, label, url.QueryEscape(vscode.Link(s)))
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
		if link := c.Link(s); link != "" {
			part += "Or a link that adds the entry:\n\n```text\n" + link + "\n```\n\n"
		}
		switch command, omits := c.Command(s); {
		case omits != "":
			part += "The client's own command writes an incomplete entry, which needs " + omits + ":\n\n```text\n" + command + "\n```\n\n"
		case command != "":
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
