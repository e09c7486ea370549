package clients

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
const odd = "/opt/Program Files\\\"R&D\" it's <日本>\\openai-responses-mcp.exe"

// servers are the cases of the tests.
func servers() map[string]Server {
	key, limit := []string{"OPENAI_API_KEY"}, 5*time.Minute
	return map[string]Server{
		"npx":                  {Via: ViaNPX, OS: "linux", Keys: key, Limit: limit},
		"npx on Windows":       {Via: ViaNPX, OS: "windows", Keys: key, Limit: limit, Config: `C:\o\c.yaml`},
		"docker, configured":   {Via: ViaDocker, OS: "linux", Keys: []string{"MY_KEY", "GATEWAY_TOKEN", "TENANT"}, Config: `/a:b/c d/config.yaml`},
		"a path of many kinds": {Via: ViaBinary, OS: "linux", Keys: key, Limit: limit, Binary: odd},
		"http":                 {Via: ViaHTTP, OS: "linux", Limit: limit, URL: "https://mcp.example.com/mcp"},
	}
}

// The command lines that the page does not show.
func TestCommandLine(t *testing.T) {
	for title, want := range map[string][]string{
		"npx on Windows": {"cmd", "/c", "npx", "-y", pinned, "--stdio", "--config", `C:\o\c.yaml`},
		"docker, configured": {"docker", "run", "-i", "--rm", "-e", "MY_KEY", "-e", "GATEWAY_TOKEN", "-e", "TENANT",
			"--mount", "type=bind,source=/a:b/c d,target=/config,readonly", image, "--stdio", "--config", "/config/config.yaml"},
		"a path of many kinds": {odd, "--stdio"},
	} {
		if diff := cmp.Diff(want, servers()[title].command()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
	}
}

// For any path of the program every file parses, every secret is named, and a shell reads the
// words of a command as they are.
func TestClients(t *testing.T) {
	sh, noShell := exec.LookPath("sh")
	for title, s := range servers() {
		for _, c := range All() {
			snippet := c.Snippet(s)
			values := []string{snippet}
			if c.ID == "codex" { // TOML, whose strings are those of JSON
				values = regexp.MustCompile(`(?m) = .*$`).FindAllString(snippet, -1)
			}
			for _, value := range values {
				if !json.Valid([]byte(strings.TrimPrefix(value, " = "))) {
					t.Errorf("%s, %s: not JSON:\n%s", c.ID, title, value)
				}
			}
			for _, v := range s.secrets() {
				if !strings.Contains(snippet+strings.Join(c.Notes(s), "\n"), v) {
					t.Errorf("%s, %s: %s is named neither in the file nor in a note", c.ID, title, v)
				}
			}
			if noShell != nil || runtime.GOOS == "windows" || c.add == "" {
				continue
			}
			posix := s
			posix.OS = "linux"
			command, _ := c.Command(posix)
			out, err := exec.CommandContext(t.Context(), sh, "-c", `printf '%s\n' `+command).Output()
			if diff := cmp.Diff(strings.Join(c.words(posix), "\n")+"\n", string(out)); diff != "" || err != nil {
				t.Errorf("%s, %s: %v (-want +got):\n%s", c.ID, title, err, diff)
			}
		}
	}
}

// A link holds the entry, which a client decodes.
func TestLink(t *testing.T) {
	cursor, _ := Find("cursor")
	vscode, _ := Find("vscode")
	for title, s := range servers() {
		u, err := url.Parse(cursor.Link(s))
		if err != nil {
			t.Fatal(err)
		}
		config, noBase64 := base64.StdEncoding.DecodeString(u.Query().Get("config"))
		_, query, _ := strings.Cut(vscode.Link(s), "?")
		named, noQuery := url.PathUnescape(query) // decodeURIComponent: a + is a +
		for got, want := range map[string]entry{string(config): cursor.entry(s), named: vscode.entry(s)} {
			var e entry
			err := errors.Join(noBase64, noQuery, json.Unmarshal([]byte(got), &e))
			if diff := cmp.Diff(encode(want, " "), encode(e, " ")); diff != "" || err != nil {
				t.Errorf("%s: %v in %s (-want +got):\n%s", title, err, got, diff)
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
	s := servers()["npx"]
	cursor, _ := Find("cursor")
	vscode, _ := Find("vscode")
	_, query, _ := strings.Cut(cursor.Link(s), "?")
	return fmt.Sprintf("[![%s Cursor](https://cursor.com/deeplink/mcp-install-light.svg)](https://cursor.com/en/install-mcp?%s)\n"+
		"[![%s VS Code](https://img.shields.io/badge/VS_Code-Add-0098FF)](https://insiders.vscode.dev/redirect?url=%s)\n",
		label, query, label, url.QueryEscape(vscode.Link(s)))
}

func clientFiles() string {
	table := "| Client | `setup` | Linux | macOS | Windows |\n|---|---|---|---|---|\n"
	for _, c := range All() {
		table += fmt.Sprintf("| %s | `%s` | `%s` | `%s` | `%s` |\n", c.Name, c.ID, c.File("linux"), c.File("darwin"), c.File("windows"))
	}
	return table
}

func snippets() string {
	var parts []string
	for _, c := range All() {
		s := servers()["npx"]
		part := "### " + c.Name + "\n\n" + fence(c, s)
		if link := c.Link(s); link != "" {
			part += "Or a link that adds the entry:\n\n```text\n" + link + "\n```\n\n"
		}
		command, omits := c.Command(s)
		how := "Or the client's own command"
		if omits != "" {
			how = "The client's own command writes an incomplete entry, which needs " + omits
		}
		if command != "" {
			part += how + ":\n\n```text\n" + command + "\n```\n\n"
		}
		parts = append(parts, part+"- "+strings.Join(c.Notes(s), "\n- ")+"\n")
	}
	return strings.Join(parts, "\n")
}

func httpSnippets() (parts string) {
	for _, c := range All() {
		if c.NoHTTP == "" {
			parts += c.Name + ":\n\n" + fence(c, servers()["http"])
		}
	}
	return strings.TrimSuffix(parts, "\n")
}

// fence is the file of a client as a block of code.
func fence(c Client, s Server) string {
	language := filepath.Ext(strings.Fields(c.File("linux"))[0])
	return fmt.Sprintf("```%s\n%s```\n\n", strings.TrimPrefix(language, "."), c.Snippet(s))
}
