// Package clients knows the MCP clients that setup prints a configuration for:
// the file each one reads, the form it expects, how it passes a key on without
// having it written down, and what people trip over in it.
//
// Sources, read in November 2026:
//
//	Claude Code     https://code.claude.com/docs/en/mcp
//	Claude Desktop  https://modelcontextprotocol.io/docs/develop/connect-local-servers
//	Codex           https://developers.openai.com/codex/mcp
//	Cursor          https://cursor.com/docs/mcp
//	VS Code         https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
//	Gemini CLI      https://geminicli.com/docs/tools/mcp-server
//	opencode        https://opencode.ai/docs/mcp-servers, https://opencode.ai/docs/migrate-v1
//	Windsurf        https://docs.windsurf.com/windsurf/cascade/mcp
//	Zed             https://zed.dev/docs/ai/mcp
package clients

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Client is an MCP client.
type Client struct {
	ID      string // what setup takes, such as claude-code
	Name    string // what people call it, such as Claude Code
	aliases []string
	files   files
	render  func(Server) string
	notes   func(Server) []string
}

// All lists the clients in the order of the documentation.
func All() []Client {
	return []Client{
		{"claude-code", "Claude Code", []string{"claude", "claudecode"}, same(".mcp.json in the project"), claudeCode, claudeCodeNotes},
		{"claude-desktop", "Claude Desktop", []string{"claudedesktop", "desktop"}, appData("Claude", "claude_desktop_config.json"), claudeDesktop, claudeDesktopNotes},
		{"codex", "Codex", []string{"codex-cli", "openai-codex"}, home(".codex", "config.toml"), codex, codexNotes},
		{"cursor", "Cursor", []string{"cursor-cli"}, home(".cursor", "mcp.json"), cursor, cursorNotes},
		{"vscode", "VS Code", []string{"vs-code", "code", "copilot"}, appData("Code", "User", "mcp.json"), vsCode, vsCodeNotes},
		{"gemini-cli", "Gemini CLI", []string{"gemini", "geminicli"}, home(".gemini", "settings.json"), gemini, geminiNotes},
		{"opencode", "opencode", []string{"open-code"}, home(".config", "opencode", "opencode.json"), opencode, opencodeNotes},
		{"windsurf", "Windsurf", []string{"cascade", "codeium", "devin-desktop"}, home(".codeium", "windsurf", "mcp_config.json"), windsurf, windsurfNotes},
		{"zed", "Zed", []string{"zed-editor"}, zedFiles(), zed, zedNotes},
	}
}

// Find looks a client up by id, name or alias, in any case. When there is none,
// the client whose id or alias comes nearest to the name is returned, with false.
func Find(name string) (Client, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	name = strings.NewReplacer(" ", "-", "_", "-").Replace(name)
	best, least := Client{}, -1
	for _, c := range All() {
		for _, known := range slices.Concat([]string{c.ID}, c.aliases) {
			d := levenshtein.ComputeDistance(name, known)
			if d == 0 {
				return c, true
			}
			if least < 0 || d < least {
				best, least = c, d
			}
		}
	}
	return best, false
}

// File is the file that the client reads on a system, a GOOS, in the notation
// of that system: ~ and %APPDATA% stand for themselves.
func (c Client) File(goos string) string {
	return cmp.Or(c.files[goos], c.files["linux"])
}

// Snippet is a whole configuration file that has s as its only server.
func (c Client) Snippet(s Server) string { return c.render(s) }

// Notes are the sentences that belong to the snippet: where the key comes from
// and what else has to be known.
func (c Client) Notes(s Server) []string {
	return slices.Concat(c.notes(s), s.notes())
}
