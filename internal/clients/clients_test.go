package clients

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

func TestFind(t *testing.T) {
	tests := []struct {
		name string
		want string
		ok   bool
	}{
		{"claude-code", "claude-code", true},
		{"claude", "claude-code", true},
		{"Claude Code", "claude-code", true},
		{"Claude Desktop", "claude-desktop", true},
		{" CODEX ", "codex", true},
		{"vscode", "vscode", true},
		{"VS Code", "vscode", true},
		{"code", "vscode", true},
		{"gemini", "gemini-cli", true},
		{"gemini_cli", "gemini-cli", true},
		{"opencode", "opencode", true},
		{"windsurf", "windsurf", true},
		{"zed", "zed", true},
		{"curser", "cursor", false},
		{"windsrf", "windsurf", false},
		{"claude-dekstop", "claude-desktop", false},
		{"日本", "zed", false}, // nothing is near; something is still offered
	}
	for _, tt := range tests {
		if got, ok := Find(tt.name); got.ID != tt.want || ok != tt.ok {
			t.Errorf("Find(%q) = %s, %v, want %s, %v", tt.name, got.ID, ok, tt.want, tt.ok)
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, c := range All() {
		for _, n := range append([]string{c.ID}, c.aliases...) {
			if other := seen[n]; other != "" {
				t.Errorf("%q is %s and %s", n, other, c.ID)
			}
			seen[n] = c.ID
		}
	}
}

func TestFile(t *testing.T) {
	tests := []struct{ id, goos, want string }{
		{"claude-code", "windows", ".mcp.json in the project"},
		{"claude-desktop", "darwin", "~/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "linux", "~/.config/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", `%APPDATA%\Claude\claude_desktop_config.json`},
		{"codex", "darwin", "~/.codex/config.toml"},
		{"codex", "windows", `%USERPROFILE%\.codex\config.toml`},
		{"cursor", "linux", "~/.cursor/mcp.json"},
		{"vscode", "darwin", "~/Library/Application Support/Code/User/mcp.json"},
		{"vscode", "windows", `%APPDATA%\Code\User\mcp.json`},
		{"gemini-cli", "linux", "~/.gemini/settings.json"},
		{"opencode", "windows", `%USERPROFILE%\.config\opencode\opencode.json`},
		{"windsurf", "freebsd", "~/.codeium/windsurf/mcp_config.json"},
		{"zed", "darwin", "~/.config/zed/settings.json"},
		{"zed", "windows", `%APPDATA%\Zed\settings.json`},
	}
	for _, tt := range tests {
		c, _ := Find(tt.id)
		if got := c.File(tt.goos); got != tt.want {
			t.Errorf("File(%q) of %s = %q, want %q", tt.goos, tt.id, got, tt.want)
		}
	}
}

// entry is a server of any client, in one form.
type entry struct {
	Command []string
	Key     string // how the key gets in: a value, an inherited variable, ""
	Limits  map[string]int
}

// read parses a snippet as its client does and fails on what does not belong.
func read(t *testing.T, c Client, s Server) entry {
	t.Helper()
	text := c.Snippet(s)
	if c.ID == "codex" {
		return readCodex(t, text, s)
	}
	var file struct {
		Schema         string                     `json:"$schema"`
		Inputs         []map[string]any           `json:"inputs"`
		MCPServers     map[string]json.RawMessage `json:"mcpServers"`
		Servers        map[string]json.RawMessage `json:"servers"`
		ContextServers map[string]json.RawMessage `json:"context_servers"`
		MCP            map[string]json.RawMessage `json:"mcp"`
	}
	strict(t, text, &file)
	section := map[string]map[string]json.RawMessage{
		"vscode": file.Servers, "zed": file.ContextServers, "opencode": file.MCP,
	}[c.ID]
	if section == nil {
		section = file.MCPServers
	}
	if c.ID == "opencode" {
		var e struct {
			Type        string
			Command     []string
			Enabled     bool
			Environment map[string]string
		}
		strict(t, string(section[name]), &e)
		if e.Type != "local" || !e.Enabled {
			t.Errorf("opencode: type %q, enabled %v", e.Type, e.Enabled)
		}
		return entry{Command: e.Command, Key: e.Environment[s.KeyEnv]}
	}
	var e struct {
		Type, Command string
		Args          []string
		Env           map[string]string
		Timeout       int
	}
	strict(t, string(section[name]), &e)
	if c.ID == "vscode" {
		var want []map[string]any
		for _, v := range s.secrets() {
			id := strings.ToLower(strings.ReplaceAll(v, "_", "-"))
			want = append(want, map[string]any{"type": "promptString", "id": id, "description": v, "password": true})
		}
		if diff := cmp.Diff(want, file.Inputs); diff != "" || e.Type != "stdio" {
			t.Errorf("vscode: type %q, inputs (-want +got):\n%s", e.Type, diff)
		}
	}
	got := entry{Command: append([]string{e.Command}, e.Args...), Key: e.Env[s.KeyEnv]}
	if e.Timeout != 0 {
		got.Limits = map[string]int{"timeout": e.Timeout}
	}
	return got
}

func strict(t *testing.T, text string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("parsing %s: %v", text, err)
	}
	if d.More() {
		t.Fatalf("more than one value: %s", text)
	}
}

func TestSnippets(t *testing.T) {
	keys := map[string]string{
		"claude-code":    "${MY_KEY}",
		"claude-desktop": "YOUR_MY_KEY",
		"codex":          "env_vars",
		"cursor":         "${env:MY_KEY}",
		"vscode":         "${input:my-key}",
		"gemini-cli":     "${MY_KEY}",
		"opencode":       "{env:MY_KEY}",
		"windsurf":       "${env:MY_KEY}",
		"zed":            "", // inherited
	}
	limits := map[string]map[string]int{
		"codex": {"startup_timeout_sec": 60, "tool_timeout_sec": 310},
		"zed":   {"timeout": 310},
	}
	npx := []string{"npx", "-y", "openai-responses-mcp@" + version.Version, "--stdio"}
	docker := []string{"docker", "run", "-i", "--rm", "-e", "MY_KEY"}
	// Blanks, a quote, backslashes, markup and Japanese: what a path may hold.
	const odd = `C:\Program Files\"R&D" <日本>` + "\x7f" + `\openai-responses-mcp.exe`
	tests := []struct {
		server  Server
		command []string
	}{
		{Server{Via: ViaNPX, OS: "linux"}, npx},
		{Server{Via: ViaNPX, OS: "darwin"}, npx},
		{Server{Via: ViaNPX, OS: "windows"}, append([]string{"cmd", "/c"}, npx...)},
		{Server{Via: ViaNPX, OS: "linux", Config: "/etc/o.yaml"}, append(slices.Clip(npx), "--config", "/etc/o.yaml")},
		{Server{Via: ViaDocker, OS: "linux"}, append(slices.Clip(docker), image)},
		{Server{Via: ViaDocker, OS: "linux", Config: "/home/i/o/config.yaml"},
			append(slices.Clip(docker), "--mount", "type=bind,source=/home/i/o,target=/config,readonly", image, "--stdio", "--config", "/config/config.yaml")},
		{Server{Via: ViaDocker, OS: "linux", Config: `/a:b/c,"d"/config.yaml`},
			append(slices.Clip(docker), "--mount", `type=bind,"source=/a:b/c,""d""",target=/config,readonly`, image, "--stdio", "--config", "/config/config.yaml")},
		{Server{Via: ViaDocker, OS: "windows", Config: `C:\o\c.yaml`},
			append(slices.Clip(docker), "--mount", `type=bind,source=C:\o,target=/config,readonly`, image, "--stdio", "--config", "/config/c.yaml")},
		{Server{Via: ViaBinary, OS: "linux", Binary: "/usr/bin/openai-responses-mcp"}, []string{"/usr/bin/openai-responses-mcp", "--stdio"}},
		{Server{Via: ViaBinary, OS: "windows", Binary: odd}, []string{odd, "--stdio"}},
	}
	for _, tt := range tests {
		tt.server.KeyEnv, tt.server.Timeout = "MY_KEY", 5*time.Minute
		for _, c := range All() {
			want := entry{tt.command, keys[c.ID], limits[c.ID]}
			if diff := cmp.Diff(want, read(t, c, tt.server)); diff != "" {
				t.Errorf("%s of %+v (-want +got):\n%s", c.ID, tt.server, diff)
			}
		}
	}
}

// Every sentence is one line that ends, and npx on Windows is explained.
func TestNotes(t *testing.T) {
	for _, c := range All() {
		for _, via := range Ways() {
			notes := c.Notes(Server{Via: via, OS: "windows", Binary: "x", KeyEnv: "MY_KEY"})
			text := strings.Join(notes, "\n")
			if n := strings.Count(text, "\n") + 1; n != len(notes) {
				t.Errorf("%s via %s: %d notes in %d lines", c.ID, via, len(notes), n)
			}
			if via == ViaNPX != strings.Contains(text, "cmd /c") {
				t.Errorf("%s via %s: cmd /c is wrongly or not explained:\n%s", c.ID, via, text)
			}
			if c.ID != "vscode" && c.ID != "claude-desktop" && !strings.Contains(text, "MY_KEY") {
				t.Errorf("%s via %s: nothing says where the key comes from:\n%s", c.ID, via, text)
			}
		}
	}
}
