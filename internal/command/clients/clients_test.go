package clients

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

var update = flag.Bool("update", false, "write the generated parts of the documents")

// Each key of a client is a field, and each condition of a hint is known.
func TestTable(t *testing.T) {
	var file struct {
		Templates []string
		Hints     []note
		Server    []note
		Clients   []Client
	}
	decoder := yaml.NewDecoder(bytes.NewReader(table))
	decoder.KnownFields(true)
	err := decoder.Decode(&file)
	if err != nil {
		t.Fatal(err)
	}

	conditions := []string{
		"", "stdio", "secret", "key", "sets", "download", "login", "token", "oauth", "loopback", "plain",
		"keyfile", "config",
	}
	known := append(conditions, Vias...)
	hints := file.Server
	for _, c := range file.Clients {
		hints = append(hints, c.Hints...)
		if c.ClientInfoName != "" {
			compare.Equal(t, c.ClientInfoName, FixedVariablesOf(c.ClientInfoName), c.FixedVariables)
			for variable := range c.FixedVariables {
				if !slices.Contains([]string{"ANSWER_WITHIN_MS", "TOOL_ERRORS"}, variable) {
					t.Errorf("%s: a server cannot do %s for a client", c.ID, variable)
				}
			}
		}
	}
	for _, name := range []string{"", "mcp", "codex", "codex-mcp-client ", "CODEX-MCP-CLIENT"} {
		compare.Equal(t, name, len(FixedVariablesOf(name)), 0)
	}
	for _, hint := range hints {
		if !slices.Contains(known, hint.When) {
			t.Errorf("%q is no condition: %s", hint.When, hint.Text)
		}
	}
}

//go:embed testdata/servers.yaml
var serverFile []byte

// servers are the cases of the tests.
var servers = func() (all map[string]Server) {
	decoder := yaml.NewDecoder(bytes.NewReader(serverFile))
	decoder.KnownFields(true)
	err := decoder.Decode(&all)
	if err != nil {
		panic(err)
	}
	return all
}()

// Each client, and each server that it can reach.
func TestSetups(t *testing.T) {
	for title, s := range servers {
		for _, c := range All() {
			if s.choose(c.Local, c.Remote) == "" || c.IsWebsite() && !s.OAuth {
				continue
			}

			t.Run(c.ID+", "+title, func(t *testing.T) {
				checkSnippet(t, c, s)
				checkToken(t, c, s)
				checkCommand(t, c, s)
			})
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
		if !strings.HasPrefix(snippet, "{") {
			valid = yaml.Unmarshal([]byte(value), new(any)) == nil
		}
		if !valid {
			t.Errorf("not valid:\n%s", value)
		}
	}

	text := snippet + strings.Join(c.Notes(s), "\n")

	for v, value := range s.ShellVariables {
		compare.Contains(t, "file", snippet, v)
		compare.Contains(t, "file", snippet, value)
	}
	for _, v := range s.secretVariables() {
		compare.Contains(t, "file and notes", text, v)
	}
	if unknown := regexp.MustCompile(`\$[A-Z]+`).FindString(text); unknown != "" {
		t.Errorf("%s stands for nothing", unknown)
	}
}

// checkToken checks that the file and the command send a token only where the server needs one.
func checkToken(t *testing.T, c Client, s Server) {
	want := s.Via == ViaHTTP && s.URL == servers["http"].URL && !s.OAuth
	command, _ := c.Command(s)

	for _, text := range []string{c.Snippet(s), command} {
		got := regexp.MustCompile(`(?i)authorization|bearer`).MatchString(text)
		if got != want && text != "" {
			t.Errorf("a token is sent: %t, want %t:\n%s", got, want, text)
		}
	}
}

// checkCommand checks that a POSIX shell reads the words of the command as they are.
func checkCommand(t *testing.T, c Client, s Server) {
	s.OS = "linux"
	command, _ := c.Command(s)
	if command == "" || runtime.GOOS == "windows" {
		return
	}

	for _, value := range s.ShellVariables {
		_, omits := c.Command(s)
		if omits == "" && c.ID != "vscode" {
			compare.Contains(t, "command", command, value)
		}
	}

	want := s.choose(s.command(c)[0], s.URL)
	if c.ID == "vscode" {
		want = c.namedEntry(s)
	}

	got, err := exec.Command("sh", "-c", `printf '%s\n' `+command).Output()
	if err != nil {
		t.Error(err)
	}
	compare.Contains(t, "words", string(got), "\n"+want+"\n")
}

// The JSON for VS Code has nothing that the Command Prompt obeys, and says the same.
func TestCommandPrompt(t *testing.T) {
	vscode, _ := Find("vscode")
	for _, s := range []Server{
		{Via: ViaBinary, OS: "windows", Binary: `C:\R&D 100%\a^b\x.exe`},
		{Via: ViaHTTP, OS: "windows", URL: servers["http, a URL of many kinds"].URL},
	} {
		command, _ := vscode.Command(s)
		if strings.ContainsAny(command, "&|^%<>") {
			t.Errorf("command = %s", command)
		}
		compare.Equal(t, "words", windowsWords(command), "code --add-mcp "+vscode.namedEntry(s))
	}
}

func TestWindowsWords(t *testing.T) {
	for _, word := range []string{
		"plain", `C:\a b\x.exe`, `C:\a b\`, `a\\ "b"`, `a\"b\\"`, `{"url": "\"a\\"}`,
		servers["http, a URL of many kinds"].URL,
	} {
		t.Run(word, func(t *testing.T) {
			compare.Equal(t, "word", windowsWords(ShellWord(word, "windows")), word)
		})
	}
}

// windowsWords returns a command as programs of Windows read it, without its quotes:
// https://learn.microsoft.com/en-us/cpp/c-language/parsing-c-command-line-arguments.
func windowsWords(command string) string {
	return regexp.MustCompile(`(\\*)"`).ReplaceAllStringFunc(command, func(s string) string {
		n := len(s) - 1
		literal := strings.Repeat(`"`, n%2)
		return strings.Repeat(`\`, n/2) + literal
	})
}

// A client decodes the JSON in a link.
func TestLink(t *testing.T) {
	s := servers["a path of many kinds"]
	cursor, _ := Find("cursor")
	vscode, _ := Find("vscode")

	u, _ := url.Parse(cursor.Link(s))
	entry, _ := base64.StdEncoding.DecodeString(u.Query().Get("config"))
	_, query, _ := strings.Cut(vscode.Link(s), "?")
	named, _ := url.PathUnescape(query) // decodeURIComponent: a + is a +

	got := []string{string(entry), named}
	want := []string{cursor.entry(s), vscode.namedEntry(s)}
	compare.Equal(t, "Cursor and VS Code read", got, want)
}

// The documents have the files of the clients, testdata/entries.md what setup prints.
func TestDocuments(t *testing.T) {
	for page, parts := range map[string]map[string]string{
		"docs/reference/client-setup.md":               tables(),
		"internal/command/clients/testdata/entries.md": entries(),
		"README.md":    {"buttons": buttons("Add to")},
		"README.ja.md": {"buttons": buttons("追加:")},
	} {
		t.Run(page, func(t *testing.T) {
			file := "../../../" + page
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			old := strings.ReplaceAll(string(b), "\r\n", "\n")

			text := old
			for part, content := range parts {
				begin := "<!-- generated: " + part + " -->\n"
				before, rest, _ := strings.Cut(text, begin)
				_, after, found := strings.Cut(rest, "\n<!-- end -->\n")
				if !found {
					t.Fatalf("%s has no place for %s", page, part)
				}

				text = before + begin + content + "\n<!-- end -->\n" + after
			}

			if *update {
				_ = os.WriteFile(file, []byte(text), 0o644) // the next test sees whether it fails
				return
			}

			compare.Equal(t, "out of date, run go test ./internal/command/clients -update:", old, text)
		})
	}
}

// buttons are links for web pages, which may not have the schemes of the clients.
func buttons(label string) string {
	s := servers["npx"]
	cursor, _ := Find("cursor")
	vscode, _ := Find("vscode")

	_, query, _ := strings.Cut(cursor.Link(s), "?")
	redirect := url.QueryEscape(vscode.Link(s))
	return "\n[![" + label + " Cursor](https://cursor.com/deeplink/mcp-install-light.svg)]" +
		"(https://cursor.com/en/install-mcp?" + query + ")\n" +
		"[![" + label + " VS Code](https://img.shields.io/badge/VS_Code-Add-0098FF)]" +
		"(https://insiders.vscode.dev/redirect?url=" + redirect + ")\n"
}

// tables are the generated parts of client-setup.md.
func tables() map[string]string {
	files := "\n| Client | `setup` | File |\n|---|---|---|\n"
	signIns := "\n| Client | Sign-in |\n|---|---|\n"
	for _, c := range All() {
		files += fmt.Sprintf("| %s | `%s` | %s |\n", c.Name, c.ID, places(c))
		if c.SignInSteps != "" {
			signIns += fmt.Sprintf("| %s | %s |\n", c.Name, c.SignInText())
		}
	}
	return map[string]string{"clients": files, "sign-in": signIns}
}

// places says where an entry goes, on macOS and Windows only if the reader does not know.
func places(c Client) string {
	if c.Place != "" {
		return c.Place
	}

	file := c.File("linux")
	if strings.Contains(file, " ") { // words
		return file
	}
	text := "`" + file + "`"
	if path := c.File("darwin"); path != file {
		text += ", macOS `" + path + "`"
	}
	home := strings.NewReplacer("~", "%USERPROFILE%", "/", `\`).Replace(file)
	if path := c.File("windows"); path != file && path != home {
		text += ", Windows `" + path + "`"
	}
	return text
}

// entries are the generated parts of testdata/entries.md.
func entries() map[string]string {
	all := map[string]string{}
	for _, title := range []string{"npx on Windows", "docker, configured"} {
		sets := map[string]string{"TOOL_ERRORS": "", "ANSWER_WITHIN_MS": "", "MY_KEY": ""}
		words := servers[title].command(Client{FixedVariables: sets})
		all["commands"] += "\n" + title + ":\n\n```text\n" + strings.Join(words, " ") + "\n```\n"
	}
	for _, c := range All() {
		part := "http"
		if c.IsWebsite() {
			part = "websites"
		} else {
			all["snippets"] += section(c, servers["npx"])
		}

		if c.WhyNoHTTP == "" {
			all[part] += "\n" + c.Name + ":\n\n" + fence(c, servers["http"])
		}
	}
	return all
}

// section shows how a client starts the server.
func section(c Client, s Server) string {
	text := "\n### " + c.Name + "\n\n" + fence(c, s) + "\n"
	if link := c.Link(s); link != "" {
		text += "Or a link that adds the entry:\n\n```text\n" + link + "\n```\n\n"
	}

	command, omits := c.Command(s)
	how := "Or the client's own command"
	if omits != "" {
		how = "The client's own command, which cannot set " + omits
	}
	if command != "" {
		text += how + ":\n\n```text\n" + command + "\n```\n\n"
	}
	return text + "- " + strings.Join(c.Notes(s), "\n- ") + "\n"
}

// fence is the file of a client as a block of code.
func fence(c Client, s Server) string {
	language := "json"
	switch {
	case c.IsWebsite():
		language = "text"
	case c.ID == "codex":
		language = "toml"
	case c.ID == "goose", c.ID == "continue":
		language = "yml"
	}
	return "```" + language + "\n" + c.Snippet(s) + "```\n"
}
