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
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

var update = flag.Bool("update", false, "write the generated parts of the documents")

func TestFind(t *testing.T) {
	for query, want := range map[string]string{
		"claude-code":    "claude-code",
		"claude":         "claude-code",
		"Claude Code":    "claude-code",
		"Claude Desktop": "claude-desktop",
		" CODEX ":        "codex",
		"VS Code":        "vscode",
		"code":           "vscode",
		"gemini":         "gemini-cli",
		"gemini_cli":     "gemini-cli",
		"opencode":       "opencode",
		"claude.ai":      "claude-ai",
		"curser":         "",
		"日本":             "",
		"":               "",
	} {
		t.Run(query, func(t *testing.T) {
			if got, _ := Find(query); got.ID != want {
				t.Errorf("Find(%q) = %q, want %q", query, got.ID, want)
			}
		})
	}
}

// odd has what a path may have: blanks, quotes, markup, Japanese.
const odd = "/opt/Program Files\\\"R&D\" it's <日本>\\openai-responses-mcp.exe"

// servers are the cases of the tests. The documents show npx and http.
func servers() map[string]Server {
	keys := []string{"OPENAI_API_KEY"}
	limit := 5 * time.Minute

	return map[string]Server{
		"npx": {
			Via:   ViaNPX,
			Keys:  keys,
			Limit: limit,
		},
		"npx on Windows": {
			Via:    ViaNPX,
			OS:     "windows",
			Keys:   keys,
			Config: `C:\o\c.yaml`,
		},
		"docker, configured": {
			Via:    ViaDocker,
			Keys:   []string{"MY_KEY", "GATEWAY_TOKEN", "TENANT"},
			Config: `/a:b/c d/config.yaml`,
		},
		"a path of many kinds": {
			Via:    ViaBinary,
			Keys:   keys,
			Binary: odd,
		},
		"http": {
			Via:   ViaHTTP,
			URL:   "https://mcp.example.com/mcp",
			Limit: limit,
		},
		"http, signing in": {
			Via:   ViaHTTP,
			URL:   "https://mcp.example.com/mcp",
			OAuth: true,
		},
		"http, this machine": {
			Via: ViaHTTP,
			URL: "http://LocalHost:8080/mcp",
		},
	}
}

// The command lines that the page does not show.
func TestCommandLine(t *testing.T) {
	for title, want := range map[string][]string{
		"npx on Windows": {
			"cmd", "/c", "npx", "-y", pinned, "--stdio", "--config", `C:\o\c.yaml`,
		},
		"docker, configured": {
			"docker", "run", "-i", "--rm", "-e", "MY_KEY", "-e", "GATEWAY_TOKEN", "-e", "TENANT",
			"--mount", "type=bind,source=/a:b/c d,target=/config,readonly",
			image, "--stdio", "--config", "/config/config.yaml",
		},
		"a path of many kinds": {odd, "--stdio"},
	} {
		t.Run(title, func(t *testing.T) {
			if diff := cmp.Diff(want, servers()[title].command()); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
		})
	}
}

// Each client, and each server that it can reach.
func TestSetups(t *testing.T) {
	for title, s := range servers() {
		for _, c := range All() {
			reachable := s.Via != ViaHTTP || c.NoHTTP == ""
			if c.Web() {
				reachable = s.OAuth
			}
			if reachable {
				t.Run(c.ID+", "+title, func(t *testing.T) {
					checkSnippet(t, c, s)
					checkToken(t, c, s)
					checkCommand(t, c, s)
				})
			}
		}
	}
}

// checkSnippet checks that the file parses, and that every secret is named.
func checkSnippet(t *testing.T, c Client, s Server) {
	snippet := c.Snippet(s)
	values := []string{snippet}
	if c.ID == "codex" { // TOML, whose strings are those of JSON
		values = regexp.MustCompile(`(?m) = .*$`).FindAllString(snippet, -1)
	}

	for _, value := range values {
		value = strings.TrimPrefix(value, " = ")
		valid := json.Valid([]byte(value))
		if c.ID == "goose" || c.Web() {
			valid = yaml.Unmarshal([]byte(value), new(any)) == nil
		}

		if !valid {
			t.Errorf("not valid:\n%s", value)
		}
	}

	text := snippet + strings.Join(c.Notes(s), "\n")
	for _, v := range s.secrets() {
		if !strings.Contains(text, v) {
			t.Errorf("%s is named neither in the file nor in a note", v)
		}
	}
}

// checkToken checks that the client sends a token only where the server needs one.
func checkToken(t *testing.T, c Client, s Server) {
	command, _ := c.Command(s)
	text := c.Snippet(s) + command + strings.Join(c.Notes(s), "\n") + c.Link(s)
	got := regexp.MustCompile(`(?i)authorization":|bearer|MCP_HTTP_TOKEN`).FindString(text)

	want := s.Via == ViaHTTP && s.URL == servers()["http"].URL && !s.OAuth
	if (got != "") != want {
		t.Errorf("%q is in the entry, want a token: %t", got, want)
	}
}

// checkCommand checks that a POSIX shell reads the words of the command as they are.
func checkCommand(t *testing.T, c Client, s Server) {
	s.OS = "linux"
	command, _ := c.Command(s)
	if command == "" || runtime.GOOS == "windows" {
		return
	}

	got, err := exec.Command("sh", "-c", `printf '%s\n' `+command).Output()

	want := strings.Join(c.words(s), "\n") + "\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// A client decodes the JSON in a link.
func TestLink(t *testing.T) {
	cursor, _ := Find("cursor")
	vscode, _ := Find("vscode")

	for title, s := range servers() {
		t.Run(title, func(t *testing.T) {
			u, _ := url.Parse(cursor.Link(s))
			got, err := base64.StdEncoding.DecodeString(u.Query().Get("config"))
			if diff := cmp.Diff(compact(cursor.entry(s)), string(got)); diff != "" {
				t.Errorf("Cursor: error %v (-want +got):\n%s", err, diff)
			}

			_, query, _ := strings.Cut(vscode.Link(s), "?")
			text, err := url.PathUnescape(query) // decodeURIComponent: a + is a +
			if diff := cmp.Diff(vscode.named(s), text); diff != "" {
				t.Errorf("VS Code: error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// The documents show what setup prints.
func TestDocuments(t *testing.T) {
	for page, parts := range map[string]map[string]string{
		"docs/reference/client-setup.md": {
			"clients":  clientFiles(),
			"snippets": snippets(),
			"http":     httpSnippets(),
			"sign-in":  signIns(),
		},
		"README.md":    {"buttons": buttons("Add to")},
		"README.ja.md": {"buttons": buttons("追加:")},
	} {
		t.Run(page, func(t *testing.T) {
			file := filepath.Join("../..", filepath.FromSlash(page))
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			old := strings.ReplaceAll(string(b), "\r\n", "\n")
			text := old

			for part, content := range parts {
				text = replacePart(t, text, part, content)
			}

			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(old, text); diff != "" {
				t.Errorf("out of date, run go test ./internal/clients -update (-file +program):\n%s", diff)
			}
		})
	}
}

// replacePart replaces the generated part of a page.
func replacePart(t *testing.T, page, part, content string) string {
	begin := "<!-- generated: " + part + " -->\n"
	end := "<!-- end -->\n"
	before, rest, begins := strings.Cut(page, begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("the page has no place for %s", part)
	}

	return before + begin + "\n" + content + "\n" + end + after
}

// buttons are links for web pages, which may not have the schemes of the clients.
func buttons(label string) string {
	s := servers()["npx"]
	cursor, _ := Find("cursor")
	vscode, _ := Find("vscode")
	_, query, _ := strings.Cut(cursor.Link(s), "?")

	redirect := url.QueryEscape(vscode.Link(s))
	return "[![" + label + " Cursor](https://cursor.com/deeplink/mcp-install-light.svg)]" +
		"(https://cursor.com/en/install-mcp?" + query + ")\n" +
		"[![" + label + " VS Code](https://img.shields.io/badge/VS_Code-Add-0098FF)]" +
		"(https://insiders.vscode.dev/redirect?url=" + redirect + ")\n"
}

func clientFiles() string {
	table := "| Client | `setup` | Linux | macOS | Windows |\n|---|---|---|---|---|\n"
	for _, c := range All() {
		table += fmt.Sprintf("| %s | `%s` | `%s` | `%s` | `%s` |\n",
			c.Name, c.ID, c.File("linux"), c.File("darwin"), c.File("windows"))
	}
	return table
}

func snippets() string {
	s := servers()["npx"]

	text := ""
	for _, c := range All() {
		if c.Web() {
			continue
		}

		text += "\n### " + c.Name + "\n\n" + fence(c, s)
		if link := c.Link(s); link != "" {
			text += "Or a link that adds the entry:\n\n```text\n" + link + "\n```\n\n"
		}

		command, omits := c.Command(s)
		how := "Or the client's own command"
		if omits != "" {
			how = "The client's own command writes an incomplete entry, which needs " + omits
		}
		if command != "" {
			text += how + ":\n\n```text\n" + command + "\n```\n\n"
		}
		text += "- " + strings.Join(c.Notes(s), "\n- ") + "\n"
	}
	return strings.TrimPrefix(text, "\n")
}

func httpSnippets() string {
	parts := ""
	for _, c := range All() {
		if c.NoHTTP == "" && !c.Web() {
			parts += c.Name + ":\n\n" + fence(c, servers()["http"])
		}
	}
	return strings.TrimSuffix(parts, "\n")
}

func signIns() string {
	table := "| Client | Sign-in |\n|---|---|\n"

	forms := ""
	for _, c := range All() {
		if c.NoHTTP == "" {
			table += fmt.Sprintf("| %s | %s |\n", c.Name, c.SignIn())
		}
		if c.Web() {
			forms += "\n" + c.Name + ":\n\n" + strings.TrimSuffix(fence(c, servers()["http"]), "\n")
		}
	}
	return table + forms
}

// fence is the file of a client as a block of code.
func fence(c Client, s Server) string {
	path, _, _ := strings.Cut(c.path, " ")
	language := strings.TrimPrefix(filepath.Ext(path), ".")

	switch {
	case c.Web():
		language = "text"
	case language == "":
		language = "json"
	case language == "yaml": // TestBlocks reads blocks of yaml as files of the program
		language = "yml"
	}
	return fmt.Sprintf("```%s\n%s```\n\n", language, c.Snippet(s))
}
